// The tokens that a step's rows may not draw (before min_tokens), in device memory.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>

#include "tenon/backend/cuda/memory.hpp"
#include "tenon/backend/cuda/stream.hpp"
#include "tenon/core/types.hpp"
#include "tenon/sample/row.hpp"

namespace tenon::cuda {

/// Lists one after the other, written anew for each step.
class banned_tokens {
 public:
  explicit banned_tokens(std::size_t max_batch) : host_(room(max_batch)), device_(room(max_batch)) {}
  static std::size_t bytes(std::size_t max_batch) { return room(max_batch) * sizeof(token_id); }

  void clear() { used_ = 0; }
  /// Appends the list of a row; returns where it will be on the device.
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
  static std::size_t room(std::size_t max_batch) { return max_batch * sampling::most_end_tokens; }

  pinned_buffer<token_id> host_;
  device_buffer<token_id> device_;
  std::size_t used_ = 0;
};

}  // namespace tenon::cuda
