// One layer of the key-value cache, as kernels see it.
#pragma once

#include <cstddef>

namespace tenon::cuda {

/// Keys and values of one layer: [kv_heads, rows, stride] of a scalar format each.
struct cache_view {
  std::byte* keys;
  std::byte* values;
  std::size_t rows;
  int stride;  // values from one row to the next, a multiple of 8
};

}  // namespace tenon::cuda
