// Vector operations on AVX2: eight lanes. See simd/portable.hpp for what each must do.
#pragma once

#include "tenon/backend/host/isa.hpp"

#if defined(TENON_HOST_AVX2)

#include <immintrin.h>

#include <cstdint>

#include "tenon/backend/host/simd/portable.hpp"

namespace tenon::host {

template <>
struct simd<isa::avx2> {
  static constexpr int lanes = isa::avx2::lanes;
  using vec = __m256;

  static vec zero() { return _mm256_setzero_ps(); }
  static vec set1(float x) { return _mm256_set1_ps(x); }
  static vec load(const float* p) { return _mm256_loadu_ps(p); }
  static void store(float* p, vec a) { _mm256_storeu_ps(p, a); }
  static vec add(vec a, vec b) { return _mm256_add_ps(a, b); }
  static vec sub(vec a, vec b) { return _mm256_sub_ps(a, b); }
  static vec mul(vec a, vec b) { return _mm256_mul_ps(a, b); }
  static vec div(vec a, vec b) { return _mm256_div_ps(a, b); }
  static vec fma(vec a, vec b, vec c) { return _mm256_fmadd_ps(a, b, c); }
  static vec larger(vec a, vec b) { return _mm256_max_ps(a, b); }
  static vec smaller(vec a, vec b) { return _mm256_min_ps(a, b); }
  static vec abs(vec a) { return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a); }
  static vec round(vec a) { return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
  static vec scale_by_power(vec x, vec n) {
    const __m256i exponent = _mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127));
    return _mm256_mul_ps(x, _mm256_castsi256_ps(_mm256_slli_epi32(exponent, 23)));
  }
  static vec keep_where_not_less(vec a, vec b, vec x) {
    return _mm256_andnot_ps(_mm256_cmp_ps(a, b, _CMP_LT_OQ), x);
  }
  static float sum(vec a) {
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps(two, two, 1)));
  }
  static float max_of(vec a) {
    const __m128 four = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(two, _mm_shuffle_ps(two, two, 1)));
  }
  static vec sums(const vec (&a)[lanes]) {
    const __m256 ab = _mm256_hadd_ps(a[0], a[1]), cd = _mm256_hadd_ps(a[2], a[3]);
    const __m256 ef = _mm256_hadd_ps(a[4], a[5]), gh = _mm256_hadd_ps(a[6], a[7]);
    const __m256 abcd = _mm256_hadd_ps(ab, cd), efgh = _mm256_hadd_ps(ef, gh);
    return _mm256_add_ps(_mm256_permute2f128_ps(abcd, efgh, 0x20), _mm256_permute2f128_ps(abcd, efgh, 0x31));
  }
  static vec load_half(const std::uint16_t* p) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
  static vec load_bfloat(const std::uint16_t* p) {
    const __m256i bits = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
    return _mm256_castsi256_ps(_mm256_slli_epi32(bits, 16));
  }
  static void store_half(std::uint16_t* p, vec a) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT));
  }
  static void store_bfloat(std::uint16_t* p, vec a) {
    alignas(32) float values[lanes];
    _mm256_store_ps(values, a);
    for (int i = 0; i < lanes; ++i) p[i] = float_to_bfloat(values[i]);
  }
  static vec load_int8(const std::int8_t* p) {
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
  }
  /// The bits moved to a half's places make a half that is 256 times smaller.
  static vec load_e4m3(const std::uint8_t* p) {
    const __m128i wide = _mm_cvtepu8_epi16(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
    const __m128i sign = _mm_slli_epi16(_mm_and_si128(wide, _mm_set1_epi16(0x80)), 8);
    const __m128i magnitude = _mm_and_si128(wide, _mm_set1_epi16(0x7f));
    const __m128i nan =
        _mm_and_si128(_mm_cmpeq_epi16(magnitude, _mm_set1_epi16(0x7f)), _mm_set1_epi16(0x7c00));
    const __m128i half = _mm_or_si128(_mm_or_si128(sign, nan), _mm_slli_epi16(magnitude, 7));
    return _mm256_mul_ps(_mm256_cvtph_ps(half), _mm256_set1_ps(256.0f));
  }
  static void store_int8(std::int8_t* p, vec a) {
    const __m256i words = _mm256_cvtps_epi32(a);
    const __m128i halves = _mm_packs_epi32(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(p), _mm_packs_epi16(halves, halves));
  }
  static vec nibbles(const std::uint8_t* words, int shift) {
    const __m256i all = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(words));
    const __m256i one =
        _mm256_and_si256(_mm256_srl_epi32(all, _mm_cvtsi32_si128(shift)), _mm256_set1_epi32(15));
    return _mm256_cvtepi32_ps(one);
  }
  static vec bytes(const std::uint8_t* words, int index, std::uint8_t bias) {
    const __m256i flipped = _mm256_xor_si256(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(words)),
                                             _mm256_set1_epi8(static_cast<char>(bias)));
    const __m256i top = _mm256_sll_epi32(flipped, _mm_cvtsi32_si128(24 - 8 * index));
    return _mm256_cvtepi32_ps(_mm256_srai_epi32(top, 24));
  }
};

}  // namespace tenon::host

#endif
