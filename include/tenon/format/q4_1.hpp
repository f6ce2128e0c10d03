// Q4_1: 32 values of 4 bits above a minimum, under one scale, 5 bits a value.
//   bytes 0..1   d, a half
//   bytes 2..3   m, a half
//   bytes 4..19  the low nibbles are values 0..15, the high nibbles values 16..31
// The value is d * nibble + m.
#pragma once

#include "tenon/core/fixed_string.hpp"
#include "tenon/core/number.hpp"
#include "tenon/format/format.hpp"
#include "tenon/format/load.hpp"

#include <cstddef>
#include <cstdint>

namespace tenon {

/// The block format Q4_1 of GGUF files.
struct q4_1 {
  static constexpr auto name = fixed_string("q4_1");
  static constexpr std::uint32_t gguf_type = 3;
  static constexpr std::size_t block_size = 32;
  static constexpr std::size_t block_bytes = 20;

  /// 32 values. The product is exact in fp32, so that a fused multiply-add rounds as the two operations do.
  static constexpr void decode(const std::byte* block, float* values) {
    const float scale = half_to_float(detail::load_u16(block));
    const float minimum = half_to_float(detail::load_u16(block + 2));
    for (std::size_t i = 0; i < block_size / 2; ++i) {
      const int pair = std::to_integer<int>(block[4 + i]);
      values[i] = static_cast<float>(pair & 15) * scale + minimum;
      values[i + block_size / 2] = static_cast<float>(pair >> 4) * scale + minimum;
    }
  }
};

static_assert(weight_format<q4_1>);

}  // namespace tenon
