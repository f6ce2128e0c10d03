// The values that a word of a weight record stands for.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

#include "tenon/backend/cuda/layout.hpp"

namespace tenon::cuda {

/// A block's scale and minimum in fp32; 1 and 0 where the format has none.
struct block_scale {
  float scale;
  float minimum;
};

template <class Format>
__device__ __forceinline__ block_scale load_scale(const std::byte* record, int row, int group) {
  using layout = weight_layout<Format>;
  if constexpr (layout::is_scalar) {
    return {1.0f, 0.0f};
  } else {
    const auto* halves = reinterpret_cast<const __half*>(record + layout::scale_at(row, group));
    const float scale = __half2float(halves[0]);
    if constexpr (layout::has_minimum) {
      return {scale, __half2float(halves[1])};
    } else {
      return {scale, 0.0f};
    }
  }
}

/// Value `i` of a word, exactly as the format decodes it; its place in the group is weight_layout's fragment_k().
template <class Format>
__device__ __forceinline__ float word_value(std::uint32_t word, int i, const block_scale& block) {
  using layout = weight_layout<Format>;
  if constexpr (layout::value_bits == 4) {
    const float quantum = static_cast<float>(word >> (4 * i) & 15u);
    if constexpr (layout::has_minimum) {
      return __fmaf_rn(block.scale, quantum, block.minimum);
    } else {
      return block.scale * (quantum - 8.0f);
    }
  } else if constexpr (layout::value_bits == 8) {
    return block.scale * static_cast<float>(static_cast<std::int8_t>(word >> (8 * i)));
  } else if constexpr (Format::gguf_type == f16::gguf_type) {
    return __half2float(__ushort_as_half(static_cast<unsigned short>(word >> (16 * i))));
  } else if constexpr (Format::gguf_type == bf16::gguf_type) {
    return __uint_as_float(i == 0 ? word << 16 : word & 0xffff0000u);
  } else {
    return __uint_as_float(word);
  }
}

}  // namespace tenon::cuda
