// RMS norm, and what becomes of a row that needs none, written in the forms that the next product reads.
#pragma once

#include <cstddef>

#include "tenon/backend/cuda/activations.cuh"
#include "tenon/backend/cuda/launch.cuh"
#include "tenon/backend/cuda/warp.cuh"

namespace tenon::cuda {

struct norm_parameters {
  const float* hidden;  // [*, width], rows 16-byte aligned
  const int* rows;      // [tokens], the row of each; null: row i is i
  const float* weight;  // [width]
  activation_view out;  // [tokens, width padded]
  int width;
  float epsilon;
};

inline constexpr int norm_threads = 256;

/// One row, by all norm_threads threads of a block: read once for its root mean square, and again, from the cache, for its
/// values. It goes past the first-level cache, as other blocks may just have written the row.
__device__ __forceinline__ void norm_row(const norm_parameters& p, int from, int token,
                                         float (&of_warps)[2][norm_threads / warp_lanes]) {
  const float* row = p.hidden + static_cast<std::size_t>(from) * static_cast<std::size_t>(p.width);
  const auto weighted_values = [&](int column, float4& values, float(&x)[4]) {
    values = make_float4(0, 0, 0, 0);
    float4 weight = values;
    if (column < p.width) {
      values = __ldcg(reinterpret_cast<const float4*>(row + column));
      weight = __ldg(reinterpret_cast<const float4*>(p.weight + column));
    }
    x[0] = values.x * weight.x, x[1] = values.y * weight.y, x[2] = values.z * weight.z,
    x[3] = values.w * weight.w;
  };
  float squares = 0, weighted = 0;
  for (int column = static_cast<int>(threadIdx.x) * 4; column < p.width; column += norm_threads * 4) {
    float4 values;
    float x[4];
    weighted_values(column, values, x);
    squares = __fmaf_rn(values.x, values.x, squares);
    squares = __fmaf_rn(values.y, values.y, squares);
    squares = __fmaf_rn(values.z, values.z, squares);
    squares = __fmaf_rn(values.w, values.w, squares);
#pragma unroll
    for (int i = 0; i < 4; ++i) weighted = __fmaf_rn(x[i], x[i], weighted);
  }
  squares = sum_over_block<norm_threads>(squares, of_warps[0]);
  weighted = sum_over_block<norm_threads>(weighted, of_warps[1]);
  const float count = static_cast<float>(p.width);
  const float factor = 1.0f / sqrtf(squares / count + p.epsilon);
  const float limit = factor * outlier_ratio * sqrtf(weighted / count);
  for (int first = 0; first < p.out.stride; first += norm_threads * 4) {
    const int column = first + static_cast<int>(threadIdx.x) * 4;
    float4 values;
    float x[4];
    weighted_values(column, values, x);
#pragma unroll
    for (int i = 0; i < 4; ++i) x[i] *= factor;
    store_activations(p.out, token, column, x, limit);
  }
}

/// One block a token.
template <int Threads = norm_threads>
__global__ void __launch_bounds__(Threads) norm_kernel(const __grid_constant__ norm_parameters p) {
  __shared__ float of_warps[2][norm_threads / warp_lanes];
  const int token = static_cast<int>(blockIdx.x);
  norm_row(p, p.rows == nullptr ? token : p.rows[token], token, of_warps);
}

/// Row i of out = x / sqrt(mean(x^2) + epsilon) * weight for row rows[i] of hidden, or row i where rows is null. The
/// width is a multiple of 4.
inline void norm(const stream& on, const norm_parameters& p, std::size_t tokens) {
  launch(norm_kernel<>, "norm_kernel", {dim3(static_cast<unsigned>(tokens)), dim3(norm_threads)}, on, p);
}

struct prepare_parameters {
  const float* x;       // [tokens, width], rows 16-byte aligned
  activation_view out;  // [tokens, width padded]
  int width;
};

/// One row in the forms that are wanted, by all threads of a block. `values(column)` are four neighbouring values of it,
/// zeros past its width; it is read twice, for the root mean square and for the values.
template <int Threads, class Values>
__device__ __forceinline__ void prepare_row(const Values& values, int width, const activation_view& out,
                                            int token, float (&of_warps)[Threads / warp_lanes]) {
  float squares = 0;
  for (int column = static_cast<int>(threadIdx.x) * 4; column < width; column += Threads * 4) {
    const float4 x = values(column);
    squares = __fmaf_rn(x.x, x.x, __fmaf_rn(x.y, x.y, __fmaf_rn(x.z, x.z, __fmaf_rn(x.w, x.w, squares))));
  }
  squares = sum_over_block<Threads>(squares, of_warps);
  const float limit = outlier_ratio * sqrtf(squares / static_cast<float>(width));
  for (int first = 0; first < out.stride; first += Threads * 4) {
    const int column = first + static_cast<int>(threadIdx.x) * 4;
    const float4 four = values(column);
    const float x[4] = {four.x, four.y, four.z, four.w};
    store_activations(out, token, column, x, limit);
  }
}

/// One block a token.
template <int Threads>
__global__ void __launch_bounds__(Threads) prepare_kernel(const __grid_constant__ prepare_parameters p) {
  __shared__ float of_warps[Threads / warp_lanes];
  const int token = static_cast<int>(blockIdx.x);
  const float* row = p.x + static_cast<std::size_t>(token) * static_cast<std::size_t>(p.width);
  const auto values = [&](int column) {
    return column < p.width ? *reinterpret_cast<const float4*>(row + column) : make_float4(0, 0, 0, 0);
  };
  prepare_row<Threads>(values, p.width, p.out, token, of_warps);
}

/// out = x [tokens, width] in the forms that a product reads. The width is a multiple of 4.
inline void prepare(const stream& on, const prepare_parameters& p, std::size_t tokens) {
  constexpr int threads = 128;
  launch(prepare_kernel<threads>, "prepare_kernel", {dim3(static_cast<unsigned>(tokens)), dim3(threads)}, on,
         p);
}

}  // namespace tenon::cuda
