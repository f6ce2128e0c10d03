// A weight matrix on the device.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tenon/backend/cuda/layout.hpp"
#include "tenon/backend/cuda/memory.hpp"

namespace tenon::cuda {

/// [rows, columns] of a weight format, packed by pack_tile. Moves, does not copy.
struct matrix {
  std::uint32_t format = 0;  // the format's gguf_type
  std::size_t rows = 0;
  std::size_t columns = 0;
  device_buffer<std::byte> packed;

  matrix_view view() const {
    return {packed.data(), static_cast<int>(rows), static_cast<int>(columns)};
  }
};

}  // namespace tenon::cuda
