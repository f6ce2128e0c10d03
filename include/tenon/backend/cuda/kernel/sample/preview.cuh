// What a chain of stages will ask first, found out before the row is read: the chain's own code runs on an object that only
// takes notes. Blocks then compute in their one reading of the row what the answer takes. A wrong guess costs time alone.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tenon/core/philox.hpp"
#include "tenon/core/types.hpp"
#include "tenon/sample/fault.hpp"

namespace tenon::cuda::detail {

class preview {
 public:
  __device__ preview(std::uint64_t seed, std::uint64_t token_index)
      : seed_(seed), token_index_(token_index) {}

  /// What logits are multiplied with before the first sum of weights.
  __device__ float scale() const { return scale_; }
  /// Whether that sum is over the whole row, as nothing cuts candidates off before it.
  __device__ bool needs_sum() const { return sum_ || !known_; }

  __device__ void divide_by(float temperature) {
    if (!known_ && temperature != 1.0f) scale_ /= temperature;
  }
  __device__ void keep_best() { known_ = true; }
  __device__ void keep_top(std::size_t) { known_ = true; }
  __device__ void keep_at_least(float) { known_ = true; }
  __device__ void keep_within(double) { known_ = true; }
  __device__ void keep_share(double) { total(); }
  __device__ double total() {
    sum_ |= !known_;
    known_ = true;
    return 1;
  }
  template <class Keep>
  __device__ void keep_where(Keep) {
    known_ = true;
  }
  template <class Change>
  __device__ void edit(Change) {
    known_ = true;
  }
  template <class Value>
  __device__ double sum_of(Value) {
    known_ = true;
    return 1;
  }
  __device__ std::size_t size() {
    known_ = true;
    return 1;
  }
  __device__ float best_logit() const { return 0; }
  __device__ float random(std::uint32_t stream) const { return philox::uniform(seed_, token_index_, stream); }
  __device__ sampling::fault settle() const { return sampling::fault::none; }

 private:
  std::uint64_t seed_, token_index_;
  float scale_ = 1;
  bool known_ = false, sum_ = false;
};

}  // namespace tenon::cuda::detail
