// One layer of the key-value cache, as kernels see it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tenon/backend/cuda/cache_row.hpp"

namespace tenon::cuda {

/// Keys and values of one layer: [kv_heads, rows] of cache_row each.
struct cache_view {
  std::byte* keys;
  std::byte* values;
  std::size_t rows;
  std::uint32_t key_bytes;  // of a row
  std::uint32_t value_bytes;
};

template <weight_format Key, weight_format Value>
constexpr cache_view make_cache_view(std::byte* keys, std::byte* values, std::size_t rows, int head_dim) {
  return {keys, values, rows, static_cast<std::uint32_t>(cache_row<Key>::bytes(head_dim)),
          static_cast<std::uint32_t>(cache_row<Value>::bytes(head_dim))};
}

}  // namespace tenon::cuda
