// Plain fp32: every value as it is.
#pragma once

#include "tenon/core/fixed_string.hpp"
#include "tenon/format/format.hpp"
#include "tenon/format/load.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>

namespace tenon {

/// The scalar format F32 of GGUF files: IEEE 754 binary32.
struct f32 {
  static constexpr auto name = fixed_string("f32");
  static constexpr std::uint32_t gguf_type = 0;
  static constexpr std::size_t block_size = 1;
  static constexpr std::size_t block_bytes = 4;

  /// One value. Bits are kept, those of a NaN too.
  static constexpr void decode(const std::byte* block, float* values) {
    const std::uint32_t low = detail::load_u16(block);
    const std::uint32_t high = detail::load_u16(block + 2);
    values[0] = std::bit_cast<float>(low | high << 16);
  }
};

static_assert(weight_format<f32>);

}  // namespace tenon
