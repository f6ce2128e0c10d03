// The way of weights to the device: made in pinned memory of the host, copied on a stream of its own while the next part
// is made.
#pragma once

#include <algorithm>
#include <cstddef>

#include "tenon/backend/cuda/memory.hpp"
#include "tenon/backend/cuda/stream.hpp"

namespace tenon::cuda {

/// Two pinned buffers that take turns.
class uploader {
 public:
  /// `part` bytes are copied at a time, and are the most that one unit of an upload may have.
  explicit uploader(std::size_t part) : part_(part), staging_{staging(part), staging(part)} {}

  /// Copies `units` x `unit_bytes` bytes to `to` on the device. `make(first, count, out)` writes units
  /// [first, first + count) to host memory.
  template <class Make>
  void upload(std::byte* to, std::size_t units, std::size_t unit_bytes, Make&& make) {
    const std::size_t each = part_ / unit_bytes;
    for (std::size_t first = 0; first < units; first += each) {
      const std::size_t count = (std::min)(each, units - first);
      staging& next = staging_[turn_];
      turn_ = 1 - turn_;
      next.copied.wait();  // what it held before is on the device
      make(first, count, next.memory.data());
      check(cudaMemcpyAsync(to + first * unit_bytes, next.memory.data(), count * unit_bytes,
                            cudaMemcpyHostToDevice, copies_.get()),
            "cudaMemcpyAsync");
      next.copied.record(copies_);
    }
  }

  /// Waits for the last copy.
  void finish() { copies_.synchronize(); }

 private:
  struct staging {
    explicit staging(std::size_t bytes) : memory(bytes) {}
    pinned_buffer<std::byte> memory;
    event copied;
  };

  std::size_t part_;
  stream copies_;
  staging staging_[2];
  int turn_ = 0;
};

}  // namespace tenon::cuda
