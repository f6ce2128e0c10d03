// The step of a product in plain fp32: what other forms are compared with, and what weights in a scalar format take whose
// numbers the tensor cores cannot multiply exactly with the activations'. Weights are decoded as the format says.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tenon/backend/cuda/activations.hpp"
#include "tenon/backend/cuda/fragment.cuh"

namespace tenon::cuda {

/// Activations in fp32, see activation_view::values.
struct as_float {};

namespace detail {

/// Eight neighbours of a row of activations in fp32.
struct read_values {
  static __device__ __forceinline__ void eight(const activation_view& x, std::size_t at, float (&to)[8]) {
    const float4 a = *reinterpret_cast<const float4*>(x.values + at);
    const float4 b = *reinterpret_cast<const float4*>(x.values + at + 4);
    to[0] = a.x, to[1] = a.y, to[2] = a.z, to[3] = a.w, to[4] = b.x, to[5] = b.y, to[6] = b.z, to[7] = b.w;
  }
};

template <class Half>
struct read_halves {
  static __device__ __forceinline__ void eight(const activation_view& x, std::size_t at, float (&to)[8]) {
    const uint4 four = *reinterpret_cast<const uint4*>(x.halves + at);
    const std::uint32_t pairs[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
    for (int i = 0; i < 8; ++i) to[i] = word_value<Half>(pairs[i / 2], i % 2, {1.0f, 0.0f});
  }
};

}  // namespace detail

/// 16 rows times 8 tokens: see multiplier_of in matmul.cuh for what a multiplier has. A lane multiplies its eight values of a group
/// in two rows; the four lanes of a row are added at the end.
template <class Format, class Read>
struct float_multiplier {
  using layout = weight_layout<Format>;
  using sums = float[16];  // [8 tokens][2 rows]

  struct left {
    float values[2][8];
  };
  struct right {
    const activation_view& x;
    std::size_t at;  // of the first token
    int tokens;      // of the eight
  };

  static __device__ __forceinline__ left expand(const std::uint32_t* upper, const std::uint32_t* lower,
                                                const step_scales<Format> (&scales)[2], int group) {
    left made;
    const block_scale block[2] = {scales[0].of(group), scales[1].of(group)};
#pragma unroll
    for (int word = 0; word < layout::group_words; ++word) {
#pragma unroll
      for (int i = 0; i < layout::word_values; ++i) {
        const int k = layout::fragment_k(0, word, i);
        made.values[0][k] = word_value<Format>(upper[word], i, block[0]);
        made.values[1][k] = word_value<Format>(lower[word], i, block[1]);
      }
    }
    return made;
  }

  static __device__ __forceinline__ void accumulate(const left& a, const right& b, sums& to) {
#pragma unroll
    for (int t = 0; t < 8; ++t) {
      if (t >= b.tokens) break;
      float x[8];
      Read::eight(b.x, b.at + static_cast<std::size_t>(t) * static_cast<std::size_t>(b.x.stride), x);
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        to[2 * t] = __fmaf_rn(a.values[0][i], x[i], to[2 * t]);
        to[2 * t + 1] = __fmaf_rn(a.values[1][i], x[i], to[2 * t + 1]);
      }
    }
  }

  static __device__ __forceinline__ void to_fragment(const sums& from, float (&d)[4]) {
    const int pair = static_cast<int>(threadIdx.x) % 4;
#pragma unroll
    for (int t = 0; t < 8; ++t) {
      const float upper = sum_over_lanes<4>(from[2 * t]), lower = sum_over_lanes<4>(from[2 * t + 1]);
      if (pair == t / 2) d[t % 2] = upper, d[2 + t % 2] = lower;
    }
  }

  struct step_right {
    const activation_view& x;
    std::size_t at;
    int tokens;

    __device__ __forceinline__ step_right(const activation_view& from, int token, int all, int step)
        : x(from),
          at(static_cast<std::size_t>(token) * static_cast<std::size_t>(from.stride) +
             static_cast<std::size_t>(step * step_columns + static_cast<int>(threadIdx.x) % 4 * 8)),
          tokens(all - token) {}
    __device__ __forceinline__ right group(int g) const {
      return {x, at + static_cast<std::size_t>(g * group_size), tokens};
    }
  };
};

}  // namespace tenon::cuda
