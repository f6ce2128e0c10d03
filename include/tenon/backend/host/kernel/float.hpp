// Products in fp32, for every weight format and instruction set: weights are decoded to a scratch of [k][32
// rows] and each row's sum runs over k in order.
#pragma once

#include <cstring>

#include "tenon/backend/host/kernel/product.hpp"

namespace tenon::host {

/// Decodes one group of a panel to fp32: out[32 k][32 rows].
template <class Isa, class Format>
struct group_decoder {
  using layout = panel_layout<Isa, Format>;
  using v = simd<Isa>;
  static constexpr std::size_t tiles = panel_rows / v::lanes;

  static void decode(const std::uint8_t* group, float* out) {
    if constexpr (Format::block_size == 1) {
      for (int i = 0; i < panel_rows * group_size; i += v::lanes) v::store(out + i, scalars(group, i));
    } else {
      const auto* halves = reinterpret_cast<const std::uint16_t*>(group + layout::scales_at);
      for (std::size_t tile = 0; tile < tiles; ++tile) {
        const auto scale = v::load_half(halves + tile * v::lanes);
        float* rows = out + tile * v::lanes;
        if constexpr (Format::gguf_type == q8_0::gguf_type) {
          for (std::size_t k = 0; k < group_size; ++k) {
            const std::uint8_t* words = group + layout::word_at(tile * v::lanes, k / 4);
            v::store(rows + k * panel_rows,
                     v::mul(scale, v::bytes(words, static_cast<int>(k % 4), layout::bias)));
          }
        } else {
          for (std::size_t k = 0; k < group_size; ++k) {
            const std::uint8_t* words = group + layout::word_at(tile * v::lanes, k % 16 / 4);
            const auto quantum = v::nibbles(words, static_cast<int>(k % 4 * 8 + (k < 16 ? 0 : 4)));
            if constexpr (layout::has_minimum) {
              const auto minimum = v::load_half(halves + panel_rows + tile * v::lanes);
              v::store(rows + k * panel_rows, v::fma(scale, quantum, minimum));
            } else {
              v::store(rows + k * panel_rows, v::mul(scale, v::sub(quantum, v::set1(8.0f))));
            }
          }
        }
      }
    }
  }

 private:
  static typename v::vec scalars(const std::uint8_t* group, int i) {
    if constexpr (Format::gguf_type == f32::gguf_type) {
      return v::load(reinterpret_cast<const float*>(group) + i);
    } else if constexpr (Format::gguf_type == f16::gguf_type) {
      return v::load_half(reinterpret_cast<const std::uint16_t*>(group) + i);
    } else {
      static_assert(Format::gguf_type == bf16::gguf_type);
      return v::load_bfloat(reinterpret_cast<const std::uint16_t*>(group) + i);
    }
  }
};

/// acc[T][32] += weights[count k][32]^T x, for T rows x of `stride` values; all formats share it.
template <class Isa, std::size_t T>
void multiply_decoded(const float* weights, std::size_t count, const float* x, std::size_t stride,
                      float* acc) {
  using v = simd<Isa>;
  constexpr std::size_t tiles = panel_rows / v::lanes;
  typename v::vec sum[T][tiles];
  unrolled<T>([&](auto t) {
    unrolled<tiles>([&](auto i) { sum[t][i] = v::load(acc + t * panel_rows + i * v::lanes); });
  });
  for (std::size_t k = 0; k < count; ++k, weights += panel_rows) {
    typename v::vec row[tiles];
    unrolled<tiles>([&](auto i) { row[i] = v::load(weights + i * v::lanes); });
    unrolled<T>([&](auto t) {
      const auto value = v::set1(x[t * stride + k]);
      unrolled<tiles>([&](auto i) { sum[t][i] = v::fma(row[i], value, sum[t][i]); });
    });
  }
  unrolled<T>([&](auto t) {
    unrolled<tiles>([&](auto i) { v::store(acc + t * panel_rows + i * v::lanes, sum[t][i]); });
  });
}

template <class Isa, class Format>
struct product_kernel<Isa, Format, as_float> {
  using layout = panel_layout<Isa, Format>;
  static constexpr std::size_t direct_tokens = 2;
  static constexpr std::size_t block_tokens =
      Isa::lanes == 16 ? 6 : 3;  // times tiles: what the registers hold
  static constexpr std::size_t scratch_bytes = panel_rows * group_size * sizeof(float);

  template <std::size_t T>
  static void direct(const std::uint8_t* panel, std::size_t groups, const activations& x, std::size_t token,
                     float* acc) {
    std::memset(acc, 0, sizeof(float) * T * panel_rows);
    alignas(64) float decoded[panel_rows * group_size];
    const float* values = x.values.data() + token * x.stride;
    for (std::size_t g = 0; g < groups; ++g) {
      group_decoder<Isa, Format>::decode(panel + g * layout::group_bytes, decoded);
      multiply_decoded<Isa, T>(decoded, group_size, values + g * group_size, x.stride, acc);
    }
  }

  static void unpack(const std::uint8_t* panel, std::size_t first, std::size_t last, std::uint8_t* scratch) {
    for (std::size_t g = first; g < last; ++g, scratch += scratch_bytes) {
      group_decoder<Isa, Format>::decode(panel + g * layout::group_bytes, reinterpret_cast<float*>(scratch));
    }
  }

  template <std::size_t T>
  static void multiply(const std::uint8_t* scratch, std::size_t first, std::size_t last, const activations& x,
                       std::size_t token, float* acc) {
    multiply_decoded<Isa, T>(reinterpret_cast<const float*>(scratch), (last - first) * group_size,
                             x.values.data() + token * x.stride + first * group_size, x.stride, acc);
  }
};

}  // namespace tenon::host
