// How the host backend keeps weights: in panels of 32 output rows, in groups of 32 values along k, in the
// order in which the micro-kernels read them. A matrix is one stream from its first panel to its last.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "tenon/backend/host/isa.hpp"
#include "tenon/core/number.hpp"
#include "tenon/format/all.hpp"

namespace tenon::host {

/// Output rows in a panel, and the length of a group along k: that of a block in the 32-value formats.
inline constexpr int panel_rows = 32;
inline constexpr int group_size = 32;

constexpr std::size_t round_up(std::size_t count, std::size_t multiple) {
  return (count + multiple - 1) / multiple * multiple;
}
constexpr std::size_t groups_of(std::size_t count) { return (count + group_size - 1) / group_size; }

/// The layout of one group of one panel (32 rows x 32 values) for a weight format:
/// - group_bytes: bytes of a group
/// - pack(rows, group, out): gathers block `group` of 32 rows into the layout; a null row is zeros
/// - value(group, row, k): one weight, as fp32: for embeddings and tests
template <class Isa, weight_format Format>
struct panel_layout;

namespace detail {

/// 32 fp16 values, one for each row of a panel.
struct row_halves {
  static std::uint16_t get(const std::uint8_t* halves, std::size_t row) {
    return static_cast<std::uint16_t>(halves[2 * row] | halves[2 * row + 1] << 8);
  }
  static void copy(std::uint8_t* halves, std::size_t row, const std::byte* bits) {
    std::memcpy(halves + 2 * row, bits, 2);
  }
  static constexpr std::size_t bytes = 2 * panel_rows;
};

}  // namespace detail

/// 4-bit formats. For each tile of Isa::lanes rows four vectors, whose byte 4 * row + b holds value 4j + b of
/// the row in its low half and value 16 + 4j + b in its high half (j counts the vectors): one 32-bit lane is
/// then four neighbours along k of one row, as integer dot-product instructions want them. Behind the tiles
/// 32 scales, and 32 minima where the format has them, all fp16 as in the file: no byte more than the file.
template <class Isa, class Format, bool HasMinimum>
struct nibble_layout {
  static constexpr std::size_t lanes = Isa::lanes;
  static constexpr bool has_minimum = HasMinimum;
  static constexpr std::size_t scales_at = panel_rows * group_size / 2;
  static constexpr std::size_t minima_at = scales_at + detail::row_halves::bytes;
  static constexpr std::size_t group_bytes = HasMinimum ? minima_at + detail::row_halves::bytes : minima_at;

  static void pack(const std::byte* const (&rows)[panel_rows], std::size_t group, std::uint8_t* out) {
    std::memset(out, 0, group_bytes);
    for (std::size_t row = 0; row < panel_rows; ++row) {
      if (rows[row] == nullptr) continue;
      const std::byte* block = rows[row] + group * Format::block_bytes;
      detail::row_halves::copy(out + scales_at, row, block);
      if constexpr (HasMinimum) detail::row_halves::copy(out + minima_at, row, block + 2);
      const std::byte* pairs = block + (HasMinimum ? 4 : 2);
      for (std::size_t j = 0; j < 4; ++j) std::memcpy(out + word_at(row, j), pairs + 4 * j, 4);
    }
  }

  static float value(const std::uint8_t* group, std::size_t row, std::size_t k) {
    const std::uint8_t pair = group[word_at(row, k % 16 / 4) + k % 4];
    const float quantum = static_cast<float>(k < 16 ? pair & 15 : pair >> 4);
    const float scale = half_to_float(detail::row_halves::get(group + scales_at, row));
    if constexpr (HasMinimum) {
      return scale * quantum + half_to_float(detail::row_halves::get(group + minima_at, row));
    } else {
      return scale * (quantum - 8.0f);
    }
  }

  /// Where the four bytes of word j of a row lie.
  static constexpr std::size_t word_at(std::size_t row, std::size_t j) {
    return row / lanes * lanes * 16 + j * lanes * 4 + row % lanes * 4;
  }
};

template <class Isa>
struct panel_layout<Isa, q4_0> : nibble_layout<Isa, q4_0, false> {};
template <class Isa>
struct panel_layout<Isa, q4_1> : nibble_layout<Isa, q4_1, true> {};

/// Eight-bit blocks: for each tile eight vectors, whose byte 4 * row + b holds value 4j + b of the row; then
/// 32 scales. Where the dot-product instruction wants unsigned weights (AVX-512 VNNI), they are stored with
/// 128 added.
template <class Isa>
struct panel_layout<Isa, q8_0> {
  static constexpr std::size_t lanes = Isa::lanes;
  static constexpr std::uint8_t bias = isa::unsigned_weights<Isa> ? 0x80 : 0;
  static constexpr std::size_t scales_at = panel_rows * group_size;
  static constexpr std::size_t group_bytes = scales_at + detail::row_halves::bytes;

  static void pack(const std::byte* const (&rows)[panel_rows], std::size_t group, std::uint8_t* out) {
    std::memset(out, 0, group_bytes);
    for (std::size_t row = 0; row < panel_rows; ++row) {
      if (rows[row] == nullptr) continue;
      const std::byte* block = rows[row] + group * q8_0::block_bytes;
      detail::row_halves::copy(out + scales_at, row, block);
      for (std::size_t j = 0; j < 8; ++j) {
        for (std::size_t b = 0; b < 4; ++b) {
          const auto weight = static_cast<std::uint8_t>(block[2 + 4 * j + b]);
          out[word_at(row, j) + b] = weight ^ bias;
        }
      }
    }
  }

  static float value(const std::uint8_t* group, std::size_t row, std::size_t k) {
    const std::uint8_t byte = group[word_at(row, k / 4) + k % 4] ^ bias;
    return half_to_float(detail::row_halves::get(group + scales_at, row)) *
           static_cast<float>(static_cast<std::int8_t>(byte));
  }

  /// Where the four bytes of word j of a row lie.
  static constexpr std::size_t word_at(std::size_t row, std::size_t j) {
    return row / lanes * lanes * 32 + j * lanes * 4 + row % lanes * 4;
  }
};

/// Scalar formats: the elements as in the file, [k][row].
template <class Isa, scalar_format Format>
struct panel_layout<Isa, Format> {
  static constexpr std::size_t group_bytes = panel_rows * group_size * Format::block_bytes;

  /// `count` is how many of the group's values the rows have: the last group of a row may be short.
  static void pack(const std::byte* const (&rows)[panel_rows], std::size_t group, std::uint8_t* out,
                   std::size_t count = group_size) {
    std::memset(out, 0, group_bytes);
    for (std::size_t k = 0; k < count; ++k) {
      for (std::size_t row = 0; row < panel_rows; ++row) {
        if (rows[row] == nullptr) continue;
        std::memcpy(out + (k * panel_rows + row) * Format::block_bytes,
                    rows[row] + (group * group_size + k) * Format::block_bytes, Format::block_bytes);
      }
    }
  }

  static float value(const std::uint8_t* group, std::size_t row, std::size_t k) {
    float decoded = 0;
    Format::decode(reinterpret_cast<const std::byte*>(group + (k * panel_rows + row) * Format::block_bytes),
                   &decoded);
    return decoded;
  }
};

}  // namespace tenon::host
