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

/// One block a token. A thread keeps four neighbouring values of every Threads * 4 in registers, so that a row is read
/// once.
template <int Threads, int Parts>
__global__ void __launch_bounds__(Threads) norm_kernel(const __grid_constant__ norm_parameters p) {
  __shared__ float of_warps[2][Threads / warp_lanes];
  const int token = static_cast<int>(blockIdx.x);
  const float* row = p.hidden + static_cast<std::size_t>(p.rows == nullptr ? token : p.rows[token]) *
                                    static_cast<std::size_t>(p.width);
  float x[Parts][4];
  float squares = 0, weighted = 0;
#pragma unroll
  for (int part = 0; part < Parts; ++part) {
    const int column = (part * Threads + static_cast<int>(threadIdx.x)) * 4;
    float4 values = make_float4(0, 0, 0, 0), weight = values;
    if (column < p.width) {
      values = *reinterpret_cast<const float4*>(row + column);
      weight = __ldg(reinterpret_cast<const float4*>(p.weight + column));
    }
    squares = __fmaf_rn(values.x, values.x, squares);
    squares = __fmaf_rn(values.y, values.y, squares);
    squares = __fmaf_rn(values.z, values.z, squares);
    squares = __fmaf_rn(values.w, values.w, squares);
    x[part][0] = values.x * weight.x;
    x[part][1] = values.y * weight.y;
    x[part][2] = values.z * weight.z;
    x[part][3] = values.w * weight.w;
#pragma unroll
    for (int i = 0; i < 4; ++i) weighted = __fmaf_rn(x[part][i], x[part][i], weighted);
  }
  squares = sum_over_block<Threads>(squares, of_warps[0]);
  weighted = sum_over_block<Threads>(weighted, of_warps[1]);
  const float count = static_cast<float>(p.width);
  const float factor = 1.0f / sqrtf(squares / count + p.epsilon);
  const float limit = factor * outlier_ratio * sqrtf(weighted / count);
#pragma unroll
  for (int part = 0; part < Parts; ++part) {
    const int column = (part * Threads + static_cast<int>(threadIdx.x)) * 4;
#pragma unroll
    for (int i = 0; i < 4; ++i) x[part][i] *= factor;
    store_activations(p.out, token, column, x[part], limit);
  }
}

/// The widest row that norm() takes.
inline constexpr std::size_t widest_norm = 256 * 4 * 16;

/// Row i of out = x / sqrt(mean(x^2) + epsilon) * weight for row rows[i] of hidden, or row i where rows is null. The
/// width is a multiple of 4, at most widest_norm.
inline void norm(const stream& on, const norm_parameters& p, std::size_t tokens) {
  constexpr int threads = 256;
  const int parts = (p.out.stride + threads * 4 - 1) / (threads * 4);
  const launch_shape shape{dim3(static_cast<unsigned>(tokens)), dim3(threads)};
  if (parts == 1) {
    launch(norm_kernel<threads, 1>, "norm_kernel", shape, on, p);
  } else if (parts == 2) {
    launch(norm_kernel<threads, 2>, "norm_kernel", shape, on, p);
  } else if (parts <= 4) {
    launch(norm_kernel<threads, 4>, "norm_kernel", shape, on, p);
  } else if (parts <= 8) {
    launch(norm_kernel<threads, 8>, "norm_kernel", shape, on, p);
  } else {
    launch(norm_kernel<threads, 16>, "norm_kernel", shape, on, p);
  }
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
