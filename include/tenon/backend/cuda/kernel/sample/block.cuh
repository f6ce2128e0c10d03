// What sampling needs of a block: scans and reductions over its threads, and weights as whole numbers, whose sums are the
// same in whatever order they are added.
#pragma once

#include <cstdint>

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

inline constexpr float log2_e = 1.44269504088896340736f;

__device__ __forceinline__ fixed_weight weight_of(float below_best) {
  return static_cast<fixed_weight>(exp2_fast(below_best * log2_e) * weight_unit);
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

/// Collectives of a block, each called by all threads. One word of shared memory a warp serves them all.
template <int Threads>
struct block {
  static constexpr int warps = Threads / warp_lanes;
  static_assert(warps <= warp_lanes);
  using memory = fixed_weight[warps];

  memory& of_warps;
  int lane = static_cast<int>(threadIdx.x) % warp_lanes;
  int warp = static_cast<int>(threadIdx.x) / warp_lanes;

  /// The sum of the threads up to this one, and that of all.
  template <class T>
  __device__ __forceinline__ T scan(T x, T& total) const {
    const T inside = scan_over_lanes(x, lane);
    T* sums = reinterpret_cast<T*>(of_warps);
    if (lane == warp_lanes - 1) sums[warp] = inside;
    __syncthreads();
    const T mine = lane < warps ? sums[lane] : T(0);
    const T through = scan_over_lanes(mine, lane);
    total = __shfl_sync(all_lanes, through, warps - 1);
    const T before = __shfl_sync(all_lanes, through - mine, warp);
    __syncthreads();
    return before + inside;
  }

  template <class T>
  __device__ __forceinline__ T sum(T x) const {
    x = add_over_lanes(x);
    T* sums = reinterpret_cast<T*>(of_warps);
    if (lane == 0) sums[warp] = x;
    __syncthreads();
    x = add_over_lanes(lane < warps ? sums[lane] : T(0));
    __syncthreads();
    return x;
  }

  __device__ __forceinline__ int max(int x) const {
    int* best = reinterpret_cast<int*>(of_warps);
    x = __reduce_max_sync(all_lanes, x);
    if (lane == 0) best[warp] = x;
    __syncthreads();
    x = __reduce_max_sync(all_lanes, best[lane < warps ? lane : 0]);
    __syncthreads();
    return x;
  }
  __device__ __forceinline__ int min(int x) const { return ~max(~x); }
  /// The highest of the threads' values; NaN when one is NaN.
  __device__ __forceinline__ float max(float x) const { return value_at(max(order_of(x))); }

  /// `value` of the thread where `chosen` (of at most one), `otherwise` when there is none.
  template <class T>
  __device__ __forceinline__ T pick(bool chosen, T value, T otherwise) const {
    T* slot = reinterpret_cast<T*>(of_warps);
    if (threadIdx.x == 0) *slot = otherwise;
    __syncthreads();
    if (chosen) *slot = value;
    __syncthreads();
    value = *slot;
    __syncthreads();
    return value;
  }
};

}  // namespace tenon::cuda::detail
