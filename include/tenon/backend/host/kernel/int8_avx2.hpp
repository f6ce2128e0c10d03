// Integer dot products on AVX2: vpmaddubsw multiplies unsigned by signed bytes and adds pairs into 16 bits.
#pragma once

#include "tenon/backend/host/isa.hpp"

#if defined(TENON_HOST_AVX2)

#include <immintrin.h>

#include <cstring>

#include "tenon/backend/host/kernel/product.hpp"

namespace tenon::host {

namespace detail {

/// Broadcasts word `j` (four int8 values along k) of a token's group.
[[gnu::always_inline]] inline __m256i avx2_word(const std::int8_t* group, std::size_t j) {
  std::int32_t word;
  std::memcpy(&word, group + 4 * j, 4);
  return _mm256_set1_epi32(word);
}

[[gnu::always_inline]] inline __m256i avx2_load(const std::uint8_t* p) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
}

/// Fixes the moment at which a running sum is formed. Left alone, gcc regroups the integer additions of an
/// unrolled loop, and spills every product to the stack on the way.
[[gnu::always_inline]] inline void avx2_settle(__m256i& sum) { asm("" : "+x"(sum)); }

/// Adds neighbouring 16-bit sums.
[[gnu::always_inline]] inline __m256i avx2_dot(__m256i pairs) {
  return _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
}

/// 128 * dot + rest: the products of both terms of a refined group, in units of scale / 128.
[[gnu::always_inline]] inline __m256i avx2_refine(__m256i dot, __m256i rest) {
  return _mm256_add_epi32(_mm256_slli_epi32(dot, 7), rest);
}

/// sum + dot * scale * x_scale + minimum * x_sum: one group's share of a product.
[[gnu::always_inline]] inline __m256 avx2_accumulate(__m256i dot, __m256 scale, __m256 minimum, float x_scale,
                                                     float x_sum, __m256 sum) {
  sum = _mm256_fmadd_ps(_mm256_cvtepi32_ps(dot), _mm256_mul_ps(scale, _mm256_set1_ps(x_scale)), sum);
  return _mm256_fmadd_ps(minimum, _mm256_set1_ps(x_sum), sum);
}

/// 4-bit weights unpacked to bytes, whatever their format. A group's scratch is [32 x 32] bytes in the order of the
/// layout's words (low halves, then high), 32 scales, 32 minima; its eight products stay in 16 bits:
/// 8 * 2 * 15 * 127 = 30480.
struct avx2_unpacked_nibbles {
  using v = simd<isa::avx2>;
  static constexpr std::size_t tiles = panel_rows / v::lanes;
  static constexpr std::size_t block_tokens = 4;
  static constexpr std::size_t scratch_bytes = panel_rows * (group_size + 2 * sizeof(float));

  template <std::size_t T>
  static void multiply(const std::uint8_t* scratch, std::size_t first, std::size_t last, const activations& x,
                       std::size_t token, float* acc) {
    const float* scales = x.scales.data() + token * x.groups();
    const float* sums = x.sums.data() + token * x.groups();
    constexpr std::size_t together = 2;  // tiles: a broadcast word then serves two products
    for (std::size_t tile = 0; tile < tiles; tile += together) {
      __m256 sum[T][together];
      float* out = acc + tile * v::lanes;
      unrolled<T>([&](auto t) {
        unrolled<together>([&](auto i) { sum[t][i] = v::load(out + t * panel_rows + i * v::lanes); });
      });
      const std::uint8_t* group = scratch;
      for (std::size_t g = first; g < last; ++g, group += scratch_bytes) {
        const std::uint8_t* words = group + tile * v::lanes * group_size;
        const auto dots = [&](const buffer<std::int8_t>& values, __m256i(&dot)[T][together])
            __attribute__((always_inline)) {
          const std::int8_t* rows = values.data() + token * x.stride + g * group_size;
          unrolled<8>([&](auto j) {
            __m256i weights[together];
            unrolled<together>(
                [&](auto i) { weights[i] = avx2_load(words + i * v::lanes * group_size + j * 32); });
            unrolled<T>([&](auto t) {
              const __m256i word = avx2_word(rows + t * x.stride, j);
              unrolled<together>([&](auto i) {
                const __m256i p = _mm256_maddubs_epi16(weights[i], word);
                if constexpr (j == 0) {
                  dot[t][i] = p;
                } else {
                  dot[t][i] = _mm256_add_epi16(dot[t][i], p);
                }
                avx2_settle(dot[t][i]);
              });
            });
          });
          unrolled<T>([&](auto t) { unrolled<together>([&](auto i) { dot[t][i] = avx2_dot(dot[t][i]); }); });
        };
        __m256i dot[T][together];
        dots(x.quanta, dot);
        float unit = 1.0f;
        if (x.any_refined<T>(token, g)) {
          __m256i rest[T][together];
          dots(x.residuals, rest);
          unrolled<T>([&](auto t) {
            unrolled<together>([&](auto i) { dot[t][i] = avx2_refine(dot[t][i], rest[t][i]); });
          });
          unit = 0x1p-7f;
        }
        const float* factors =
            reinterpret_cast<const float*>(group + panel_rows * group_size) + tile * v::lanes;
        unrolled<together>([&](auto i) {
          const __m256 scale = _mm256_mul_ps(v::load(factors + i * v::lanes), _mm256_set1_ps(unit)),
                       minimum = v::load(factors + panel_rows + i * v::lanes);
          unrolled<T>([&](auto t) {
            const std::size_t at = t * x.groups() + g;
            sum[t][i] = avx2_accumulate(dot[t][i], scale, minimum, scales[at], sums[at], sum[t][i]);
          });
        });
      }
      unrolled<T>([&](auto t) {
        unrolled<together>([&](auto i) { v::store(out + t * panel_rows + i * v::lanes, sum[t][i]); });
      });
    }
  }
};

}  // namespace detail

