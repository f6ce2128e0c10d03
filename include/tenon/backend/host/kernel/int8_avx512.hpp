// Integer dot products on AVX-512 VNNI: vpdpbusd multiplies unsigned by signed bytes and adds four neighbours
// into 32 bits, sixteen rows at once.
#pragma once

#include "tenon/backend/host/isa.hpp"

#if defined(TENON_HOST_AVX512)

#include <immintrin.h>

#include <cstring>

#include "tenon/backend/host/kernel/product.hpp"

namespace tenon::host {

namespace detail {

[[gnu::always_inline]] inline __m512i avx512_word(const std::int8_t* group, std::size_t j) {
  std::int32_t word;
  std::memcpy(&word, group + 4 * j, 4);
  return _mm512_set1_epi32(word);
}

/// Weights unpacked to bytes, 4-bit ones whatever their format. A group's scratch is for each tile eight vectors
/// (values 4j to 4j + 3 of each row), then 32 scales, 32 minima. Eight-bit weights are stored with 128 added, so 128
/// times the sum of x comes off their sums. The loops are flattened: a lambda that is not inlined would keep the sums
/// in memory.
template <bool Is8Bit>
struct avx512_unpacked {
  using v = simd<isa::avx512>;
  static constexpr bool is_8_bit = Is8Bit;
  static constexpr std::size_t tiles = panel_rows / v::lanes;
  static constexpr std::size_t block_tokens = 6;
  static constexpr std::size_t scratch_bytes = panel_rows * (group_size + 2 * sizeof(float));

  template <std::size_t T>
  [[gnu::flatten]] static void multiply(const std::uint8_t* scratch, std::size_t first, std::size_t last,
                                        const activations& x, std::size_t token, float* acc) {
    __m512 sum[T][tiles];
    unrolled<T>([&](auto t) {
      unrolled<tiles>([&](auto i) { sum[t][i] = v::load(acc + t * panel_rows + i * v::lanes); });
    });
    for (std::size_t g = first; g < last; ++g, scratch += scratch_bytes) {
      const auto add_products = [&](const buffer<std::int8_t>& values, __m512i(&dot)[T][tiles]) {
        unrolled<8>([&](auto j) {
          __m512i weights[tiles];
          unrolled<tiles>(
              [&](auto i) { weights[i] = _mm512_loadu_si512(scratch + i * v::lanes * group_size + j * 64); });
          unrolled<T>([&](auto t) {
            const std::int8_t* group = values.data() + (token + t) * x.stride + g * group_size;
            const __m512i four = avx512_word(group, j);
            unrolled<tiles>([&](auto i) { dot[t][i] = _mm512_dpbusd_epi32(dot[t][i], weights[i], four); });
          });
        });
      };
      __m512i dot[T][tiles];
      const float unit = take_terms(x, token, g, dot, add_products);
      const float* factors = reinterpret_cast<const float*>(scratch + panel_rows * group_size);
      unrolled<tiles>([&](auto i) {
        const __m512 step = v::mul(v::load(factors + i * v::lanes), v::set1(unit)),
                     minimum = v::load(factors + panel_rows + i * v::lanes);
        unrolled<T>(
            [&](auto t) { sum[t][i] = accumulate(dot[t][i], step, minimum, x, token + t, g, sum[t][i]); });
      });
    }
    unrolled<T>([&](auto t) {
      unrolled<tiles>([&](auto i) { v::store(acc + t * panel_rows + i * v::lanes, sum[t][i]); });
    });
  }

