// The step of a product on tensor cores with activations of 16 bits. Quanta of block formats are whole numbers that both
// 16-bit formats hold exactly, so that a group's products are exact, and its scale multiplies their fp32 sum.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tenon/backend/cuda/activations.hpp"
#include "tenon/backend/cuda/async_copy.cuh"
#include "tenon/backend/cuda/byte_pairs.cuh"
#include "tenon/backend/cuda/fragment.cuh"
#include "tenon/backend/cuda/mma.cuh"

namespace tenon::cuda {

/// Activations in `Half` (bf16 or f16), see activation_view::halves.
template <scalar_format Half>
struct as_half {};

namespace detail {

/// A lane's eight quanta of a group, in pairs: nibbles less 8 for Q4_0, nibbles for Q4_1, signed bytes for Q8_0.
template <class Format, class Half>
__device__ __forceinline__ void quantum_pairs(const std::uint32_t* words, std::uint32_t (&pairs)[4]) {
  using layout = weight_layout<Format>;
  constexpr bool to_f16 = Half::gguf_type == f16::gguf_type;
  if constexpr (layout::value_bits == 4) {
    constexpr std::uint32_t offset = layout::has_minimum ? 0 : 8;
    constexpr std::uint32_t too_much = ((to_f16 ? 0x6400u : 0x4300u) + offset) * 0x10001u;
    const std::uint32_t low = words[0] & 0x0f0f0f0fu, high = words[0] >> 4 & 0x0f0f0f0fu;
    pairs[0] = pair_of_bytes<Half, 0, 1>(low, too_much), pairs[1] = pair_of_bytes<Half, 2, 3>(low, too_much);
    pairs[2] = pair_of_bytes<Half, 0, 1>(high, too_much),
    pairs[3] = pair_of_bytes<Half, 2, 3>(high, too_much);
  } else if constexpr (to_f16) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      pairs[2 * i] = pair_of_signed<0, 1>(words[i] ^ 0x80808080u);
      pairs[2 * i + 1] = pair_of_signed<2, 3>(words[i] ^ 0x80808080u);
    }
  } else {
    // bf16 has room for seven bits: 128 + the low ones, less 128, or 256 where the sign is set (0x4380)
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const std::uint32_t low = words[i] & 0x7f7f7f7fu, sign = words[i] & 0x80808080u;
      pairs[2 * i] =
          subtract_pairs<Half>(__byte_perm(low, 0x43434343u, 0x4140), __byte_perm(sign, 0x43434343u, 0x4140));
      pairs[2 * i + 1] =
          subtract_pairs<Half>(__byte_perm(low, 0x43434343u, 0x4342), __byte_perm(sign, 0x43434343u, 0x4342));
    }
  }
}

}  // namespace detail

/// 16 rows times 8 tokens: see multiplier_of in matmul.cuh for what a multiplier has.
template <class Format, class Half>
struct half_multiplier {
  using layout = weight_layout<Format>;
  static_assert(!layout::is_scalar || Format::gguf_type == Half::gguf_type);
  using sums = float[4];

  struct left {
    std::uint32_t pairs[2][4];  // of both tiles of rows
    block_scale block[2];
  };
  struct right {
    std::uint32_t pairs[4];
    float sums[2];
  };

  /// Of group `group` of a step, whose first word is words[0].
  static __device__ __forceinline__ left expand(const std::uint32_t* upper, const std::uint32_t* lower,
                                                const step_scales<Format> (&scales)[2], int group) {
    left made;
    if constexpr (layout::is_scalar) {
#pragma unroll
      for (int i = 0; i < 4; ++i) made.pairs[0][i] = upper[i], made.pairs[1][i] = lower[i];
    } else {
      detail::quantum_pairs<Format, Half>(upper, made.pairs[0]);
      detail::quantum_pairs<Format, Half>(lower, made.pairs[1]);
    }
    made.block[0] = scales[0].of(group), made.block[1] = scales[1].of(group);
    return made;
  }

