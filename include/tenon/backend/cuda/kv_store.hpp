// The device memory of the key-value cache: rows of one head, in the formats that the precision policy chose.
#pragma once

#include <cstddef>

#include "tenon/backend/cuda/cache_view.hpp"
#include "tenon/backend/cuda/memory.hpp"
#include "tenon/cache/block_copy.hpp"
#include "tenon/format/format.hpp"
#include "tenon/schedule/step_plan.hpp"

namespace tenon::cuda {

/// Rows of all heads in host memory: [layers, kv_heads, rows] of cache_row each.
struct swapped_rows {
  std::size_t rows = 0;
  pinned_buffer<std::byte> keys;
  pinned_buffer<std::byte> values;
};

/// Keys and values of all layers: [layers, kv_heads, rows] of cache_row each, the rows given out by the cache's manager.
template <weight_format Key, weight_format Value>
class kv_store {
 public:
  /// All zeros: what no sequence has written is masked, and must not be NaN for that.
  kv_store(std::size_t layers, std::size_t kv_heads, std::size_t rows, std::size_t head_dim, const stream& on)
      : heads_(layers * kv_heads),
        rows_(rows),
        layer_rows_(kv_heads * rows),
        head_dim_(head_dim),
        keys_(layers * layer_rows_ * row_bytes<Key>(head_dim)),
        values_(layers * layer_rows_ * row_bytes<Value>(head_dim)) {
    keys_.zero(on);
    values_.zero(on);
  }

  /// Memory for so many rows of every head in host memory.
  swapped_rows make_swapped(std::size_t rows) const {
    return {rows, pinned_buffer<std::byte>(heads_ * rows * row_bytes<Key>(head_dim_)),
            pinned_buffer<std::byte>(heads_ * rows * row_bytes<Value>(head_dim_))};
  }

  cache_view layer(std::size_t index) {
    const std::size_t first = index * layer_rows_;
    return make_cache_view<Key, Value>(keys_.data() + first * row_bytes<Key>(head_dim_),
                                       values_.data() + first * row_bytes<Value>(head_dim_), rows_,
                                       static_cast<int>(head_dim_));
  }

  /// Puts a copy of `count` rows of all heads on the stream: within the cache, to the swap space or back.
  void copy_rows(cache::copy_kind kind, swapped_rows& swapped, std::size_t from, std::size_t to,
                 std::size_t count, const stream& on) {
    copy_rows(kind, swapped.keys, keys_, from, to, count, swapped.rows, row_bytes<Key>(head_dim_), on);
    copy_rows(kind, swapped.values, values_, from, to, count, swapped.rows, row_bytes<Value>(head_dim_), on);
  }

  static std::size_t bytes(std::size_t layers, std::size_t kv_heads, std::size_t rows, std::size_t head_dim) {
    return layers * kv_heads * rows * (row_bytes<Key>(head_dim) + row_bytes<Value>(head_dim));
  }

 private:
  template <class Format>
  static std::size_t row_bytes(std::size_t head_dim) {
    return static_cast<std::size_t>(cache_row<Format>::bytes(static_cast<int>(head_dim)));
  }

  void copy_rows(cache::copy_kind kind, pinned_buffer<std::byte>& swapped, device_buffer<std::byte>& here,
                 std::size_t from, std::size_t to, std::size_t count, std::size_t swap_rows,
                 std::size_t bytes, const stream& on) {
    const bool reads_host = kind == cache::copy_kind::from_host,
               writes_host = kind == cache::copy_kind::to_host;
    std::byte* const source = reads_host ? swapped.data() : here.data();
    std::byte* const target = writes_host ? swapped.data() : here.data();
    const auto direction = reads_host    ? cudaMemcpyHostToDevice
                           : writes_host ? cudaMemcpyDeviceToHost
                                         : cudaMemcpyDeviceToDevice;
    check(cudaMemcpy2DAsync(target + to * bytes, (writes_host ? swap_rows : rows_) * bytes,
                            source + from * bytes, (reads_host ? swap_rows : rows_) * bytes, count * bytes,
                            heads_, direction, on.get()),
          "cudaMemcpy2DAsync");
  }

  std::size_t heads_;  // of all layers
  std::size_t rows_;
  std::size_t layer_rows_;
  std::size_t head_dim_;
  device_buffer<std::byte> keys_;
  device_buffer<std::byte> values_;
};

}  // namespace tenon::cuda
