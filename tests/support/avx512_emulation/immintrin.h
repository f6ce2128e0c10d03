// Stands in for the compiler's <immintrin.h> where the AVX-512 kernels are to run on a machine without AVX-512: put
// this folder first in the include path, define TENON_HOST_AVX512=1 and compile for x86-64-v3. The instructions up to
// AVX2 are the machine's own. Those of AVX-512 are emulated by SIMD Everywhere (Debian: libsimde-dev), and where its
// version 0.7.4 lacks one, by two vectors of 256 bits here.
#pragma once
#pragma GCC system_header

#if defined(__AVX512F__)
#error "this machine's build has AVX-512: the ordinary tests run its kernels, and nothing is to be emulated"
#endif

#include_next <immintrin.h>

#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/x86/avx512.h>

namespace tenon_emulated {

/// The vector that `operation` makes of the halves of `a`.
template <class Operation>
inline __m512i integers_of_halves(__m512 a, Operation operation) {
  simde__m512_private from = simde__m512_to_private(a);
  simde__m512i_private to;
  for (int i = 0; i < 2; ++i) to.m256i[i] = operation(from.m256[i]);
  return simde__m512i_from_private(to);
}
template <class Operation>
inline __m512i integers_of_halves(__m512i a, Operation operation) {
  simde__m512i_private from = simde__m512i_to_private(a), to;
  for (int i = 0; i < 2; ++i) to.m256i[i] = operation(from.m256i[i]);
  return simde__m512i_from_private(to);
}

inline __m512 join(__m256 low, __m256 high) {
  simde__m512_private to;
  to.m256[0] = low;
  to.m256[1] = high;
  return simde__m512_from_private(to);
}
inline __m512i join(__m256i low, __m256i high) {
  simde__m512i_private to;
  to.m256i[0] = low;
  to.m256i[1] = high;
  return simde__m512i_from_private(to);
}

inline __m256 half(__m512 a, int index) { return simde__m512_to_private(a).m256[index]; }
inline __m256i half(__m512i a, int index) { return simde__m512i_to_private(a).m256i[index]; }

inline __m512i convert_to_integers(__m512 a) {
  return integers_of_halves(a, [](__m256 x) { return _mm256_cvtps_epi32(x); });
}
inline __m512 convert_to_floats(__m512i a) {
  return join(_mm256_cvtepi32_ps(half(a, 0)), _mm256_cvtepi32_ps(half(a, 1)));
}
inline __m512i shift_right_keeping_sign(__m512i a, int count) {
  return integers_of_halves(a, [&](__m256i x) { return _mm256_sra_epi32(x, _mm_cvtsi32_si128(count)); });
}
inline __m512i widen_unsigned(__m256i a) {
  return join(_mm256_cvtepu16_epi32(_mm256_castsi256_si128(a)),
              _mm256_cvtepu16_epi32(_mm256_extracti128_si256(a, 1)));
}
inline __m512i widen_signed_bytes(__m128i a) {
  return join(_mm256_cvtepi8_epi32(a), _mm256_cvtepi8_epi32(_mm_srli_si128(a, 8)));
}
inline __m128i lowest_bytes(__m512i a) {
  const simde__m512i_private from = simde__m512i_to_private(a);
  alignas(16) signed char bytes[16];
  for (int i = 0; i < 16; ++i) bytes[i] = static_cast<signed char>(from.i32[i]);
  return _mm_load_si128(reinterpret_cast<const __m128i*>(bytes));
}
inline __m512 from_halves(__m256i a) {
  return join(_mm256_cvtph_ps(_mm256_castsi256_si128(a)), _mm256_cvtph_ps(_mm256_extracti128_si256(a, 1)));
}
inline __m256i to_halves(__m512 a) {
  return _mm256_set_m128i(_mm256_cvtps_ph(half(a, 1), _MM_FROUND_TO_NEAREST_INT),
                          _mm256_cvtps_ph(half(a, 0), _MM_FROUND_TO_NEAREST_INT));
}
/// In the order in which the compilers' headers reduce: halves, quarters, and so on.
inline float sum(__m512 a) {
  const __m256 eight = _mm256_add_ps(half(a, 1), half(a, 0));
  const __m128 four = _mm_add_ps(_mm256_extractf128_ps(eight, 1), _mm256_castps256_ps128(eight));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps(two, two, 1)));
}
inline float largest(__m512 a) {
  const __m256 eight = _mm256_max_ps(half(a, 1), half(a, 0));
  const __m128 four = _mm_max_ps(_mm256_extractf128_ps(eight, 1), _mm256_castps256_ps128(eight));
  const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(two, _mm_shuffle_ps(two, two, 1)));
}
/// Not inlined: the kernels are unrolled loops of it, and would take minutes to compile.
[[gnu::noinline, maybe_unused]] static __m512i dot_bytes(__m512i sums, __m512i unsigned_bytes, __m512i signed_bytes) {
  const simde__m512i_private a = simde__m512i_to_private(unsigned_bytes), b = simde__m512i_to_private(signed_bytes);
  simde__m512i_private to = simde__m512i_to_private(sums);
  for (int i = 0; i < 4; ++i) {
    const __m256i pairs = _mm256_madd_epi16(_mm256_cvtepu8_epi16(a.m128i[i]), _mm256_cvtepi8_epi16(b.m128i[i]));
    const __m256i fours = _mm256_permute4x64_epi64(_mm256_hadd_epi32(pairs, pairs), 0x08);
    to.m128i[i] = _mm_add_epi32(to.m128i[i], _mm256_castsi256_si128(fours));
  }
  return simde__m512i_from_private(to);
}
[[gnu::noinline, maybe_unused]] static __m512 dot_bfloats(__m512 sums, __m512bh pairs, __m512bh others) {
  const __m512i a = simde_mm512_loadu_si512(&pairs), b = simde_mm512_loadu_si512(&others);
  const __m256i upper = _mm256_set1_epi32(static_cast<int>(0xffff0000u));
  __m256 parts[2];
  for (int i = 0; i < 2; ++i) {
    const __m256 odd = _mm256_fmadd_ps(_mm256_castsi256_ps(_mm256_and_si256(half(a, i), upper)),
                                       _mm256_castsi256_ps(_mm256_and_si256(half(b, i), upper)), half(sums, i));
    parts[i] = _mm256_fmadd_ps(_mm256_castsi256_ps(_mm256_slli_epi32(half(a, i), 16)),
                               _mm256_castsi256_ps(_mm256_slli_epi32(half(b, i), 16)), odd);
  }
  return join(parts[0], parts[1]);
}

}  // namespace tenon_emulated

