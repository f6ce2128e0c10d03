// Matrices of random values, encoded in a format and packed for the device.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "reference/inputs.hpp"
#include "reference/quantise.hpp"
#include "tenon/backend/cuda/layout.hpp"

namespace tenon::test {

/// Around a group of 32 values and a record of four.
template <class Format>
std::vector<std::size_t> awkward_columns() {
  if constexpr (Format::block_size == 1) return {1, 31, 32, 33, 64, 97, 211};
  return {32, 64, 96, 128, 160, 576};
}

template <class Format>
struct packed_matrix {
  std::vector<float> values;     // [rows, columns], as the file decodes
  std::vector<float> terms;      // magnitudes that a product of them sums, see reference::term_magnitudes
  std::vector<std::byte> bytes;  // for the device

  std::size_t rows;
  std::size_t columns;

  packed_matrix(std::size_t its_rows, std::size_t its_columns, std::uint64_t seed)
      : packed_matrix(its_rows, its_columns,
                      reference::uniform_values(its_rows * its_columns, -0.25, 0.25, seed)) {}
  packed_matrix(std::size_t its_rows, std::size_t its_columns, std::span<const float> random)
      : rows(its_rows), columns(its_columns) {
    std::vector<std::vector<std::byte>> file;
    for (std::size_t row = 0; row < rows; ++row) {
      file.push_back(reference::encode_row<Format>(std::span(random).subspan(row * columns, columns)));
      const std::vector<float> decoded = reference::decoded<Format>(file.back());
      const std::vector<float> magnitudes = reference::term_magnitudes<Format>(file.back());
      values.insert(values.end(), decoded.begin(), decoded.end());
      terms.insert(terms.end(), magnitudes.begin(), magnitudes.end());
    }
    bytes.resize(cuda::matrix_bytes<Format>(rows, columns));
    const std::size_t tile_bytes = bytes.size() / cuda::tiles_of(rows);
    for (std::size_t tile = 0; tile < cuda::tiles_of(rows); ++tile) {
      std::array<const std::byte*, cuda::tile_rows> of_tile{};
      for (std::size_t row = 0; row < of_tile.size(); ++row) {
        const std::size_t at = tile * cuda::tile_rows + row;
        if (at < rows) of_tile[row] = file[at].data();
      }
      cuda::pack_tile<Format>(of_tile, columns, bytes.data() + tile * tile_bytes);
    }
  }
};

}  // namespace tenon::test
