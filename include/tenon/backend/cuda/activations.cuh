// How kernels write activations.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstddef>
#include <cstdint>

#include "tenon/backend/cuda/activations.hpp"
#include "tenon/backend/cuda/warp.cuh"

namespace tenon::cuda {

/// Writes four neighbouring values of a row in every form that is wanted. Eight neighbouring lanes of a warp hold a
/// group of 32; all lanes of the warp call it together. A group whose largest value is above `limit` is refined.
__device__ __forceinline__ void store_activations(const activation_view& to, int token, int column,
                                                  const float (&x)[4], float limit) {
  const std::size_t at = static_cast<std::size_t>(token) * static_cast<std::size_t>(to.stride) +
                         static_cast<std::size_t>(column);
  const bool inside = column < to.stride;
  if (to.values != nullptr && inside)
    *reinterpret_cast<float4*>(to.values + at) = make_float4(x[0], x[1], x[2], x[3]);
  if (to.halves != nullptr) {
    std::uint32_t bits[4];
    float sum = 0;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (to.halves_are_f16) {
        const __half half = __float2half_rn(x[i]);
        bits[i] = __half_as_ushort(half), sum += __half2float(half);
      } else {
        const __nv_bfloat16 half = __float2bfloat16_rn(x[i]);
        bits[i] = __bfloat16_as_ushort(half), sum += __bfloat162float(half);
      }
    }
    sum = sum_over_lanes<8>(sum);
    if (inside) {
      *reinterpret_cast<uint2*>(to.halves + at) =
          make_uint2(bits[0] | bits[1] << 16, bits[2] | bits[3] << 16);
      if (column % group_size == 0) to.half_sums[at / group_size] = sum;
    }
  }
  if (to.quanta == nullptr) return;
  float peak = 0, probe = 0;  // the probe becomes NaN where x holds NaN or infinity, else stays 0
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    peak = fmaxf(peak, fabsf(x[i]));
    probe = __fmaf_rn(x[i], 0.0f, probe);
  }
  peak = max_over_lanes<8>(peak);
  const float scale = peak / 127.0f + sum_over_lanes<8>(probe);
  const bool usable = scale > 0x1p-95f, refined = usable && peak > limit;
  const float inverse = usable ? 1.0f / scale : 0.0f;
  std::uint32_t quanta = 0, residuals = 0;
  int total = 0;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int quantum = usable ? __float2int_rn(x[i] * inverse) : 0;
    const float rest = __fmaf_rn(static_cast<float>(quantum), -scale, x[i]);
    const int residual = refined ? __float2int_rn(rest * (128.0f * inverse)) : 0;
    quanta |= (static_cast<std::uint32_t>(quantum) & 255u) << (8 * i);
    residuals |= (static_cast<std::uint32_t>(residual) & 255u) << (8 * i);
    total += 128 * quantum + residual;
  }
  total = sum_over_lanes<8>(total);
  if (!inside) return;
  *reinterpret_cast<std::uint32_t*>(to.quanta + at) = quanta;
  *reinterpret_cast<std::uint32_t*>(to.residuals + at) = residuals;
  if (column % group_size == 0) {
    to.refined[at / group_size] = refined;
    to.scales[at / group_size] = scale;
    to.sums[at / group_size] = scale * 0x1p-7f * static_cast<float>(total);
  }
}

}  // namespace tenon::cuda
