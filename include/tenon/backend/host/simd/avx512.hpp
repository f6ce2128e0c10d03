// Vector operations on AVX-512: sixteen lanes. See simd/portable.hpp for what each must do.
#pragma once

#include "tenon/backend/host/isa.hpp"

#if defined(TENON_HOST_AVX512)

#include <immintrin.h>

#include <cstdint>

#include "tenon/backend/host/simd/portable.hpp"

// The headers of GCC 12 leave what a conversion's mask would keep uninitialised, and warn of it once they are
// inlined; without optimisation they are macros, which warn of the signs of their masks.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#endif

namespace tenon::host {

template <>
struct simd<isa::avx512> {
  static constexpr int lanes = isa::avx512::lanes;
  using vec = __m512;

  static vec zero() { return _mm512_setzero_ps(); }
  static vec set1(float x) { return _mm512_set1_ps(x); }
  static vec load(const float* p) { return _mm512_loadu_ps(p); }
  static void store(float* p, vec a) { _mm512_storeu_ps(p, a); }
  static vec add(vec a, vec b) { return _mm512_add_ps(a, b); }
  static vec sub(vec a, vec b) { return _mm512_sub_ps(a, b); }
  static vec mul(vec a, vec b) { return _mm512_mul_ps(a, b); }
  static vec div(vec a, vec b) { return _mm512_div_ps(a, b); }
  static vec fma(vec a, vec b, vec c) { return _mm512_fmadd_ps(a, b, c); }
  static vec larger(vec a, vec b) { return _mm512_max_ps(a, b); }
  static vec smaller(vec a, vec b) { return _mm512_min_ps(a, b); }
  static vec abs(vec a) {
    return _mm512_castsi512_ps(_mm512_and_si512(_mm512_castps_si512(a), _mm512_set1_epi32(0x7fffffff)));
  }
  static vec round(vec a) { return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT); }
  static vec scale_by_power(vec x, vec n) {
    const __m512i exponent = _mm512_add_epi32(_mm512_cvtps_epi32(n), _mm512_set1_epi32(127));
    return _mm512_mul_ps(x, _mm512_castsi512_ps(shift_left<23>(exponent)));
  }
  static vec keep_where_not_less(vec a, vec b, vec x) {
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(a, b, _CMP_NLT_UQ), x);
  }
  static float sum(vec a) { return _mm512_reduce_add_ps(a); }
  static float max_of(vec a) { return _mm512_reduce_max_ps(a); }
  static vec sums(const vec (&a)[lanes]) {
    alignas(64) float totals[lanes];
    for (int i = 0; i < lanes; i += 4) {  // four rows at a time: transpose in quarters, then add
      const __m512 ab_low = _mm512_unpacklo_ps(a[i], a[i + 1]), ab_high = _mm512_unpackhi_ps(a[i], a[i + 1]);
      const __m512 cd_low = _mm512_unpacklo_ps(a[i + 2], a[i + 3]),
                   cd_high = _mm512_unpackhi_ps(a[i + 2], a[i + 3]);
      const __m512 ab = _mm512_add_ps(ab_low, ab_high), cd = _mm512_add_ps(cd_low, cd_high);
      const __m512 quarters = _mm512_add_ps(_mm512_shuffle_ps(ab, cd, 0x44), _mm512_shuffle_ps(ab, cd, 0xee));
      const __m256 halves =
          _mm256_add_ps(_mm512_castps512_ps256(quarters), _mm512_extractf32x8_ps(quarters, 1));
      _mm_store_ps(totals + i, _mm_add_ps(_mm256_castps256_ps128(halves), _mm256_extractf128_ps(halves, 1)));
    }
    return _mm512_load_ps(totals);
  }
  static vec load_half(const std::uint16_t* p) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  }
  static vec load_bfloat(const std::uint16_t* p) {
    const __m512i bits = _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
    return _mm512_castsi512_ps(shift_left<16>(bits));
  }
  static void store_half(std::uint16_t* p, vec a) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT));
  }
  static void store_bfloat(std::uint16_t* p, vec a) {
    alignas(64) float values[lanes];
    _mm512_store_ps(values, a);
    for (int i = 0; i < lanes; ++i) p[i] = float_to_bfloat(values[i]);
  }
  static vec load_int8(const std::int8_t* p) {
    return to_float(_mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
  }
  /// The bits moved to a half's places make a half that is 256 times smaller.
  static vec load_e4m3(const std::uint8_t* p) {
    const __m256i wide = _mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
    const __m256i sign = _mm256_slli_epi16(_mm256_and_si256(wide, _mm256_set1_epi16(0x80)), 8);
    const __m256i magnitude = _mm256_and_si256(wide, _mm256_set1_epi16(0x7f));
    const __m256i nan =
        _mm256_and_si256(_mm256_cmpeq_epi16(magnitude, _mm256_set1_epi16(0x7f)), _mm256_set1_epi16(0x7c00));
    const __m256i half = _mm256_or_si256(_mm256_or_si256(sign, nan), _mm256_slli_epi16(magnitude, 7));
    return _mm512_mul_ps(_mm512_cvtph_ps(half), _mm512_set1_ps(256.0f));
  }
  static void store_int8(std::int8_t* p, vec a) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(a)));
  }
  static vec to_float(__m512i a) { return _mm512_cvtepi32_ps(a); }
  template <int Count>
  static __m512i shift_left(__m512i a) {
    return _mm512_slli_epi32(a, Count);
  }
  template <int Count>
  static __m512i shift_right(__m512i a) {
    return _mm512_srli_epi32(a, Count);
  }
  static vec nibbles(const std::uint8_t* words, int shift) {
    const __m512i all = _mm512_loadu_si512(words);
    const __m512i one =
        _mm512_and_si512(_mm512_srl_epi32(all, _mm_cvtsi32_si128(shift)), _mm512_set1_epi32(15));
    return to_float(one);
  }
  static vec bytes(const std::uint8_t* words, int index, std::uint8_t bias) {
    const __m512i flipped =
        _mm512_xor_si512(_mm512_loadu_si512(words), _mm512_set1_epi8(static_cast<char>(bias)));
    const __m512i top = _mm512_sll_epi32(flipped, _mm_cvtsi32_si128(24 - 8 * index));
    return to_float(_mm512_srai_epi32(top, 24));
  }
};

template <>
struct simd<isa::avx512_bf16> : simd<isa::avx512> {};

}  // namespace tenon::host

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

#endif
