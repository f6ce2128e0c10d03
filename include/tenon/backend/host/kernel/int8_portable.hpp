// Integer dot products in plain C++, for processors without an instruction for them.
#pragma once

#include <cstring>

#include "tenon/backend/host/kernel/product.hpp"

namespace tenon::host {

/// Unpacks to bytes [row][32 k] and sums in 32-bit integers; one token at a time.
template <class Format>
struct product_kernel<isa::portable, Format, as_int8> {
  using layout = panel_layout<isa::portable, Format>;
  static constexpr bool is_8_bit = Format::gguf_type == q8_0::gguf_type;
  static constexpr std::size_t direct_tokens = 1;
  static constexpr std::size_t block_tokens = 1;
  static constexpr std::size_t scratch_bytes = panel_rows * (group_size + 2 * sizeof(float));

  template <std::size_t T>
  static void direct(const std::uint8_t* panel, std::size_t groups, const activations& x, std::size_t token,
                     float* acc) {
    std::memset(acc, 0, sizeof(float) * T * panel_rows);
    alignas(64) std::uint8_t scratch[scratch_bytes];
    for (std::size_t g = 0; g < groups; ++g) {
      unpack(panel, g, g + 1, scratch);
      multiply<T>(scratch, g, g + 1, x, token, acc);
    }
  }

  static void unpack(const std::uint8_t* panel, std::size_t first, std::size_t last, std::uint8_t* scratch) {
    for (std::size_t g = first; g < last; ++g, scratch += scratch_bytes) {
      const std::uint8_t* group = panel + g * layout::group_bytes;
      auto* bytes = reinterpret_cast<std::int8_t*>(scratch);
      float* scales = reinterpret_cast<float*>(scratch + panel_rows * group_size);
      for (std::size_t row = 0; row < panel_rows; ++row) {
        for (std::size_t k = 0; k < group_size; ++k) bytes[row * group_size + k] = quantum(group, row, k);
        scales[row] = half_to_float(detail::row_halves::get(group + layout::scales_at, row));
        scales[panel_rows + row] = minimum(group, row, scales[row]);
      }
    }
  }

  template <std::size_t T>
  static void multiply(const std::uint8_t* scratch, std::size_t first, std::size_t last, const activations& x,
                       std::size_t token, float* acc) {
    static_assert(T == 1);
    for (std::size_t g = first; g < last; ++g, scratch += scratch_bytes) {
      const auto* bytes = reinterpret_cast<const std::int8_t*>(scratch);
      const float* scales = reinterpret_cast<const float*>(scratch + panel_rows * group_size);
      const std::int8_t* quanta = x.quanta.data() + token * x.stride + g * group_size;
      const std::int8_t* residuals = x.residuals.data() + token * x.stride + g * group_size;
      const std::size_t at = token * x.groups() + g;
      const bool refined = x.refined[at] != 0;
      const float x_scale = refined ? x.scales[at] * 0x1p-7f : x.scales[at];
      for (std::size_t row = 0; row < panel_rows; ++row) {
        const std::int8_t* weights = bytes + row * group_size;
        const std::int32_t dot =
            refined ? 128 * dot_of(weights, quanta) + dot_of(weights, residuals) : dot_of(weights, quanta);
        acc[row] += static_cast<float>(dot) * (scales[row] * x_scale);
        acc[row] += scales[panel_rows + row] * x.sums[at];
      }
    }
  }

 private:
  static std::int32_t dot_of(const std::int8_t* weights, const std::int8_t* values) {
    std::int32_t dot = 0;
    for (std::size_t k = 0; k < group_size; ++k) dot += weights[k] * values[k];
    return dot;
  }
  static std::int8_t quantum(const std::uint8_t* group, std::size_t row, std::size_t k) {
    if constexpr (is_8_bit) {
      return static_cast<std::int8_t>(group[layout::word_at(row, k / 4) + k % 4] ^ layout::bias);
    } else {
      const std::uint8_t pair = group[layout::word_at(row, k % 16 / 4) + k % 4];
      return static_cast<std::int8_t>(k < 16 ? pair & 15 : pair >> 4);
    }
  }
  static float minimum(const std::uint8_t* group, std::size_t row, float scale) {
    if constexpr (is_8_bit) {
      return 0.0f;
    } else if constexpr (layout::has_minimum) {
      return half_to_float(detail::row_halves::get(group + layout::minima_at, row));
    } else {
      return scale * -8.0f;
    }
  }
};

}  // namespace tenon::host