/// 4-bit weights.
template <class Format>
requires(panel_layout<isa::avx2, Format>::scales_at ==
         panel_rows * group_size / 2) struct product_kernel<isa::avx2, Format, as_int8>
    : detail::avx2_unpacked_nibbles {
  using layout = panel_layout<isa::avx2, Format>;
  static constexpr std::size_t direct_tokens = 2;

  template <std::size_t T>
  static void direct(const std::uint8_t* panel, std::size_t groups, const activations& x, std::size_t token,
                     float* acc) {
    __m256 sum[T][tiles];
    unrolled<T>([&](auto t) { unrolled<tiles>([&](auto i) { sum[t][i] = _mm256_setzero_ps(); }); });
    const float* scales = x.scales.data() + token * x.groups();
    const float* sums = x.sums.data() + token * x.groups();
    const __m256i low = _mm256_set1_epi8(15);
    for (std::size_t g = 0; g < groups; ++g, panel += layout::group_bytes) {
      for (std::size_t line = 0; line < layout::group_bytes; line += 64)
        _mm_prefetch(panel + 4096 + line, _MM_HINT_T0);
      const bool refined = x.any_refined<T>(token, g);
      const std::int8_t* quanta = x.quanta.data() + token * x.stride + g * group_size;
      const std::int8_t* residuals = x.residuals.data() + token * x.stride + g * group_size;
      unrolled<tiles>([&](auto tile) {
        const auto dots = [&](const std::int8_t* values, __m256i(&dot)[T]) __attribute__((always_inline)) {
          unrolled<4>([&](auto j) {
            const __m256i both = detail::avx2_load(panel + tile * v::lanes * 16 + j * 32);
            const __m256i first = _mm256_and_si256(both, low);
            const __m256i second = _mm256_and_si256(_mm256_srli_epi16(both, 4), low);
            unrolled<T>([&](auto t) {
              const std::int8_t* group = values + t * x.stride;
              const __m256i a = _mm256_maddubs_epi16(first, detail::avx2_word(group, j));
              const __m256i b = _mm256_maddubs_epi16(second, detail::avx2_word(group, j + 4));
              if constexpr (j == 0) {
                dot[t] = _mm256_add_epi16(a, b);
              } else {
                dot[t] = _mm256_add_epi16(dot[t], _mm256_add_epi16(a, b));
              }
              detail::avx2_settle(dot[t]);
            });
          });
          unrolled<T>([&](auto t) { dot[t] = detail::avx2_dot(dot[t]); });
        };
        __m256i dot[T];
        dots(quanta, dot);
        __m256 scale = scale_of(panel, tile);
        const __m256 minimum = minimum_of(panel, tile, scale);
        if (refined) {
          __m256i rest[T];
          dots(residuals, rest);
          unrolled<T>([&](auto t) { dot[t] = detail::avx2_refine(dot[t], rest[t]); });
          scale = _mm256_mul_ps(scale, _mm256_set1_ps(0x1p-7f));
        }
        unrolled<T>([&](auto t) {
          const std::size_t at = t * x.groups() + g;
          sum[t][tile] = detail::avx2_accumulate(dot[t], scale, minimum, scales[at], sums[at], sum[t][tile]);
        });
      });
    }
    unrolled<T>([&](auto t) {
      unrolled<tiles>([&](auto i) { v::store(acc + t * panel_rows + i * v::lanes, sum[t][i]); });
    });
  }

  static void unpack(const std::uint8_t* panel, std::size_t first, std::size_t last, std::uint8_t* scratch) {
    const __m256i low = _mm256_set1_epi8(15);
    for (std::size_t g = first; g < last; ++g, scratch += scratch_bytes) {
      const std::uint8_t* group = panel + g * layout::group_bytes;
      float* scales = reinterpret_cast<float*>(scratch + panel_rows * group_size);
      for (std::size_t tile = 0; tile < tiles; ++tile) {
        auto* words = reinterpret_cast<__m256i*>(scratch + tile * v::lanes * group_size);
        for (int j = 0; j < 4; ++j) {
          const __m256i both = detail::avx2_load(group + tile * v::lanes * 16 + j * 32);
          _mm256_store_si256(words + j, _mm256_and_si256(both, low));
          _mm256_store_si256(words + j + 4, _mm256_and_si256(_mm256_srli_epi16(both, 4), low));
        }
        const __m256 scale = scale_of(group, tile);
        v::store(scales + tile * v::lanes, scale);
        v::store(scales + panel_rows + tile * v::lanes, minimum_of(group, tile, scale));
      }
    }
  }

 private:
  [[gnu::always_inline]] static __m256 scale_of(const std::uint8_t* group, std::size_t tile) {
    return _mm256_cvtph_ps(
        _mm_loadu_si128(reinterpret_cast<const __m128i*>(group + layout::scales_at + tile * v::lanes * 2)));
  }
  [[gnu::always_inline]] static __m256 minimum_of(const std::uint8_t* group, std::size_t tile, __m256 scale) {
    if constexpr (layout::has_minimum) {
      return _mm256_cvtph_ps(
          _mm_loadu_si128(reinterpret_cast<const __m128i*>(group + layout::minima_at + tile * v::lanes * 2)));
    } else {
      return _mm256_mul_ps(scale, _mm256_set1_ps(-8.0f));
    }
  }
};

