// Weight records in registers: what their words stand for, and the fragments of mma that they become.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

#include "tenon/backend/cuda/layout.hpp"
#include "tenon/backend/cuda/warp.cuh"

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

/// A chunk of a tile's step: four words of this lane, which are those of chunk_groups groups, or of a part of one. Zeros
/// behind the last group. `Once`: nobody reads it again soon.
template <class Format, bool Once>
__device__ __forceinline__ uint4 load_chunk(const std::byte* tile, int step, int chunk, int groups) {
  using layout = weight_layout<Format>;
  if constexpr (layout::is_scalar) {
    if (step * step_groups + chunk * 4 / layout::group_words >= groups) return make_uint4(0, 0, 0, 0);
  }
  const auto* at =
      reinterpret_cast<const uint4*>(tile + static_cast<std::size_t>(step) * layout::step_bytes) +
      chunk * warp_lanes + threadIdx.x % warp_lanes;
  return Once ? __ldcs(at) : __ldg(at);
}

/// The scales of a step of this lane's row, as they are in the record.
template <class Format>
struct step_scales {
  using layout = weight_layout<Format>;
  static constexpr int words = step_groups * layout::scale_bytes / 4;
  std::uint32_t bits[words == 0 ? 1 : words];

  __device__ __forceinline__ void load(const std::byte* tile, int step) {
    const std::byte* at = tile + static_cast<std::size_t>(step) * layout::step_bytes +
                          layout::scale_at(static_cast<int>(threadIdx.x) % warp_lanes / row_lanes, 0);
    if constexpr (words == 4) {
      const uint4 four = __ldg(reinterpret_cast<const uint4*>(at));
      bits[0] = four.x, bits[1] = four.y, bits[2] = four.z, bits[3] = four.w;
    } else if constexpr (words == 2) {
      const uint2 two = __ldg(reinterpret_cast<const uint2*>(at));
      bits[0] = two.x, bits[1] = two.y;
    }
  }
  __device__ __forceinline__ block_scale of(int group) const {
    const auto half = [](std::uint32_t word, int which) {
      return __half2float(__ushort_as_half(static_cast<unsigned short>(word >> (16 * which))));
    };
    if constexpr (words == 4) {
      return {half(bits[group], 0), half(bits[group], 1)};
    } else if constexpr (words == 2) {
      return {half(bits[group / 2], group % 2), 0.0f};
    } else {
      return {1.0f, 0.0f};
    }
  }
};

}  // namespace tenon::cuda
