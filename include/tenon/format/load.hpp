// Reading the 16-bit fields of a block. Blocks lie in a file at any address, lowest byte first.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tenon::detail {

/// The two bytes at `bytes`, lowest first, whatever their alignment.
constexpr std::uint16_t load_u16(const std::byte* bytes) {
  return static_cast<std::uint16_t>(std::to_integer<unsigned>(bytes[0]) | std::to_integer<unsigned>(bytes[1])
                                                                              << 8);
}

}  // namespace tenon::detail
