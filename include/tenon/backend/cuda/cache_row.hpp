// A row of the key-value cache on the device: the key or the value of one position and head, first its values, then, in
// q8_0, their scales. The blocks of a file, 34 bytes each, would put no value at a whole word.
#pragma once

#include <cstddef>
#include <type_traits>

#include "tenon/core/host_device.hpp"
#include "tenon/format/all.hpp"

namespace tenon::cuda {

/// How a row of a format lies in memory, in bytes. Every row, and its scales, begin at whole 16 bytes.
template <weight_format Format>
struct cache_row {
  static constexpr bool has_scales = std::is_same_v<Format, q8_0>;
  static_assert(scalar_format<Format> || has_scales, "rows of the cache are in a scalar format or q8_0");
  /// Of one value; in q8_0 of its quant.
  static constexpr int value_bytes = has_scales ? 1 : static_cast<int>(Format::block_bytes);

  /// Where the scales begin, a half for 32 values; the end of a row that has none.
  TENON_HOST_DEVICE static constexpr int scales_at(int head_dim) {
    return (head_dim + 15) / 16 * 16 * value_bytes;
  }
  TENON_HOST_DEVICE static constexpr int scale_bytes(int head_dim) {
    return has_scales ? (head_dim + 31) / 32 * 2 : 0;
  }
  TENON_HOST_DEVICE static constexpr int bytes(int head_dim) {
    return scales_at(head_dim) + (scale_bytes(head_dim) + 15) / 16 * 16;
  }
};

}  // namespace tenon::cuda
