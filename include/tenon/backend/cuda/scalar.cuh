// Scalar formats in device code: loads and stores of neighbouring values, rounded to nearest even.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <cstdint>

#include "tenon/format/all.hpp"

namespace tenon::cuda {

/// One value to the format's bits, in the low bytes.
template <scalar_format Format>
__device__ __forceinline__ std::uint32_t scalar_bits(float x) {
  if constexpr (Format::gguf_type == f32::gguf_type) {
    return __float_as_uint(x);
  } else if constexpr (Format::gguf_type == f16::gguf_type) {
    return __half_as_ushort(__float2half_rn(x));
  } else if constexpr (Format::gguf_type == e4m3::gguf_type) {
    return __nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E4M3);
  } else {
    return __bfloat16_as_ushort(__float2bfloat16_rn(x));
  }
}

/// Two neighbouring values; `to` is aligned to both.
template <scalar_format Format>
__device__ __forceinline__ void store_pair(std::byte* to, float a, float b) {
  if constexpr (Format::block_bytes == 4) {
    *reinterpret_cast<float2*>(to) = make_float2(a, b);
  } else if constexpr (Format::block_bytes == 1) {
    *reinterpret_cast<std::uint16_t*>(to) =
        static_cast<std::uint16_t>(scalar_bits<Format>(a) | scalar_bits<Format>(b) << 8);
  } else {
    *reinterpret_cast<std::uint32_t*>(to) = scalar_bits<Format>(a) | scalar_bits<Format>(b) << 16;
  }
}

}  // namespace tenon::cuda
