// Q8_0: 32 signed bytes under one scale, 8.5 bits a value.
//   bytes 0..1   d, a half
//   bytes 2..33  q[32], signed
// The value is d * q. The scale may be negative, and q may be -128.
#pragma once

#include "tenon/core/fixed_string.hpp"
#include "tenon/core/number.hpp"
#include "tenon/format/format.hpp"
#include "tenon/format/load.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tenon {

/// The block format Q8_0 of GGUF files.
struct q8_0 {
  static constexpr auto name = fixed_string("q8_0");
  static constexpr std::uint32_t gguf_type = 8;
  static constexpr std::size_t block_size = 32;
  static constexpr std::size_t block_bytes = 34;

  /// 32 values. A product of a half and 8 bits is exact in fp32.
  static constexpr void decode(const std::byte* block, float* values) {
    const float scale = half_to_float(detail::load_u16(block));
    for (std::size_t i = 0; i < block_size; ++i) {
      const auto quant = static_cast<std::int8_t>(std::to_integer<std::uint8_t>(block[2 + i]));
      values[i] = static_cast<float>(quant) * scale;
    }
  }

  /// The block nearest to 32 values: their largest magnitude is 127 steps. A block with a NaN decodes to NaN, one with a
  /// value beyond 127 times the largest half to infinities.
  static void encode(const float* values, std::byte* block) {
    float largest = 0;
    for (std::size_t i = 0; i < block_size; ++i) {
      const float magnitude = std::fabs(values[i]);
      if (magnitude > largest || std::isnan(magnitude)) largest = magnitude;
    }
    const std::uint16_t bits = float_to_half(largest / 127.0f);
    std::memcpy(block, &bits, sizeof bits);
    const float scale = half_to_float(bits);
    const bool is_broken = !(scale <= 65504.0f);  // the largest half
    const float inverse = scale > 0.0f && !is_broken ? 1.0f / scale : 0.0f;
    for (std::size_t i = 0; i < block_size; ++i) {
      const float quant = is_broken ? 1.0f : std::nearbyint(values[i] * inverse);
      block[2 + i] = static_cast<std::byte>(static_cast<std::int8_t>(std::clamp(quant, -127.0f, 127.0f)));
    }
  }
};

static_assert(weight_format<q8_0>);

}  // namespace tenon
