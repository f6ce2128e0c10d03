// A stream of the CUDA runtime: the engine's own, or the user's.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <type_traits>

#include "tenon/backend/cuda/error.hpp"

namespace tenon::cuda {

namespace detail {

struct destroy_stream {
  void operator()(cudaStream_t stream) const { cudaStreamDestroy(stream); }
};
struct destroy_event {
  void operator()(cudaEvent_t event) const { cudaEventDestroy(event); }
};

}  // namespace detail

/// Work on it runs in order, and beside all other streams but the ones it waits for. Moves, does not copy.
class stream {
 public:
  /// A new one, which does not wait for the default stream.
  stream() {
    cudaStream_t made = nullptr;
    check(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    owned_.reset(made);
    handle_ = made;
  }
  /// The user's, who keeps it alive.
  explicit stream(cudaStream_t borrowed) : handle_(borrowed) {}

  cudaStream_t get() const { return handle_; }
  /// Waits until everything on it is done, and throws cuda_error for what failed there.
  void synchronize() const { check(cudaStreamSynchronize(handle_), "cudaStreamSynchronize"); }

 private:
  std::unique_ptr<std::remove_pointer_t<cudaStream_t>, detail::destroy_stream> owned_;
  cudaStream_t handle_ = nullptr;
};

/// A point in a stream that another stream, or the host, can wait for.
class event {
 public:
  event() {
    cudaEvent_t made = nullptr;
    check(cudaEventCreateWithFlags(&made, cudaEventDisableTiming), "cudaEventCreateWithFlags");
    owned_.reset(made);
  }
  void record(const stream& on) const { check(cudaEventRecord(owned_.get(), on.get()), "cudaEventRecord"); }
  void wait() const { check(cudaEventSynchronize(owned_.get()), "cudaEventSynchronize"); }
  void delay(const stream& other) const {
    check(cudaStreamWaitEvent(other.get(), owned_.get()), "cudaStreamWaitEvent");
  }

 private:
  std::unique_ptr<std::remove_pointer_t<cudaEvent_t>, detail::destroy_event> owned_;
};

}  // namespace tenon::cuda