#undef _mm512_dpbf16_ps
#define _mm512_dpbf16_ps(sums, a, b) tenon_emulated::dot_bfloats(sums, a, b)
#undef _mm512_dpbusd_epi32
#define _mm512_dpbusd_epi32(sums, a, b) tenon_emulated::dot_bytes(sums, a, b)

// A version of SIMD Everywhere that has one of these defines it itself.
#if !defined(_mm512_cvtps_epi32)
#define _mm512_cvtps_epi32(a) tenon_emulated::convert_to_integers(a)
#endif
#if !defined(_mm512_cvtepi32_ps)
#define _mm512_cvtepi32_ps(a) tenon_emulated::convert_to_floats(a)
#endif
#if !defined(_mm512_srai_epi32)
#define _mm512_srai_epi32(a, count) tenon_emulated::shift_right_keeping_sign(a, count)
#endif
#if !defined(_mm512_cvtepu16_epi32)
#define _mm512_cvtepu16_epi32(a) tenon_emulated::widen_unsigned(a)
#endif
#if !defined(_mm512_cvtepi8_epi32)
#define _mm512_cvtepi8_epi32(a) tenon_emulated::widen_signed_bytes(a)
#endif
#if !defined(_mm512_cvtepi32_epi8)
#define _mm512_cvtepi32_epi8(a) tenon_emulated::lowest_bytes(a)
#endif
#if !defined(_mm512_cvtph_ps)
#define _mm512_cvtph_ps(a) tenon_emulated::from_halves(a)
#endif
#if !defined(_mm512_cvtps_ph)
#define _mm512_cvtps_ph(a, rounding) tenon_emulated::to_halves(a)
#endif
#if !defined(_mm512_reduce_add_ps)
#define _mm512_reduce_add_ps(a) tenon_emulated::sum(a)
#endif
#if !defined(_mm512_reduce_max_ps)
#define _mm512_reduce_max_ps(a) tenon_emulated::largest(a)
#endif
#if !defined(_mm512_extractf32x8_ps)
#define _mm512_extractf32x8_ps(a, index) tenon_emulated::half(a, index)
#endif
