// Halves (IEEE 754 binary16), one value a block.
#pragma once

#include "tenon/core/fixed_string.hpp"
#include "tenon/core/number.hpp"
#include "tenon/format/format.hpp"
#include "tenon/format/load.hpp"

#include <cstddef>
#include <cstdint>

namespace tenon {

/// The scalar format F16 of GGUF files.
struct f16 {
  static constexpr auto name = fixed_string("f16");
  static constexpr std::uint32_t gguf_type = 1;
  static constexpr std::size_t block_size = 1;
  static constexpr std::size_t block_bytes = 2;

  /// One value. Exact, subnormals too.
  static constexpr void decode(const std::byte* block, float* values) {
    values[0] = half_to_float(detail::load_u16(block));
  }
};

static_assert(weight_format<f16>);

}  // namespace tenon
