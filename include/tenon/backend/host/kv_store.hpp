// The memory of the key-value cache: rows of one head, in the formats that the precision policy chose.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "tenon/backend/host/panel.hpp"
#include "tenon/backend/host/simd/simd.hpp"
#include "tenon/core/buffer.hpp"

namespace tenon::host {

/// Loads Isa::lanes values of a scalar format.
template <class Isa, scalar_format Format>
typename simd<Isa>::vec load_scalars(const std::uint8_t* p) {
  if constexpr (std::is_same_v<Format, f32>) {
    return simd<Isa>::load(reinterpret_cast<const float*>(p));
  } else if constexpr (std::is_same_v<Format, f16>) {
    return simd<Isa>::load_half(reinterpret_cast<const std::uint16_t*>(p));
  } else {
    return simd<Isa>::load_bfloat(reinterpret_cast<const std::uint16_t*>(p));
  }
}

/// Stores Isa::lanes values in a scalar format, rounded to nearest even.
template <class Isa, scalar_format Format>
void store_scalars(std::uint8_t* p, typename simd<Isa>::vec x) {
  if constexpr (std::is_same_v<Format, f32>) {
    simd<Isa>::store(reinterpret_cast<float*>(p), x);
  } else if constexpr (std::is_same_v<Format, f16>) {
    simd<Isa>::store_half(reinterpret_cast<std::uint16_t*>(p), x);
  } else {
    simd<Isa>::store_bfloat(reinterpret_cast<std::uint16_t*>(p), x);
  }
}

/// A head's row in the cache is padded with zeros to whole vectors of any instruction set.
constexpr std::size_t head_stride(std::size_t head_dim) { return round_up(head_dim, 16); }

/// Keys and values of all layers: [layers, kv_heads, rows, head_stride], the rows given out by the cache's
/// manager.
template <scalar_format Key, scalar_format Value>
class kv_store {
 public:
  kv_store() = default;
  kv_store(std::size_t layers, std::size_t kv_heads, std::size_t rows, std::size_t head_dim)
      : kv_heads_(kv_heads),
        rows_(rows),
        stride_(head_stride(head_dim)),
        keys_(layers * kv_heads * rows * stride_ * Key::block_bytes),
        values_(layers * kv_heads * rows * stride_ * Value::block_bytes) {}

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

  std::size_t key_stride() const { return stride_ * Key::block_bytes; }
  std::size_t value_stride() const { return stride_ * Value::block_bytes; }
  std::size_t bytes() const { return keys_.size() + values_.size(); }

 private:
  std::size_t base(std::size_t layer, std::size_t head) const { return (layer * kv_heads_ + head) * rows_; }

  std::size_t kv_heads_ = 0;
  std::size_t rows_ = 0;
  std::size_t stride_ = 0;
  buffer<std::uint8_t> keys_;
  buffer<std::uint8_t> values_;
};

}  // namespace tenon::host
