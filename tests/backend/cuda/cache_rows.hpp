// Rows of the device's cache on the host: from a head's values to the bytes of its row, and back.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

#include "reference/quantise.hpp"
#include "tenon/backend/cuda/cache_row.hpp"

namespace tenon::test {

template <class Format>
std::size_t cuda_row_bytes(int head_dim) {
  return static_cast<std::size_t>(cuda::cache_row<Format>::bytes(head_dim));
}

/// Writes the values of a head as the reference rounds them; what pads the row stays as it is.
template <class Format>
void write_row(std::span<const float> head, std::byte* row) {
  const std::vector<std::byte> blocks = reference::encoded_head<Format>(head);
  if constexpr (std::is_same_v<Format, q8_0>) {
    std::byte* scale = row + cuda::cache_row<Format>::scales_at(static_cast<int>(head.size()));
    for (std::size_t i = 0; i < head.size(); ++i) row[i] = blocks[i / 32 * 34 + 2 + i % 32];
    for (std::size_t at = 0; at < blocks.size(); at += 34, scale += 2) std::memcpy(scale, &blocks[at], 2);
  } else {
    std::copy(blocks.begin(), blocks.end(), row);
  }
}

/// The values of a head, as its row has them.
template <class Format>
std::vector<float> read_row(const std::byte* row, std::size_t head_dim) {
  std::vector<std::byte> blocks(padded_row_bytes<Format>(head_dim));
  if constexpr (std::is_same_v<Format, q8_0>) {
    const std::byte* scale = row + cuda::cache_row<Format>::scales_at(static_cast<int>(head_dim));
    for (std::size_t i = 0; i < head_dim; ++i) blocks[i / 32 * 34 + 2 + i % 32] = row[i];
    for (std::size_t at = 0; at < blocks.size(); at += 34, scale += 2) std::memcpy(&blocks[at], scale, 2);
  } else {
    std::copy_n(row, blocks.size(), blocks.begin());
  }
  std::vector<float> values = reference::decoded<Format>(blocks);
  values.resize(head_dim);
  return values;
}

}  // namespace tenon::test
