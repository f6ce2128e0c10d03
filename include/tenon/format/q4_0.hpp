// Q4_0: 32 values of 4 bits around zero under one scale, 4.5 bits a value.
//   bytes 0..1   d, a half
//   bytes 2..17  the low nibbles are values 0..15, the high nibbles values 16..31
// The value is d * (nibble - 8).
#pragma once

#include "tenon/core/fixed_string.hpp"
#include "tenon/core/number.hpp"
#include "tenon/format/format.hpp"
#include "tenon/format/load.hpp"

#include <cstddef>
#include <cstdint>

namespace tenon {

/// The block format Q4_0 of GGUF files.
struct q4_0 {
  static constexpr auto name = fixed_string("q4_0");
  static constexpr std::uint32_t gguf_type = 2;
  static constexpr std::size_t block_size = 32;
  static constexpr std::size_t block_bytes = 18;

  /// 32 values. A product of a half and 4 bits is exact in fp32.
  static constexpr void decode(const std::byte* block, float* values) {
    const float scale = half_to_float(detail::load_u16(block));
    for (std::size_t i = 0; i < block_size / 2; ++i) {
      const int pair = std::to_integer<int>(block[2 + i]);
      values[i] = static_cast<float>((pair & 15) - 8) * scale;
      values[i + block_size / 2] = static_cast<float>((pair >> 4) - 8) * scale;
    }
  }
};

static_assert(weight_format<q4_0>);

}  // namespace tenon
