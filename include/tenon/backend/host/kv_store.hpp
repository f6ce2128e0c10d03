// The memory of the key-value cache: rows of one head, in the formats that the precision policy chose.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tenon/backend/host/cache_row.hpp"
#include "tenon/core/buffer.hpp"

namespace tenon::host {

/// Keys and values of all layers: [layers, kv_heads, rows], the rows given out by the cache's manager.
template <weight_format Key, weight_format Value>
class kv_store {
 public:
  kv_store() = default;
  kv_store(std::size_t layers, std::size_t kv_heads, std::size_t rows, std::size_t head_dim)
      : kv_heads_(kv_heads),
        rows_(rows),
        key_stride_(cache_row_bytes<Key>(head_dim)),
        value_stride_(cache_row_bytes<Value>(head_dim)),
        keys_(layers * kv_heads * rows * key_stride_),
        values_(layers * kv_heads * rows * value_stride_) {}

  /// The first row of a layer's head; the next row is key_stride() bytes on.
  std::uint8_t* keys(std::size_t layer, std::size_t head) {
    return keys_.data() + base(layer, head) * key_stride();
  }
  std::uint8_t* values(std::size_t layer, std::size_t head) {
    return values_.data() + base(layer, head) * value_stride();
  }
  /// Copies rows of a layer's head from another store of the same shape, or from this one.
  void copy_rows(std::size_t layer, std::size_t head, const kv_store& from, std::size_t from_row,
                 std::size_t to_row, std::size_t count) {
    const auto copy = [&](buffer<std::uint8_t>& to, const buffer<std::uint8_t>& source, std::size_t stride) {
      std::memcpy(to.data() + (base(layer, head) + to_row) * stride,
                  source.data() + (from.base(layer, head) + from_row) * stride, count * stride);
    };
    copy(keys_, from.keys_, key_stride());
    copy(values_, from.values_, value_stride());
  }

  std::size_t key_stride() const { return key_stride_; }
  std::size_t value_stride() const { return value_stride_; }
  std::size_t bytes() const { return keys_.size() + values_.size(); }

 private:
  std::size_t base(std::size_t layer, std::size_t head) const { return (layer * kv_heads_ + head) * rows_; }

  std::size_t kv_heads_ = 0;
  std::size_t rows_ = 0;
  std::size_t key_stride_ = 0;
  std::size_t value_stride_ = 0;
  buffer<std::uint8_t> keys_;
  buffer<std::uint8_t> values_;
};

}  // namespace tenon::host
