// Reductions over the lanes of a warp and the warps of a block, in an order that nothing but the shape of the block
// decides.
#pragma once

namespace tenon::cuda {

inline constexpr int warp_lanes = 32;
inline constexpr unsigned all_lanes = 0xffffffffu;

/// The sum over groups of `Lanes` neighbouring lanes, in all of them.
template <int Lanes = warp_lanes>
__device__ __forceinline__ float sum_over_lanes(float x) {
#pragma unroll
  for (int step = Lanes / 2; step > 0; step /= 2) x += __shfl_xor_sync(all_lanes, x, step);
  return x;
}
template <int Lanes = warp_lanes>
__device__ __forceinline__ int sum_over_lanes(int x) {
#pragma unroll
  for (int step = Lanes / 2; step > 0; step /= 2) x += __shfl_xor_sync(all_lanes, x, step);
  return x;
}
/// The larger; NaN where one is NaN.
__device__ __forceinline__ float larger(float x, float y) { return y > x || y != y ? y : x; }

/// The largest; NaN where a lane has NaN. `lanes` are those of the warp that call it: whole groups.
template <int Lanes = warp_lanes>
__device__ __forceinline__ float max_over_lanes(float x, unsigned lanes = all_lanes) {
#pragma unroll
  for (int step = Lanes / 2; step > 0; step /= 2) x = larger(x, __shfl_xor_sync(lanes, x, step));
  return x;
}

/// The sum over all threads of a block of `Threads`, in all of them. Each call of a kernel needs memory of its own.
template <int Threads>
__device__ __forceinline__ float sum_over_block(float x, float (&of_warps)[Threads / warp_lanes]) {
  x = sum_over_lanes(x);
  if (threadIdx.x % warp_lanes == 0) of_warps[threadIdx.x / warp_lanes] = x;
  __syncthreads();
  float sum = 0;
#pragma unroll
  for (int i = 0; i < Threads / warp_lanes; ++i) sum += of_warps[i];
  return sum;
}

}  // namespace tenon::cuda
