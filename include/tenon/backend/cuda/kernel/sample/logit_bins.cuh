// Counts of a row's logits by their height, taken by each slice in the one reading of the row: they tell how far down a
// nucleus reaches, so that the row is read once more for its tokens, not searched.
#pragma once

#include "tenon/backend/cuda/warp.cuh"

namespace tenon::cuda::detail {

/// So many bins of 1/8 of a scaled logit, below the best one: what is not counted weighs e^-31 of the best at most.
inline constexpr int logit_bins = 256;

/// Places scaled logits on a line that all slices of a row share, in units of 1/32: as floats of which the lowest bits are
/// whole units. Bin b has the units from 4 b to 4 b + 3, and is counted at b modulo logit_bins.
class logit_grid {
 public:
  static constexpr float units = 32;

  __device__ explicit logit_grid(float scale) : step_(scale * units) {}

  __device__ __forceinline__ float at(float logit) const { return fmaf(logit, step_, zero); }
  /// The lowest place that is counted with `best`'s.
  __device__ __forceinline__ float window(float best) const {
    return first_of_bin(best) - (logit_bins - 1) * 4;
  }
  /// The lowest place of the bin that `place` is in.
  __device__ __forceinline__ static float first_of_bin(float place) {
    return __int_as_float(__float_as_int(place) & ~3);
  }
  __device__ __forceinline__ static int bin(float place) {
    return __float_as_int(place) >> 2 & (logit_bins - 1);
  }
  /// Whether places near to this one are told from each other.
  __device__ __forceinline__ static bool fine(float place) { return fabsf(place - zero) < 0x1p20f; }
  /// The scaled logit of a place, times units.
  __device__ __forceinline__ static float units_of(float place) { return place - zero; }
  __device__ __forceinline__ float logit_of(float units) const { return units / step_; }

 private:
  static constexpr float zero = 0x1.8p23f;
  float step_;
};

}  // namespace tenon::cuda::detail