  static __device__ __forceinline__ void accumulate(const left& a, const right& b, sums& to) {
    float dot[4] = {0, 0, 0, 0};
    float(&d)[4] = layout::is_scalar ? to : dot;
    mma_half<Half>(d, a.pairs[0][0], a.pairs[1][0], a.pairs[0][1], a.pairs[1][1], b.pairs[0], b.pairs[1]);
    mma_half<Half>(d, a.pairs[0][2], a.pairs[1][2], a.pairs[0][3], a.pairs[1][3], b.pairs[2], b.pairs[3]);
    if constexpr (!layout::is_scalar) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        to[i] = __fmaf_rn(a.block[i / 2].scale, dot[i], to[i]);
        if constexpr (layout::has_minimum) to[i] = __fmaf_rn(a.block[i / 2].minimum, b.sums[i % 2], to[i]);
      }
    }
  }

  static __device__ __forceinline__ void to_fragment(const sums& from, float (&d)[4]) {
#pragma unroll
    for (int i = 0; i < 4; ++i) d[i] = from[i];
  }

  /// The right side of a step for tokens [token, token + 8), read from memory.
  struct step_right {
    right of[step_groups];

    __device__ __forceinline__ step_right(const activation_view& x, int token, int tokens, int step) {
      const int lane = static_cast<int>(threadIdx.x) % warp_lanes;
      const int mine = token + lane / 4;
      const std::uint16_t* from = x.halves +
                                  static_cast<std::size_t>(mine) * static_cast<std::size_t>(x.stride) +
                                  step * step_columns + lane % 4 * 8;
#pragma unroll
      for (int g = 0; g < step_groups; ++g) {
        const uint4 four =
            mine < tokens ? *reinterpret_cast<const uint4*>(from + g * group_size) : make_uint4(0, 0, 0, 0);
        of[g].pairs[0] = four.x, of[g].pairs[1] = four.y, of[g].pairs[2] = four.z, of[g].pairs[3] = four.w;
      }
      if constexpr (layout::has_minimum) {
#pragma unroll
        for (int c = 0; c < 2; ++c) {
          const int column = token + lane % 4 * 2 + c;
          const float4 four = column < tokens
                                  ? reinterpret_cast<const float4*>(
                                        x.half_sums)[static_cast<std::size_t>(column) *
                                                         static_cast<std::size_t>(x.stride / step_columns) +
                                                     static_cast<std::size_t>(step)]
                                  : make_float4(0, 0, 0, 0);
          of[0].sums[c] = four.x, of[1].sums[c] = four.y, of[2].sums[c] = four.z, of[3].sums[c] = four.w;
        }
      }
    }
    __device__ __forceinline__ right group(int g) const { return of[g]; }
  };

  /// The same for `Tokens` tokens in shared memory, where copies arrive asynchronously.
  template <int Tokens>
  struct shared_step {
    uint4 pairs[step_groups][Tokens][4];
    float4 sums[layout::has_minimum ? Tokens : 1];

    template <int Threads>
    __device__ __forceinline__ void copy(const activation_view& x, int token, int tokens, int step) {
      constexpr int each = step_groups * 4;  // copies of 16 bytes for one token
#pragma unroll
      for (int at = static_cast<int>(threadIdx.x); at < Tokens * each; at += Threads) {
        const int t = at / each, part = at % each;
        const std::uint16_t* from =
            x.halves +
            static_cast<std::size_t>(min(token + t, tokens - 1)) * static_cast<std::size_t>(x.stride) +
            step * step_columns + part * 8;
        copy_async<16>(&pairs[part / 4][t][part % 4], from, token + t < tokens);
      }
      if constexpr (layout::has_minimum) {
        for (int t = static_cast<int>(threadIdx.x); t < Tokens; t += Threads)
          copy_async<16>(&sums[t],
                         x.half_sums +
                             static_cast<std::size_t>(min(token + t, tokens - 1)) *
                                 static_cast<std::size_t>(x.stride / group_size) +
                             step * step_groups,
                         token + t < tokens);
      }
    }
    __device__ __forceinline__ std::uint32_t refined() const { return 0; }
    __device__ __forceinline__ right group(int token, int g, std::uint32_t) const {
      const int lane = static_cast<int>(threadIdx.x) % warp_lanes;
      const uint4 four = pairs[g][token + lane / 4][lane % 4];
      right made{{four.x, four.y, four.z, four.w}, {0, 0}};
      if constexpr (layout::has_minimum) {
#pragma unroll
        for (int c = 0; c < 2; ++c)
          made.sums[c] = reinterpret_cast<const float*>(&sums[token + lane % 4 * 2 + c])[g];
      }
      return made;
    }
  };
};

}  // namespace tenon::cuda
