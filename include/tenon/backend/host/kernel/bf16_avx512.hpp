// Products in bf16 on AVX-512: vdpbf16ps multiplies pairs of bf16 values and adds both products to an fp32
// sum, sixteen rows at once. Weights are decoded to fp32 and rounded to bf16 on the way into a scratch of [k
// / 2][32 rows] pairs.
#pragma once

#include "tenon/backend/host/isa.hpp"

#if defined(TENON_HOST_AVX512_BF16)

#include <immintrin.h>

#include <bit>
#include <cstring>

#include "tenon/backend/host/kernel/float.hpp"

namespace tenon::host {

template <class Format>
struct product_kernel<isa::avx512_bf16, Format, as_bf16> {
  using layout = panel_layout<isa::avx512_bf16, Format>;
  using v = simd<isa::avx512_bf16>;
  static constexpr std::size_t tiles = panel_rows / v::lanes;
  static constexpr std::size_t direct_tokens = 2;
  static constexpr std::size_t block_tokens = 6;
  static constexpr std::size_t scratch_bytes = panel_rows * group_size * sizeof(std::uint16_t);

  template <std::size_t T>
  static void direct(const std::uint8_t* panel, std::size_t groups, const activations& x, std::size_t token,
                     float* acc) {
    std::memset(acc, 0, sizeof(float) * T * panel_rows);
    alignas(64) std::uint8_t pairs[scratch_bytes];
    for (std::size_t g = 0; g < groups; ++g) {
      unpack(panel, g, g + 1, pairs);
      multiply<T>(pairs, g, g + 1, x, token, acc);
    }
  }

  static void unpack(const std::uint8_t* panel, std::size_t first, std::size_t last, std::uint8_t* scratch) {
    alignas(64) float decoded[panel_rows * group_size];
    for (std::size_t g = first; g < last; ++g, scratch += scratch_bytes) {
      group_decoder<isa::avx512_bf16, Format>::decode(panel + g * layout::group_bytes, decoded);
      for (int k = 0; k < group_size; k += 2) {
        for (int i = 0; i < panel_rows; i += v::lanes) {
          const __m512i even = v::shift_right<16>(rounded(v::load(decoded + k * panel_rows + i)));
          const __m512i odd = rounded(v::load(decoded + (k + 1) * panel_rows + i));
          const __m512i upper = _mm512_and_si512(odd, _mm512_set1_epi32(static_cast<int>(0xffff0000u)));
          _mm512_storeu_si512(scratch + (k / 2 * panel_rows + i) * 4, _mm512_or_si512(even, upper));
        }
      }
    }
  }

  template <std::size_t T>
  [[gnu::flatten]] static void multiply(const std::uint8_t* scratch, std::size_t first, std::size_t last,
                                        const activations& x, std::size_t token, float* acc) {
    __m512 sum[T][tiles];
    unrolled<T>([&](auto t) {
      unrolled<tiles>([&](auto i) { sum[t][i] = v::load(acc + t * panel_rows + i * v::lanes); });
    });
    const std::uint16_t* halves = x.halves.data() + token * x.stride + first * group_size;
    const std::size_t count = (last - first) * group_size;
    for (std::size_t k = 0; k < count; k += 2, scratch += panel_rows * 4) {
      __m512bh weights[tiles];
      unrolled<tiles>([&](auto i) {
        weights[i] = std::bit_cast<__m512bh>(_mm512_loadu_si512(scratch + i * v::lanes * 4));
      });
      unrolled<T>([&](auto t) {
        std::int32_t pair;
        std::memcpy(&pair, halves + t * x.stride + k, 4);
        const auto both = std::bit_cast<__m512bh>(_mm512_set1_epi32(pair));
        unrolled<tiles>([&](auto i) { sum[t][i] = _mm512_dpbf16_ps(sum[t][i], weights[i], both); });
      });
    }
    unrolled<T>([&](auto t) {
      unrolled<tiles>([&](auto i) { v::store(acc + t * panel_rows + i * v::lanes, sum[t][i]); });
    });
  }

 private:
  /// The bits of the bf16 nearest to each value, ties to even, in the upper halves; NaN stays NaN.
  static __m512i rounded(__m512 x) {
    const __m512i bits = _mm512_castps_si512(x);
    const __m512i tie = _mm512_and_si512(v::shift_right<16>(bits), _mm512_set1_epi32(1));
    const __m512i nearest = _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff)), tie);
    const __m512i quiet = _mm512_or_si512(bits, _mm512_set1_epi32(0x00400000));
    return _mm512_mask_mov_epi32(nearest, _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q), quiet);
  }
};

}  // namespace tenon::host

#endif
