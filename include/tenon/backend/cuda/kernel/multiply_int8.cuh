// The step of a product of block formats with int8 activations on tensor cores. A group's dot products are exact whole
// numbers; what is rounded is the sum over groups.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tenon/backend/cuda/activations.hpp"
#include "tenon/backend/cuda/async_copy.cuh"
#include "tenon/backend/cuda/fragment.cuh"
#include "tenon/backend/cuda/mma.cuh"

namespace tenon::cuda {

/// Activations in int8 with a second term, see activation_view::quanta.
struct as_int8 {};

/// 16 rows times 8 tokens: see multiplier_of in matmul.cuh for what a multiplier has.
template <class Format>
struct int8_multiplier {
  using layout = weight_layout<Format>;
  static_assert(!layout::is_scalar);
  using sums = float[4];

  struct left {
    std::uint32_t bytes[4];
    block_scale block[2];
  };
  struct right {
    std::uint32_t quanta[2];
    std::uint32_t residuals[2];
    bool refined;  // any of the eight tokens is
    float scales[2];
    float sums[2];
  };

  static __device__ __forceinline__ left expand(const std::uint32_t* upper, const std::uint32_t* lower,
                                                const step_scales<Format> (&scales)[2], int group) {
    left made{{0, 0, 0, 0}, {scales[0].of(group), scales[1].of(group)}};
    if constexpr (layout::value_bits == 4) {
      made.bytes[0] = upper[0] & 0x0f0f0f0fu, made.bytes[2] = upper[0] >> 4 & 0x0f0f0f0fu;
      made.bytes[1] = lower[0] & 0x0f0f0f0fu, made.bytes[3] = lower[0] >> 4 & 0x0f0f0f0fu;
      if constexpr (!layout::has_minimum) {  // a quantum less 8 is a quantum above a minimum
        made.block[0].minimum = -8.0f * made.block[0].scale;
        made.block[1].minimum = -8.0f * made.block[1].scale;
      }
    } else {
      made.bytes[0] = upper[0], made.bytes[2] = upper[1];
      made.bytes[1] = lower[0], made.bytes[3] = lower[1];
    }
    return made;
  }

  /// A token that is not refined has residuals of zero: the same number comes out whether its neighbours are or not.
  static __device__ __forceinline__ void accumulate(const left& a, const right& b, sums& to) {
    int dot[4] = {0, 0, 0, 0};
    mma_int8(dot, a.bytes, b.quanta);
    float unit = 1.0f;
    if (b.refined) {
      unit = 0x1p-7f;
#pragma unroll
      for (int& d : dot) d *= 128;
      mma_int8(dot, a.bytes, b.residuals);
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float step = a.block[i / 2].scale * unit;
      to[i] = __fmaf_rn(static_cast<float>(dot[i]), step * b.scales[i % 2], to[i]);
      if constexpr (layout::value_bits == 4) to[i] = __fmaf_rn(a.block[i / 2].minimum, b.sums[i % 2], to[i]);
    }
  }

  static __device__ __forceinline__ void to_fragment(const sums& from, float (&d)[4]) {
#pragma unroll
    for (int i = 0; i < 4; ++i) d[i] = from[i];
  }

  /// The right side of a step for tokens [token, token + 8), read from memory.
  struct step_right {
    const std::int8_t* quanta;  // this lane's, of its token; null where there is no such token
    const std::int8_t* residuals;
    std::uint32_t refined;
    float4 scales[2];
    float4 sums[2];