 protected:
  /// The dot products of a group with one term or, where a token's group is refined, two; returns the unit in
  /// which they are: the scale, or scale / 128.
  template <std::size_t T, class AddProducts>
  [[gnu::always_inline]] static float take_terms(const activations& x, std::size_t token, std::size_t group,
                                                 __m512i (&dot)[T][tiles], const AddProducts& add_products) {
    unrolled<T>([&](auto t) { unrolled<tiles>([&](auto i) { dot[t][i] = _mm512_setzero_si512(); }); });
    add_products(x.quanta, dot);
    const bool refined = x.any_refined<T>(token, group);
    if (refined) {
      unrolled<T>([&](auto t) { unrolled<tiles>([&](auto i) { dot[t][i] = v::shift_left<7>(dot[t][i]); }); });
      add_products(x.residuals, dot);
    }
    if constexpr (is_8_bit) {
      unrolled<T>([&](auto t) {
        const std::int32_t total = x.totals[(token + t) * x.groups() + group];
        const __m512i bias = _mm512_set1_epi32(refined ? 128 * total : total);
        unrolled<tiles>([&](auto i) { dot[t][i] = _mm512_sub_epi32(dot[t][i], bias); });
      });
    }
    return refined ? 0x1p-7f : 1.0f;
  }
  [[gnu::always_inline]] static __m512 accumulate(__m512i dot, __m512 scale, __m512 minimum,
                                                  const activations& x, std::size_t token, std::size_t group,
                                                  __m512 sum) {
    const std::size_t at = token * x.groups() + group;
    sum = v::fma(v::to_float(dot), v::mul(scale, v::set1(x.scales[at])), sum);
    if constexpr (is_8_bit) {
      return sum;
    } else {
      return v::fma(minimum, v::set1(x.sums[at]), sum);
    }
  }
};

}  // namespace detail

/// 4-bit and 8-bit weights.
template <class Format>
struct product_kernel<isa::avx512, Format, as_int8>
    : detail::avx512_unpacked<Format::gguf_type == q8_0::gguf_type> {
  using base = detail::avx512_unpacked<Format::gguf_type == q8_0::gguf_type>;
  using layout = panel_layout<isa::avx512, Format>;
  using v = simd<isa::avx512>;
  using base::is_8_bit, base::tiles, base::scratch_bytes;
  static constexpr std::size_t direct_tokens = 4;

  template <std::size_t T>
  [[gnu::flatten]] static void direct(const std::uint8_t* panel, std::size_t groups, const activations& x,
                                      std::size_t token, float* acc) {
    __m512 sum[T][tiles];
    unrolled<T>([&](auto t) { unrolled<tiles>([&](auto i) { sum[t][i] = _mm512_setzero_ps(); }); });
    for (std::size_t g = 0; g < groups; ++g, panel += layout::group_bytes) {
      for (std::size_t line = 0; line < layout::group_bytes; line += 64) {
        _mm_prefetch(reinterpret_cast<const char*>(panel + 4096 + line), _MM_HINT_T0);
      }
      const auto add_products = [&](const buffer<std::int8_t>& values, __m512i(&dot)[T][tiles]) {
        unrolled<is_8_bit ? 8 : 4>([&](auto j) {
          __m512i first[tiles], second[tiles];  // values 4j to 4j + 3, and in 4 bits those 16 later
          unrolled<tiles>([&](auto i) {
            first[i] = _mm512_loadu_si512(panel + layout::word_at(i * v::lanes, j));
            if constexpr (!is_8_bit) {
              second[i] = _mm512_and_si512(_mm512_srli_epi16(first[i], 4), _mm512_set1_epi8(15));
              first[i] = _mm512_and_si512(first[i], _mm512_set1_epi8(15));
            }
          });
          unrolled<T>([&](auto t) {
            const std::int8_t* group = values.data() + (token + t) * x.stride + g * group_size;
            const __m512i four = detail::avx512_word(group, j);
            unrolled<tiles>([&](auto i) { dot[t][i] = _mm512_dpbusd_epi32(dot[t][i], first[i], four); });
            if constexpr (!is_8_bit) {
              const __m512i later = detail::avx512_word(group, j + 4);
              unrolled<tiles>([&](auto i) { dot[t][i] = _mm512_dpbusd_epi32(dot[t][i], second[i], later); });
            }
          });
        });
      };
      __m512i dot[T][tiles];
      const float unit = base::take_terms(x, token, g, dot, add_products);
      unrolled<tiles>([&](auto i) {
        const __m512 scale = scale_of(panel, i), minimum = minimum_of(panel, i, scale);
        const __m512 step = v::mul(scale, v::set1(unit));
        unrolled<T>([&](auto t) {
          sum[t][i] = base::accumulate(dot[t][i], step, minimum, x, token + t, g, sum[t][i]);
        });
      });
    }
    unrolled<T>([&](auto t) {
      unrolled<tiles>([&](auto i) { v::store(acc + t * panel_rows + i * v::lanes, sum[t][i]); });
    });
  }

  static void unpack(const std::uint8_t* panel, std::size_t first, std::size_t last, std::uint8_t* scratch) {
    for (std::size_t g = first; g < last; ++g, scratch += scratch_bytes) {
      const std::uint8_t* group = panel + g * layout::group_bytes;
      float* scales = reinterpret_cast<float*>(scratch + panel_rows * group_size);
      if constexpr (is_8_bit) std::memcpy(scratch, group, panel_rows * group_size);
      for (std::size_t tile = 0; tile < tiles; ++tile) {
        if constexpr (!is_8_bit) {
          std::uint8_t* words = scratch + tile * v::lanes * group_size;
          for (std::size_t j = 0; j < 4; ++j) {
            const __m512i both = _mm512_loadu_si512(group + layout::word_at(tile * v::lanes, j));
            _mm512_storeu_si512(words + j * 64, _mm512_and_si512(both, _mm512_set1_epi8(15)));
            _mm512_storeu_si512(words + (j + 4) * 64,
                                _mm512_and_si512(_mm512_srli_epi16(both, 4), _mm512_set1_epi8(15)));
          }
        }
        const __m512 scale = scale_of(group, tile);
        v::store(scales + tile * v::lanes, scale);
        v::store(scales + panel_rows + tile * v::lanes, minimum_of(group, tile, scale));
      }
    }
  }

 private:
  [[gnu::always_inline]] static __m512 scale_of(const std::uint8_t* group, std::size_t tile) {
    return v::load_half(reinterpret_cast<const std::uint16_t*>(group + layout::scales_at) + tile * v::lanes);
  }
  [[gnu::always_inline]] static __m512 minimum_of(const std::uint8_t* group, std::size_t tile, __m512 scale) {
    if constexpr (is_8_bit) {
      return v::zero();
    } else if constexpr (layout::has_minimum) {
      return v::load_half(reinterpret_cast<const std::uint16_t*>(group + layout::minima_at) +
                          tile * v::lanes);
    } else {
      return v::mul(scale, v::set1(-8.0f));
    }
  }
};

template <class Format>
struct product_kernel<isa::avx512_bf16, Format, as_int8> : product_kernel<isa::avx512, Format, as_int8> {};

}  // namespace tenon::host

#endif
