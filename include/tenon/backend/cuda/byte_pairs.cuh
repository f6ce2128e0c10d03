// Bytes as pairs of 16-bit numbers, exactly, for tensor cores.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

#include "tenon/format/all.hpp"

namespace tenon::cuda::detail {

template <class Half>
__device__ __forceinline__ std::uint32_t subtract_pairs(std::uint32_t a, std::uint32_t b) {
  if constexpr (Half::gguf_type == f16::gguf_type) {
    const __half2 difference =
        __hsub2(reinterpret_cast<const __half2&>(a), reinterpret_cast<const __half2&>(b));
    return reinterpret_cast<const std::uint32_t&>(difference);
  } else {
    const __nv_bfloat162 difference =
        __hsub2(reinterpret_cast<const __nv_bfloat162&>(a), reinterpret_cast<const __nv_bfloat162&>(b));
    return reinterpret_cast<const std::uint32_t&>(difference);
  }
}

/// Bytes `First` and `Second` of a word as two halves. A byte below a high byte is a half: 1024 + byte in f16, 128 + byte
/// in bf16 where the byte is below 128; what is too much is subtracted, and nothing is rounded.
template <class Half, int First, int Second>
__device__ __forceinline__ std::uint32_t pair_of_bytes(std::uint32_t bytes, std::uint32_t too_much) {
  constexpr std::uint32_t above = Half::gguf_type == f16::gguf_type ? 0x64646464u : 0x43434343u;
  return subtract_pairs<Half>(__byte_perm(bytes, above, 0x4040 | First | Second << 8), too_much);
}

/// Signed bytes with their signs flipped, by pair_of_bytes: 1024 + 128 are too much.
template <int First, int Second>
__device__ __forceinline__ std::uint32_t pair_of_signed(std::uint32_t flipped) {
  return pair_of_bytes<f16, First, Second>(flipped, 0x64806480u);
}

}  // namespace tenon::cuda::detail
