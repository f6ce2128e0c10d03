// The instruction sets that the host backend has kernels for, as types. The one that the compiler's flags
// allow is isa::native; kernels are templates on it, so that code built with other flags never shares a
// symbol with it.
#pragma once

#include <type_traits>

#include "tenon/core/fixed_string.hpp"

// A build may claim AVX-512 itself when it supplies the intrinsics by other means (the tests do, by
// emulation).
#if !defined(TENON_HOST_AVX512) && defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__) && \
    defined(__AVX512DQ__) && defined(__AVX512VNNI__)
#define TENON_HOST_AVX512 1
#endif
#if !defined(TENON_HOST_AVX512_BF16) && defined(TENON_HOST_AVX512) && defined(__AVX512BF16__)
#define TENON_HOST_AVX512_BF16 1
#endif
#if !defined(TENON_HOST_AVX2) && defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)
#define TENON_HOST_AVX2 1
#endif

namespace tenon::isa {

/// Plain C++ on vectors of 8 lanes: any processor.
struct portable {
  static constexpr auto name = fixed_string("portable");
  static constexpr int lanes = 8;
};

/// x86 with AVX2, FMA and F16C (x86-64-v3).
struct avx2 {
  static constexpr auto name = fixed_string("avx2");
  static constexpr int lanes = 8;
};

/// x86 with AVX-512 F, BW, VL, DQ and VNNI.
struct avx512 {
  static constexpr auto name = fixed_string("avx512");
  static constexpr int lanes = 16;
};

/// The same with AVX-512 BF16: products of bf16 activations multiply pairs of bf16 values.
struct avx512_bf16 {
  static constexpr auto name = fixed_string("avx512_bf16");
  static constexpr int lanes = 16;
};

/// Whether integer dot products want 8-bit weights unsigned, with 128 added (VNNI multiplies unsigned by
/// signed).
template <class Isa>
inline constexpr bool unsigned_weights = std::is_same_v<Isa, avx512> || std::is_same_v<Isa, avx512_bf16>;

#if defined(TENON_HOST_AVX512_BF16)
using native = avx512_bf16;
#elif defined(TENON_HOST_AVX512)
using native = avx512;
#elif defined(TENON_HOST_AVX2)
using native = avx2;
#else
using native = portable;
#endif

}  // namespace tenon::isa