/// 8-bit weights. |w| is the unsigned side and x takes w's sign; a pair reaches 2 * 128 * 127 = 32512.
template <>
struct product_kernel<isa::avx2, q8_0, as_int8> {
  using layout = panel_layout<isa::avx2, q8_0>;
  using v = simd<isa::avx2>;
  static constexpr std::size_t tiles = panel_rows / v::lanes;
  static constexpr std::size_t direct_tokens = 2;
  static constexpr std::size_t block_tokens = 4;
  static constexpr std::size_t scratch_bytes = layout::group_bytes;

  template <std::size_t T>
  static void direct(const std::uint8_t* panel, std::size_t groups, const activations& x, std::size_t token,
                     float* acc) {
    unrolled<T>([&](auto t) {
      unrolled<tiles>([&](auto i) { v::store(acc + t * panel_rows + i * v::lanes, v::zero()); });
    });
    multiply<T>(panel, 0, groups, x, token, acc);
  }

  /// Nothing to decode: the scratch is a copy that stays in cache.
  static void unpack(const std::uint8_t* panel, std::size_t first, std::size_t last, std::uint8_t* scratch) {
    std::memcpy(scratch, panel + first * layout::group_bytes, (last - first) * layout::group_bytes);
  }

  template <std::size_t T>
  static void multiply(const std::uint8_t* scratch, std::size_t first, std::size_t last, const activations& x,
                       std::size_t token, float* acc) {
    const float* scales = x.scales.data() + token * x.groups();
    for (std::size_t g = first; g < last; ++g, scratch += layout::group_bytes) {
      for (std::size_t line = 0; line < layout::group_bytes; line += 64) {
        _mm_prefetch(scratch + 4096 + line, _MM_HINT_T0);
      }
      const bool refined = x.any_refined<T>(token, g);
      for (std::size_t tile = 0; tile < tiles; ++tile) {
        const auto dots = [&](const buffer<std::int8_t>& values, __m256i(&dot)[T])
            __attribute__((always_inline)) {
          const std::int8_t* rows = values.data() + token * x.stride + g * group_size;
          unrolled<8>([&](auto j) {
            const __m256i weights = detail::avx2_load(scratch + tile * v::lanes * 32 + j * 32);
            const __m256i magnitude = _mm256_abs_epi8(weights);
            unrolled<T>([&](auto t) {
              const __m256i word = detail::avx2_word(rows + t * x.stride, j);
              const __m256i p =
                  detail::avx2_dot(_mm256_maddubs_epi16(magnitude, _mm256_sign_epi8(word, weights)));
              if constexpr (j == 0) {
                dot[t] = p;
              } else {
                dot[t] = _mm256_add_epi32(dot[t], p);
              }
              detail::avx2_settle(dot[t]);
            });
          });
        };
        __m256i dot[T];
        dots(x.quanta, dot);
        __m256 scale = v::load_half(
            reinterpret_cast<const std::uint16_t*>(scratch + layout::scales_at + tile * v::lanes * 2));
        if (refined) {
          __m256i rest[T];
          dots(x.residuals, rest);
          unrolled<T>([&](auto t) { dot[t] = detail::avx2_refine(dot[t], rest[t]); });
          scale = _mm256_mul_ps(scale, _mm256_set1_ps(0x1p-7f));
        }
        unrolled<T>([&](auto t) {
          float* out = acc + t * panel_rows + tile * v::lanes;
          const __m256 factor = _mm256_mul_ps(scale, _mm256_set1_ps(scales[t * x.groups() + g]));
          v::store(out, _mm256_fmadd_ps(_mm256_cvtepi32_ps(dot[t]), factor, v::load(out)));
        });
      }
    }
  }
};

}  // namespace tenon::host

#endif
