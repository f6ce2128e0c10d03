// Vector operations in plain C++, eight lanes: the fallback, and the plainest statement of what each
// operation does.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "tenon/backend/host/isa.hpp"
#include "tenon/core/number.hpp"
#include "tenon/format/e4m3.hpp"

namespace tenon::host {

/// The vector operations of an instruction set. `vec` holds Isa::lanes floats. Multiply-and-add is always one
/// call to fma: were it left to the compiler to contract, the same sum could round differently in two
/// kernels.
template <class Isa>
struct simd;

template <>
struct simd<isa::portable> {
  static constexpr int lanes = isa::portable::lanes;
  struct vec {
    float lane[lanes];
  };

  template <class Operation>
  static vec map(Operation&& operation) {
    vec r;
    for (int i = 0; i < lanes; ++i) r.lane[i] = operation(i);
    return r;
  }

  static vec zero() { return {}; }
  static vec set1(float x) {
    return map([&](int) { return x; });
  }
  static vec load(const float* p) {
    vec r;
    std::memcpy(r.lane, p, sizeof(r.lane));
    return r;
  }
  static void store(float* p, vec a) { std::memcpy(p, a.lane, sizeof(a.lane)); }
  static vec add(vec a, vec b) {
    return map([&](int i) { return a.lane[i] + b.lane[i]; });
  }
  static vec sub(vec a, vec b) {
    return map([&](int i) { return a.lane[i] - b.lane[i]; });
  }
  static vec mul(vec a, vec b) {
    return map([&](int i) { return a.lane[i] * b.lane[i]; });
  }
  static vec div(vec a, vec b) {
    return map([&](int i) { return a.lane[i] / b.lane[i]; });
  }
  /// a * b + c; rounded once where the processor has the instruction, and then in every kernel.
  static vec fma(vec a, vec b, vec c) {
#if defined(__FP_FAST_FMAF)
    return map([&](int i) { return std::fma(a.lane[i], b.lane[i], c.lane[i]); });
#else
    return map([&](int i) { return a.lane[i] * b.lane[i] + c.lane[i]; });
#endif
  }
  /// The larger of the two; b where either is NaN.
  static vec larger(vec a, vec b) {
    return map([&](int i) { return a.lane[i] > b.lane[i] ? a.lane[i] : b.lane[i]; });
  }
  static vec smaller(vec a, vec b) {
    return map([&](int i) { return a.lane[i] < b.lane[i] ? a.lane[i] : b.lane[i]; });
  }
  static vec abs(vec a) {
    return map([&](int i) { return std::fabs(a.lane[i]); });
  }
  /// Nearest whole number, ties to even.
  static vec round(vec a) {
    return map([&](int i) { return std::nearbyint(a.lane[i]); });
  }
  /// x * 2^n for whole n in [-126, 127].
  static vec scale_by_power(vec x, vec n) {
    return map([&](int i) {
      return x.lane[i] * std::bit_cast<float>((static_cast<std::int32_t>(n.lane[i]) + 127) << 23);
    });
  }
  /// x where a >= b, else 0.
  static vec keep_where_not_less(vec a, vec b, vec x) {
    return map([&](int i) { return a.lane[i] < b.lane[i] ? 0.0f : x.lane[i]; });
  }
  static float sum(vec a) {
    return ((a.lane[0] + a.lane[4]) + (a.lane[2] + a.lane[6])) +
           ((a.lane[1] + a.lane[5]) + (a.lane[3] + a.lane[7]));
  }
  static float max_of(vec a) {
    float m = a.lane[0];
    for (int i = 1; i < lanes; ++i) m = a.lane[i] > m ? a.lane[i] : m;
    return m;
  }
  /// Lane i of the result is the sum over the lanes of a[i].
  static vec sums(const vec (&a)[lanes]) {
    return map([&](int i) { return sum(a[i]); });
  }
  static vec load_half(const std::uint16_t* p) {
    return map([&](int i) { return half_to_float(p[i]); });
  }
  static vec load_bfloat(const std::uint16_t* p) {
    return map([&](int i) { return bfloat_to_float(p[i]); });
  }
  static void store_half(std::uint16_t* p, vec a) {
    for (int i = 0; i < lanes; ++i) p[i] = float_to_half(a.lane[i]);
  }
  static void store_bfloat(std::uint16_t* p, vec a) {
    for (int i = 0; i < lanes; ++i) p[i] = float_to_bfloat(a.lane[i]);
  }
  static vec load_int8(const std::int8_t* p) {
    return map([&](int i) { return static_cast<float>(p[i]); });
  }
  static vec load_e4m3(const std::uint8_t* p) {
    return map([&](int i) { return e4m3_to_float(p[i]); });
  }
  /// Rounds to whole numbers, ties to even, and stores them as bytes; |a| is at most 127.
  static void store_int8(std::int8_t* p, vec a) {
    for (int i = 0; i < lanes; ++i) p[i] = static_cast<std::int8_t>(std::nearbyint(a.lane[i]));
  }
  /// Bits `shift` to `shift` + 3 of each 32-bit word.
  static vec nibbles(const std::uint8_t* words, int shift) {
    return map([&](int i) {
      std::uint32_t word;
      std::memcpy(&word, words + 4 * i, 4);
      return static_cast<float>((word >> shift) & 15u);
    });
  }
  /// Byte `index` of each 32-bit word, as a signed number; `bias` is xored to it first.
  static vec bytes(const std::uint8_t* words, int index, std::uint8_t bias) {
    return map(
        [&](int i) { return static_cast<float>(static_cast<std::int8_t>(words[4 * i + index] ^ bias)); });
  }
};

}  // namespace tenon::host
