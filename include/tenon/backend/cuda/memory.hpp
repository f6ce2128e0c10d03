// Owned memory of the device, and pinned memory of the host that copies to and from it can use asynchronously.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "tenon/backend/cuda/error.hpp"
#include "tenon/backend/cuda/stream.hpp"

namespace tenon::cuda {

namespace detail {

struct free_device {
  template <class T>
  void operator()(T* memory) const {
    cudaFree(memory);
  }
};
struct free_pinned {
  template <class T>
  void operator()(T* memory) const {
    cudaFreeHost(memory);
  }
};

}  // namespace detail

/// `size` elements of a trivial type on the current device, not initialised. Moves, does not copy. Throws cuda_error.
template <class T>
class device_buffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  device_buffer() = default;
  explicit device_buffer(std::size_t size) : size_(size) {
    if (size == 0) return;
    void* made = nullptr;
    check(cudaMalloc(&made, size * sizeof(T)), concat("cudaMalloc of ", size * sizeof(T), " bytes"));
    data_.reset(static_cast<T*>(made));
  }
  /// With a copy of the host's values, which is there for what comes later on the stream. (Without one it would be
  /// wrong to use: a plain cudaMemcpy may return before the copy has arrived, and streams of ours do not wait for it.)
  device_buffer(std::span<const T> values, const stream& on) : device_buffer(values.size()) {
    if (values.empty()) return;
    check(cudaMemcpyAsync(data_.get(), values.data(), values.size_bytes(), cudaMemcpyHostToDevice, on.get()),
          "cudaMemcpyAsync");
  }

  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  std::size_t size() const { return size_; }
  std::size_t bytes() const { return size_ * sizeof(T); }

  /// Makes all bits zero, for what comes later on the stream.
  void zero(const stream& on) {
    if (size_ != 0) check(cudaMemsetAsync(data(), 0, bytes(), on.get()), "cudaMemsetAsync");
  }

  /// The values on the host, after all that the stream does to them.
  std::vector<T> read(const stream& after) const {
    std::vector<T> values(size_);
    if (size_ == 0) return values;
    check(cudaMemcpyAsync(values.data(), data_.get(), bytes(), cudaMemcpyDeviceToHost, after.get()),
          "cudaMemcpyAsync");
    after.synchronize();
    return values;
  }

 private:
  std::size_t size_ = 0;
  std::unique_ptr<T, detail::free_device> data_;
};

/// The same on the host, pinned.
template <class T>
class pinned_buffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  pinned_buffer() = default;
  explicit pinned_buffer(std::size_t size) : size_(size) {
    if (size == 0) return;
    void* made = nullptr;
    check(cudaMallocHost(&made, size * sizeof(T)), concat("cudaMallocHost of ", size * sizeof(T), " bytes"));
    data_.reset(static_cast<T*>(made));
  }

  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  std::size_t size() const { return size_; }
  T& operator[](std::size_t i) { return data_.get()[i]; }
  const T& operator[](std::size_t i) const { return data_.get()[i]; }

 private:
  std::size_t size_ = 0;
  std::unique_ptr<T, detail::free_pinned> data_;
};

}  // namespace tenon::cuda
