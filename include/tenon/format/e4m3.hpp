// fp8 E4M3 (OCP 8-bit Floating Point, "FN": no infinities, one NaN of each sign), one value a block.
#pragma once

#include "tenon/core/fixed_string.hpp"
#include "tenon/format/format.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>

namespace tenon {

/// The value of an E4M3 number given by its bits. Exact.
constexpr float e4m3_to_float(std::uint8_t number) {
  const std::uint32_t sign = static_cast<std::uint32_t>(number & 0x80u) << 24;
  const std::uint32_t magnitude = number & 0x7fu;
  if (magnitude == 0x7f) return std::bit_cast<float>(sign | 0x7fc00000u);
  if (magnitude >= 8) return std::bit_cast<float>(sign | ((magnitude << 20) + (120u << 23)));
  const float subnormal = static_cast<float>(magnitude) * 0x1p-9f;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(subnormal) | sign);
}

/// The E4M3 number nearest to `value`, ties to even. What is too large, infinity too, becomes 448; NaN stays NaN.
constexpr std::uint8_t float_to_e4m3(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 24) & 0x80u, magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<std::uint8_t>(sign | 0x7fu);
  if (magnitude < 0x3c800000u) {                                     // below 2^-6: subnormal or zero
    const float scaled = std::bit_cast<float>(magnitude) + 0x1p14f;  // 2^-9 is the last bit of 2^14's binade
    return static_cast<std::uint8_t>(sign | (std::bit_cast<std::uint32_t>(scaled) - 0x46800000u));
  }
  const std::uint32_t rounded = (magnitude + 0x7ffffu + ((magnitude >> 20) & 1u) - (120u << 23)) >> 20;
  return static_cast<std::uint8_t>(sign | (rounded < 0x7e ? rounded : 0x7eu));
}

/// The scalar format of 8-bit caches.
struct e4m3 {
  static constexpr auto name = fixed_string("e4m3");
  static constexpr std::uint32_t gguf_type = 0xffffffffu;  // GGUF has no such type: no file says this number
  static constexpr std::size_t block_size = 1;
  static constexpr std::size_t block_bytes = 1;

  /// One value. Exact.
  static constexpr void decode(const std::byte* block, float* values) {
    values[0] = e4m3_to_float(std::to_integer<std::uint8_t>(block[0]));
  }
  /// One value, to nearest even; what is too large becomes 448.
  static constexpr void encode(const float* values, std::byte* block) {
    block[0] = static_cast<std::byte>(float_to_e4m3(values[0]));
  }
};

static_assert(weight_format<e4m3>);

}  // namespace tenon
