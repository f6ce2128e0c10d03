// What sampling needs of a block: scans and reductions over its threads, and weights as whole numbers, whose sums are the
// same in whatever order they are added.
#pragma once

#include <cstdint>
#include <numbers>

#include "tenon/backend/cuda/warp.cuh"

namespace tenon::cuda::detail {

/// A weight (0 to 1, 1 for the best candidate) in units of 2^-44: a row of 2^18 tokens adds up below 2^63.
using fixed_weight = unsigned long long;
inline constexpr float weight_unit = 0x1p44f;

/// 2^y; 0 for -inf.
__device__ __forceinline__ float exp2_fast(float y) {
  float power;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(y));
  return power;
}

__device__ __forceinline__ fixed_weight weight_of(float below_best) {
  return static_cast<fixed_weight>(exp2_fast(below_best * std::numbers::log2e_v<float>) * weight_unit);
}

/// The larger; NaN when one is NaN.
__device__ __forceinline__ float larger(float a, float b) {
  float both;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(both) : "f"(a), "f"(b));
  return both;
}

/// The float's bits as an integer of the same order, NaN above +inf.
__device__ __forceinline__ int order_of(float value) {
  const int bits = __float_as_int(value);
  return bits ^ ((bits >> 31) & 0x7fffffff);
}
__device__ __forceinline__ float value_at(int order) {
  return __int_as_float(order ^ ((order >> 31) & 0x7fffffff));
}

template <class T>
__device__ __forceinline__ T add_over_lanes(T x) {
#pragma unroll
  for (int step = warp_lanes / 2; step > 0; step /= 2) x += __shfl_xor_sync(all_lanes, x, step);
  return x;
}

/// The sum of the lanes up to this one.
template <class T>
__device__ __forceinline__ T scan_over_lanes(T x, int lane) {
#pragma unroll
  for (int step = 1; step < warp_lanes; step *= 2) {
    const T before = __shfl_up_sync(all_lanes, x, static_cast<unsigned>(step));
    if (lane >= step) x += before;
  }
  return x;
}

/// Collectives of a block, each called by all threads. They take turns with two places in shared memory, so that a barrier
/// each is enough.
template <int Threads>
class block {
 public:
  static constexpr int warps = Threads / warp_lanes;
  static_assert(warps <= warp_lanes);
  using memory = fixed_weight[2][static_cast<unsigned>(warps)];

  __device__ explicit block(memory& of_warps) : of_warps_(of_warps) {}

  const int lane = static_cast<int>(threadIdx.x) % warp_lanes;
  const int warp = static_cast<int>(threadIdx.x) / warp_lanes;

  /// The sum of the threads up to this one, and that of all.
  template <class T>
  __device__ __forceinline__ T scan(T x, T& total) {
    const T inside = scan_over_lanes(x, lane);
    return inside + sum_before(__shfl_sync(all_lanes, inside, warp_lanes - 1), total);
  }
  /// The sum of the warps before this one, and that of all; `x` is the same in all lanes.
  template <class T>
  __device__ __forceinline__ T sum_before(T x, T& total) {
    const T mine = exchange(x);
    const T through = scan_over_lanes(lane < warps ? mine : T(0), lane);
    total = __shfl_sync(all_lanes, through, warps - 1);
    return __shfl_sync(all_lanes, through, warp) - x;
  }
  template <class T>
  __device__ __forceinline__ T sum(T x) {
    const T mine = exchange(add_over_lanes(x));
    return add_over_lanes(lane < warps ? mine : T(0));
  }
  __device__ __forceinline__ int max(int x) {
    return __reduce_max_sync(all_lanes, exchange(__reduce_max_sync(all_lanes, x)));
  }
  __device__ __forceinline__ int min(int x) {
    return __reduce_min_sync(all_lanes, exchange(__reduce_min_sync(all_lanes, x)));
  }
  /// The highest of the threads' values; NaN when one is NaN.
  __device__ __forceinline__ float max(float x) { return value_at(max(order_of(x))); }

  /// In each lane the value of one warp, which is the same in all lanes there.
  template <class T>
  __device__ __forceinline__ T exchange(T of_warp) {
    static_assert(sizeof(T) <= sizeof(fixed_weight));
    T* place = reinterpret_cast<T*>(of_warps_[turn_]);
    turn_ ^= 1;
    if (lane == 0) place[warp] = of_warp;
    __syncthreads();
    return place[lane % warps];
  }

 private:
  memory& of_warps_;
  int turn_ = 0;
};

}  // namespace tenon::cuda::detail
