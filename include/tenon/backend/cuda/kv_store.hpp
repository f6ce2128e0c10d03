// The device memory of the key-value cache: rows of one head, in the formats that the precision policy chose.
#pragma once

#include <cstddef>

#include "tenon/backend/cuda/cache_view.hpp"
#include "tenon/backend/cuda/memory.hpp"
#include "tenon/cache/block_copy.hpp"
#include "tenon/format/format.hpp"
#include "tenon/schedule/step_plan.hpp"

namespace tenon::cuda {

/// Rows of a head are padded, so that each begins at a whole 16 bytes in every format.
constexpr std::size_t head_stride(std::size_t head_dim) { return (head_dim + 15) / 16 * 16; }

/// Rows of all heads in host memory: [layers, kv_heads, rows, head_stride].
struct swapped_rows {
  std::size_t rows = 0;
  pinned_buffer<std::byte> keys;
  pinned_buffer<std::byte> values;
};

/// Keys and values of all layers: [layers, kv_heads, rows, head_stride], the rows given out by the cache's manager.
template <scalar_format Key, scalar_format Value>
class kv_store {
 public:
  /// All zeros: what no sequence has written is masked, and must not be NaN for that.
  kv_store(std::size_t layers, std::size_t kv_heads, std::size_t rows, std::size_t head_dim, const stream& on)
      : heads_(layers * kv_heads),
        rows_(rows),
        stride_(head_stride(head_dim)),
        layer_values_(kv_heads * rows * stride_),
        keys_(layers * layer_values_ * Key::block_bytes),
        values_(layers * layer_values_ * Value::block_bytes) {
    keys_.zero(on);
    values_.zero(on);
  }

  /// Memory for so many rows of every head in host memory.
  swapped_rows make_swapped(std::size_t rows) const {
    return {rows, pinned_buffer<std::byte>(heads_ * rows * stride_ * Key::block_bytes),
            pinned_buffer<std::byte>(heads_ * rows * stride_ * Value::block_bytes)};
  }

  cache_view layer(std::size_t index) {
    return {keys_.data() + index * layer_values_ * Key::block_bytes,
            values_.data() + index * layer_values_ * Value::block_bytes, rows_, static_cast<int>(stride_)};
  }

  /// Puts a copy of `count` rows of all heads on the stream: within the cache, to the swap space or back.
  void copy_rows(cache::copy_kind kind, swapped_rows& swapped, std::size_t from, std::size_t to,
                 std::size_t count, const stream& on) {
    copy_rows(kind, swapped.keys, keys_, from, to, count, swapped.rows, stride_ * Key::block_bytes, on);
    copy_rows(kind, swapped.values, values_, from, to, count, swapped.rows, stride_ * Value::block_bytes, on);
  }

  static std::size_t bytes(std::size_t layers, std::size_t kv_heads, std::size_t rows, std::size_t head_dim) {
    return layers * kv_heads * rows * head_stride(head_dim) * (Key::block_bytes + Value::block_bytes);
  }

 private:
  void copy_rows(cache::copy_kind kind, pinned_buffer<std::byte>& swapped, device_buffer<std::byte>& here,
                 std::size_t from, std::size_t to, std::size_t count, std::size_t swap_rows,
                 std::size_t stride, const stream& on) {
    const bool reads_host = kind == cache::copy_kind::from_host,
               writes_host = kind == cache::copy_kind::to_host;
    std::byte* const source = reads_host ? swapped.data() : here.data();
    std::byte* const target = writes_host ? swapped.data() : here.data();
    const auto direction = reads_host    ? cudaMemcpyHostToDevice
                           : writes_host ? cudaMemcpyDeviceToHost
                                         : cudaMemcpyDeviceToDevice;
    check(cudaMemcpy2DAsync(target + to * stride, (writes_host ? swap_rows : rows_) * stride,
                            source + from * stride, (reads_host ? swap_rows : rows_) * stride, count * stride,
                            heads_, direction, on.get()),
          "cudaMemcpy2DAsync");
  }

  std::size_t heads_;  // of all layers
  std::size_t rows_;
  std::size_t stride_;
  std::size_t layer_values_;
  device_buffer<std::byte> keys_;
  device_buffer<std::byte> values_;
};

}  // namespace tenon::cuda
