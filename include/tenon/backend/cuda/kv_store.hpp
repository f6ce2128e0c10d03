// The device memory of the key-value cache: rows of one head, in the formats that the precision policy chose.
#pragma once

#include <cstddef>

#include "tenon/backend/cuda/cache_view.hpp"
#include "tenon/backend/cuda/memory.hpp"
#include "tenon/format/format.hpp"
#include "tenon/schedule/step_plan.hpp"

namespace tenon::cuda {

/// Rows of a head are padded, so that each begins at a whole 16 bytes in every format.
constexpr std::size_t head_stride(std::size_t head_dim) { return (head_dim + 15) / 16 * 16; }

/// Keys and values of all layers: [layers, kv_heads, rows, head_stride], the rows given out by the cache's manager.
template <scalar_format Key, scalar_format Value>
class kv_store {
 public:
  /// All zeros: what no sequence has written is masked, and must not be NaN for that.
  kv_store(std::size_t layers, std::size_t kv_heads, std::size_t rows, std::size_t head_dim, const stream& on)
      : rows_(rows),
        stride_(head_stride(head_dim)),
        layer_values_(kv_heads * rows * stride_),
        keys_(layers * layer_values_ * Key::block_bytes),
        values_(layers * layer_values_ * Value::block_bytes) {
    keys_.zero(on);
    values_.zero(on);
  }

  cache_view layer(std::size_t index) {
    return {keys_.data() + index * layer_values_ * Key::block_bytes,
            values_.data() + index * layer_values_ * Value::block_bytes, rows_, static_cast<int>(stride_)};
  }

  static std::size_t bytes(std::size_t layers, std::size_t kv_heads, std::size_t rows, std::size_t head_dim) {
    return layers * kv_heads * rows * head_stride(head_dim) * (Key::block_bytes + Value::block_bytes);
  }

 private:
  std::size_t rows_;
  std::size_t stride_;
  std::size_t layer_values_;
  device_buffer<std::byte> keys_;
  device_buffer<std::byte> values_;
};

}  // namespace tenon::cuda
