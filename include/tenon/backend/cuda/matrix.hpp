// A weight matrix or vector on the device. The memory is the model's, in one piece.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tenon/backend/cuda/layout.hpp"

namespace tenon::cuda {

/// [rows, columns] in a format, packed as layout.hpp says or row by row; columns are inputs, rows outputs.
struct matrix {
  std::uint32_t format = 0;  // the GGUF number of the weight format
  std::size_t rows = 0;
  std::size_t columns = 0;
  const std::byte* records = nullptr;
  bool by_rows = false;  // as in the file, for a library

  matrix_view view() const { return {records, static_cast<int>(rows), static_cast<int>(columns)}; }
};

/// [size] of fp32.
struct vector {
  const float* values = nullptr;
  std::size_t size = 0;
};

/// Each matrix and vector begins at a multiple of this, so that its rows keep whole sectors.
inline constexpr std::size_t weight_alignment = 256;

constexpr std::size_t aligned(std::size_t bytes) {
  return (bytes + weight_alignment - 1) / weight_alignment * weight_alignment;
}

}  // namespace tenon::cuda
