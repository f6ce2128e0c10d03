// A row of the key-value cache: the key or the value of one position and head, as whole blocks of a format. Values that
// pad the last block, and rows to whole vectors of any instruction set, are zeros.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tenon/backend/host/panel.hpp"
#include "tenon/backend/host/simd/simd.hpp"
#include "tenon/format/all.hpp"

namespace tenon::host {

/// Values of a head as attention takes them: whole vectors of any instruction set.
constexpr std::size_t head_stride(std::size_t head_dim) { return round_up(head_dim, 16); }

/// Values that are stored together: whole blocks, and whole vectors of any instruction set.
template <weight_format Format>
inline constexpr std::size_t cache_row_part = (std::max)(std::size_t{16}, Format::block_size);

/// Bytes of a row.
template <weight_format Format>
constexpr std::size_t cache_row_bytes(std::size_t head_dim) {
  return row_bytes<Format>(round_up(head_dim, cache_row_part<Format>));
}

namespace detail {

/// Isa::lanes values, converted from what is stored.
template <class Isa, scalar_format Format>
typename simd<Isa>::vec load_scalars(const std::uint8_t* p) {
  using v = simd<Isa>;
  if constexpr (std::same_as<Format, f32>) {
    return v::load(reinterpret_cast<const float*>(p));
  } else if constexpr (std::same_as<Format, f16>) {
    return v::load_half(reinterpret_cast<const std::uint16_t*>(p));
  } else if constexpr (std::same_as<Format, bf16>) {
    return v::load_bfloat(reinterpret_cast<const std::uint16_t*>(p));
  } else {
    static_assert(std::same_as<Format, e4m3>);
    return v::load_e4m3(p);
  }
}

/// A part of a row, [cache_row_part], each value to nearest.
template <class Isa, weight_format Format>
void store_part(const float* values, std::uint8_t* to) {
  using v = simd<Isa>;
  constexpr std::size_t part = cache_row_part<Format>;
  if constexpr (std::same_as<Format, f32>) {
    std::memcpy(to, values, part * sizeof(float));
  } else if constexpr (Format::block_bytes == 2) {
    auto* bits = reinterpret_cast<std::uint16_t*>(to);
    for (std::size_t i = 0; i < part; i += v::lanes) {
      if constexpr (std::same_as<Format, f16>) {
        v::store_half(bits + i, v::load(values + i));
      } else {
        v::store_bfloat(bits + i, v::load(values + i));
      }
    }
  } else {
    for (std::size_t i = 0; i < part; i += Format::block_size)
      Format::encode(values + i, reinterpret_cast<std::byte*>(to + row_bytes<Format>(i)));
  }
}

}  // namespace detail

/// Decodes the first `count` values of a row to fp32; count is a multiple of 16.
template <class Isa, weight_format Format>
void load_cache_row(const std::uint8_t* row, std::size_t count, float* values) {
  using v = simd<Isa>;
  if constexpr (scalar_format<Format>) {
    for (std::size_t i = 0; i < count; i += v::lanes)
      v::store(values + i, detail::load_scalars<Isa, Format>(row + i * Format::block_bytes));
  } else {
    static_assert(std::same_as<Format, q8_0>);
    for (std::size_t first = 0; first < count; first += q8_0::block_size, row += q8_0::block_bytes) {
      const auto scale =
          v::set1(half_to_float(tenon::detail::load_u16(reinterpret_cast<const std::byte*>(row))));
      const auto* quants = reinterpret_cast<const std::int8_t*>(row + 2);
      for (std::size_t i = 0; i < q8_0::block_size && first + i < count; i += v::lanes)
        v::store(values + first + i, v::mul(v::load_int8(quants + i), scale));
    }
  }
}

/// Encodes `count` values of a head, each to nearest, and zeros behind them to the row's end.
template <class Isa, weight_format Format>
void store_cache_row(const float* values, std::size_t count, std::uint8_t* row) {
  constexpr std::size_t part = cache_row_part<Format>;
  for (std::size_t first = 0; first < count; first += part) {
    alignas(64) float padded[part] = {};
    std::copy_n(values + first, (std::min)(part, count - first), padded);
    detail::store_part<Isa, Format>(padded, row + row_bytes<Format>(first));
  }
}

}  // namespace tenon::host