    __device__ __forceinline__ step_right(const activation_view& x, int token, int tokens, int step) {
      const int lane = static_cast<int>(threadIdx.x) % warp_lanes;
      const int mine = token + lane / 4;
      const auto steps = static_cast<std::size_t>(x.stride / step_columns);
      const std::size_t at = static_cast<std::size_t>(mine) * static_cast<std::size_t>(x.stride) +
                             static_cast<std::size_t>(step * step_columns + lane % 4 * 8);
      quanta = mine < tokens ? x.quanta + at : nullptr;
      residuals = mine < tokens ? x.residuals + at : nullptr;
      const std::uint32_t flags =
          mine < tokens
              ? reinterpret_cast<const std::uint32_t*>(
                    x.refined)[static_cast<std::size_t>(mine) * steps + static_cast<std::size_t>(step)]
              : 0;
      refined = __reduce_or_sync(all_lanes, flags);
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        const int column = token + lane % 4 * 2 + c;
        const std::size_t of = static_cast<std::size_t>(column) * steps + static_cast<std::size_t>(step);
        const bool there = column < tokens;
        scales[c] = there ? reinterpret_cast<const float4*>(x.scales)[of] : make_float4(0, 0, 0, 0);
        if constexpr (layout::value_bits == 4)
          sums[c] = there ? reinterpret_cast<const float4*>(x.sums)[of] : make_float4(0, 0, 0, 0);
      }
    }
    __device__ __forceinline__ right group(int g) const {
      right made{{0, 0}, {0, 0}, (refined >> (8 * g) & 255u) != 0, {}, {}};
      if (quanta != nullptr) {
        const uint2 eight = *reinterpret_cast<const uint2*>(quanta + g * group_size);
        made.quanta[0] = eight.x, made.quanta[1] = eight.y;
        if (made.refined) {
          const uint2 more = *reinterpret_cast<const uint2*>(residuals + g * group_size);
          made.residuals[0] = more.x, made.residuals[1] = more.y;
        }
      }
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        made.scales[c] = g == 0 ? scales[c].x : g == 1 ? scales[c].y : g == 2 ? scales[c].z : scales[c].w;
        if constexpr (layout::value_bits == 4)
          made.sums[c] = g == 0 ? sums[c].x : g == 1 ? sums[c].y : g == 2 ? sums[c].z : sums[c].w;
      }
      return made;
    }
  };

  /// The same for `Tokens` tokens in shared memory, where copies arrive asynchronously.
  template <int Tokens>
  struct shared_step {
    uint2 quanta[step_groups][Tokens][4];
    uint2 residuals[step_groups][Tokens][4];
    float4 scales[Tokens];
    float4 sums[layout::value_bits == 4 ? Tokens : 1];
    std::uint32_t flags[Tokens];

    template <int Threads>
    __device__ __forceinline__ void copy(const activation_view& x, int token, int tokens, int step) {
      constexpr int each = step_groups * 2;  // copies of 16 bytes for one token
#pragma unroll
      for (int at = static_cast<int>(threadIdx.x); at < Tokens * each; at += Threads) {
        const int t = at / each, part = at % each;
        const std::size_t from =
            static_cast<std::size_t>(min(token + t, tokens - 1)) * static_cast<std::size_t>(x.stride) +
            static_cast<std::size_t>(step * step_columns + part * 16);
        copy_async<16>(&quanta[part / 2][t][part % 2 * 2], x.quanta + from, token + t < tokens);
        copy_async<16>(&residuals[part / 2][t][part % 2 * 2], x.residuals + from, token + t < tokens);
      }
      for (int t = static_cast<int>(threadIdx.x); t < Tokens; t += Threads) {
        const std::size_t from = static_cast<std::size_t>(min(token + t, tokens - 1)) *
                                     static_cast<std::size_t>(x.stride / group_size) +
                                 static_cast<std::size_t>(step * step_groups);
        copy_async<16>(&scales[t], x.scales + from, token + t < tokens);
        if constexpr (layout::value_bits == 4) copy_async<16>(&sums[t], x.sums + from, token + t < tokens);
        copy_async<4>(&flags[t], x.refined + from, token + t < tokens);
      }
    }
    /// Which groups of the step are refined for any of eight tokens: bit token / 2 + group.
    __device__ __forceinline__ std::uint32_t refined() const {
      static_assert(Tokens <= 64);
      std::uint32_t bits = 0;
#pragma unroll
      for (int t = 0; t < Tokens; t += 8) {
        const std::uint32_t bytes = __reduce_or_sync(all_lanes, flags[t + static_cast<int>(threadIdx.x) % 8]);
        bits |= (bytes * 0x10204080u >> 28) << (t / 2);  // each byte is 0 or 1
      }
      return bits;
    }
    __device__ __forceinline__ right group(int token, int g, std::uint32_t refined) const {
      const int lane = static_cast<int>(threadIdx.x) % warp_lanes;
      right made{{}, {}, (refined >> (token / 2 + g) & 1u) != 0, {}, {}};
      const uint2 eight = quanta[g][token + lane / 4][lane % 4];
      made.quanta[0] = eight.x, made.quanta[1] = eight.y;
      if (made.refined) {
        const uint2 more = residuals[g][token + lane / 4][lane % 4];
        made.residuals[0] = more.x, made.residuals[1] = more.y;
      }
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        made.scales[c] = reinterpret_cast<const float*>(&scales[token + lane % 4 * 2 + c])[g];
        if constexpr (layout::value_bits == 4)
          made.sums[c] = reinterpret_cast<const float*>(&sums[token + lane % 4 * 2 + c])[g];
      }
      return made;
    }
  };
};

}  // namespace tenon::cuda
