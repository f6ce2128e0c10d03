// SiLU(gate) * up over finished products: what products.cuh does in the product itself, for products of a library.
#pragma once

#include <cstddef>

#include "tenon/backend/cuda/activations.cuh"
#include "tenon/backend/cuda/launch.cuh"

namespace tenon::cuda {

/// SiLU(x) = x / (1 + e^-x), times y.
__device__ __forceinline__ float gated(float x, float y) { return x / (1.0f + expf(-x)) * y; }

struct swiglu_parameters {
  const float* gate;    // [tokens, width]
  const float* up;      // [tokens, width]
  activation_view out;  // [tokens, width padded]
  int width;
};

/// Eight lanes have a group of 32 values. Grid [groups of a row / (Threads / 8), tokens].
template <int Threads>
__global__ void __launch_bounds__(Threads) swiglu_kernel(const __grid_constant__ swiglu_parameters p) {
  const int token = static_cast<int>(blockIdx.y);
  const int column = (static_cast<int>(blockIdx.x) * Threads + static_cast<int>(threadIdx.x)) * 4;
  const std::size_t row = static_cast<std::size_t>(token) * static_cast<std::size_t>(p.width);
  float x[4] = {0, 0, 0, 0}, squares = 0;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int at = column + i;
    if (at < p.width)
      x[i] = gated(p.gate[row + static_cast<std::size_t>(at)], p.up[row + static_cast<std::size_t>(at)]);
    squares = __fmaf_rn(x[i], x[i], squares);
  }
  squares = sum_over_lanes<8>(squares);
  const int group = column / group_size * group_size;
  store_activations(p.out, token, group < p.width ? column : p.out.stride, x,
                    outlier_ratio * sqrtf(squares / group_size));
}

inline void swiglu(const stream& on, const swiglu_parameters& p, std::size_t tokens) {
  constexpr int threads = 128, values = threads * 4;
  launch(swiglu_kernel<threads>, "swiglu_kernel",
         {dim3(static_cast<unsigned>((p.width + values - 1) / values), static_cast<unsigned>(tokens)),
          dim3(threads)},
         on, p);
}

}  // namespace tenon::cuda
