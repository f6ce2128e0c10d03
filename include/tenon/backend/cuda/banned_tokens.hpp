// The tokens that a step's rows may not draw (before min_tokens), in device memory.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>

#include "tenon/backend/cuda/memory.hpp"
#include "tenon/backend/cuda/stream.hpp"
#include "tenon/core/types.hpp"

namespace tenon::cuda {

/// Lists one after the other, written anew for each step. Grows only when requests bring more stop tokens than it has room
/// for.
class banned_tokens {
 public:
  explicit banned_tokens(std::size_t room) : host_(room), device_(room) {}

  /// Forgets the lists, and makes room for `total` tokens.
  void clear(std::size_t total) {
    used_ = 0;
    if (total > host_.size()) *this = banned_tokens(2 * total);
  }
  /// Appends a list; returns where it will be on the device.
  const token_id* add(std::span<const token_id> tokens) {
    if (tokens.empty()) return nullptr;
    std::memcpy(host_.data() + used_, tokens.data(), tokens.size_bytes());
    const token_id* place = device_.data() + used_;
    used_ += tokens.size();
    return place;
  }
  /// Puts the copy to the device on a stream, if there is anything to copy.
  void copy(const stream& on) {
    if (used_ == 0) return;
    check(cudaMemcpyAsync(device_.data(), host_.data(), used_ * sizeof(token_id), cudaMemcpyHostToDevice,
                          on.get()),
          "cudaMemcpyAsync");
  }

 private:
  pinned_buffer<token_id> host_;
  device_buffer<token_id> device_;
  std::size_t used_ = 0;
};

}  // namespace tenon::cuda
