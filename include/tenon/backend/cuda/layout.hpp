// How the CUDA backend keeps weights: in the order in which the lanes of a warp feed them to mma.sync, so that a warp
// reads 512 consecutive bytes, 16 a lane, and every lane finds in its registers the A fragment that is its own.
//
// A matrix [rows, columns] is cut into tiles of 8 rows, and each row into groups of 32 values. Four lanes share a row:
// lane j holds values 8j to 8j + 7 of every group, in words of 32 bits. A record is what one tile needs for a few groups:
// [chunk][8 rows][4 lanes][16 bytes], then the scales. The order of k inside a group is free, as both sides of a product
// follow it; eight neighbours a lane let four lanes read whole sectors of the activations, too.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tenon/core/host_device.hpp"
#include "tenon/core/number.hpp"
#include "tenon/format/all.hpp"

namespace tenon::cuda {

inline constexpr int tile_rows = 8;
inline constexpr int row_lanes = 4;
inline constexpr int group_size = 32;
inline constexpr int chunk_bytes = 16;  // what a lane loads at once

/// What a product takes of a row at a time: four groups, to which activations are padded. Columns of a step.
inline constexpr int step_groups = 4;
inline constexpr int step_columns = step_groups * group_size;

/// For each weight format:
/// - group_words: words of one lane for one group
/// - record_groups: groups in a record
/// - scale_bytes: bytes of scale (and minimum) for one row and group, 0 for scalar formats
template <weight_format Format>
struct weight_layout {
  static constexpr bool is_scalar = Format::block_size == 1;
  static constexpr int block_bits = static_cast<int>(Format::block_bytes * 8 / Format::block_size);
  static constexpr int value_bits = is_scalar ? block_bits : Format::gguf_type == q8_0::gguf_type ? 8 : 4;
  static constexpr bool has_minimum = Format::gguf_type == q4_1::gguf_type;

  static constexpr int word_values = 32 / value_bits;
  static constexpr int group_words = group_size / row_lanes / word_values;
  static constexpr int record_groups = is_scalar ? 1 : 4;
  static constexpr int chunks = record_groups * group_words * 4 / chunk_bytes;
  static constexpr int scale_bytes = is_scalar ? 0 : has_minimum ? 4 : 2;
  static constexpr int scales_at = chunks * tile_rows * row_lanes * chunk_bytes;
  static constexpr int record_bytes = scales_at + tile_rows * record_groups * scale_bytes;

  /// A lane's words and chunks of a step, and the bytes from one step to the next. The chunks of a step follow each
  /// other in every format.
  static constexpr int step_words = step_groups * group_words;
  static constexpr int step_chunks = step_words * 4 / chunk_bytes;
  static constexpr int step_bytes = record_bytes * (step_groups / record_groups);

  /// Where word `word` (of group_words) of a lane lies in a record.
  TENON_HOST_DEVICE static constexpr int word_at(int row, int lane, int group, int word) {
    const int index = group * group_words + word;
    return ((index / 4 * tile_rows + row) * row_lanes + lane) * chunk_bytes + index % 4 * 4;
  }
  /// Where the scale of a row's group lies; its minimum is 2 bytes on.
  TENON_HOST_DEVICE static constexpr int scale_at(int row, int group) {
    return scales_at + (row * record_groups + group) * scale_bytes;
  }
  /// The place in a group of value `i` (of word_values) of a lane's word. A lane has eight neighbours along k, and the
  /// other side of the product is read in the same order. In four bits the low halves of a word's bytes are the first
  /// four of the eight, so that one mask makes a register of bytes of each half.
  TENON_HOST_DEVICE static constexpr int fragment_k(int lane, int word, int i) {
    if constexpr (value_bits == 4) {
      return 8 * lane + i / 2 + 4 * (i % 2);
    } else {
      return 8 * lane + word * word_values + i;
    }
  }
};

/// Records from one tile to the next, for rows of `columns` values.
template <class Format>
TENON_HOST_DEVICE constexpr std::size_t records_of(std::size_t columns) {
  constexpr std::size_t values = weight_layout<Format>::record_groups * group_size;
  return (columns + values - 1) / values;
}
constexpr std::size_t tiles_of(std::size_t rows) { return (rows + tile_rows - 1) / tile_rows; }

/// Bytes of a matrix on the device.
template <class Format>
constexpr std::size_t matrix_bytes(std::size_t rows, std::size_t columns) {
  return tiles_of(rows) * records_of<Format>(columns) *
         static_cast<std::size_t>(weight_layout<Format>::record_bytes);
}

/// Weights [rows, columns] on the device, as kernels see them.
struct matrix_view {
  const std::byte* records;
  int rows;
  int columns;
  TENON_HOST_DEVICE constexpr int groups() const { return (columns + group_size - 1) / group_size; }
  TENON_HOST_DEVICE constexpr int steps() const { return (columns + step_columns - 1) / step_columns; }
};

/// Gathers a tile's records from the file's rows. `rows` are the first bytes of its 8 rows, null for rows that the matrix
/// does not have; what is beyond `columns` becomes zeros. `out` holds records_of<Format>(columns) records.
template <class Format>
void pack_tile(const std::array<const std::byte*, tile_rows>& rows, std::size_t columns, std::byte* out) {
  using layout = weight_layout<Format>;
  const std::size_t records = records_of<Format>(columns);
  std::memset(out, 0, records * layout::record_bytes);
  for (std::size_t record = 0; record < records; ++record, out += layout::record_bytes) {
    for (int row = 0; row < tile_rows; ++row) {
      const std::byte* from = rows[static_cast<std::size_t>(row)];
      if (from == nullptr) continue;
      for (int g = 0; g < layout::record_groups; ++g) {
        const std::size_t first = (record * layout::record_groups + static_cast<std::size_t>(g)) * group_size;
        if (first >= columns) break;
        if constexpr (layout::is_scalar) {
          for (int lane = 0; lane < row_lanes; ++lane) {
            for (int word = 0; word < layout::group_words; ++word) {
              for (int i = 0; i < layout::word_values; ++i) {
                const std::size_t k = first + static_cast<std::size_t>(layout::fragment_k(lane, word, i));
                if (k >= columns) continue;
                std::memcpy(out + layout::word_at(row, lane, g, word) + i * layout::value_bits / 8,
                            from + k * Format::block_bytes, Format::block_bytes);
              }
            }
          }
        } else {
          const std::byte* block = from + first / group_size * Format::block_bytes;
          std::memcpy(out + layout::scale_at(row, g), block, layout::scale_bytes);
          const std::byte* values = block + layout::scale_bytes;
          for (int lane = 0; lane < row_lanes; ++lane) {
            for (int word = 0; word < layout::group_words; ++word) {
              std::uint32_t bits = 0;
              for (int i = 0; i < layout::word_values; ++i) {
                const int k = layout::fragment_k(lane, word, i);
                const auto byte = static_cast<std::uint32_t>(values[layout::value_bits == 4 ? k % 16 : k]);
                const std::uint32_t quantum = layout::value_bits == 8 ? byte : k < 16 ? byte & 15 : byte >> 4;
                bits |= quantum << (layout::value_bits * i);
              }
              std::memcpy(out + layout::word_at(row, lane, g, word), &bits, 4);
            }
          }
        }
      }
    }
  }
}

}  // namespace tenon::cuda
