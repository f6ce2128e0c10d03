// Plain loops over rows of fp32 values, written in blocks of lanes so that compilers turn them into SIMD
// code: the scan for the best logit, and weights (exponentials). Each has one loop body for all elements, so
// equal inputs give equal outputs wherever they stand.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numbers>
#include <span>

namespace tenon::sampling {

/// What one pass over a row of logits finds out.
struct row_facts {
  float best = -std::numeric_limits<float>::infinity();  ///< the highest value; -inf for an empty row
  std::size_t best_at = 0;                               ///< where it stands first
  float lowest = std::numeric_limits<float>::infinity();
  bool has_nan = false;
};

namespace detail {

inline constexpr std::size_t lanes = 16;

constexpr std::size_t round_up(std::size_t n, std::size_t step) { return (n + step - 1) / step * step; }

/// The float's bits as an integer of the same order; NaN lies beyond both infinities. Compilers make SIMD
/// code of the maximum of integers; that of floats they may not reorder. And -ffast-math cannot hide a NaN.
constexpr std::int32_t order_of(float value) {
  const std::int32_t bits = std::bit_cast<std::int32_t>(value);
  return bits ^ ((bits >> 31) & 0x7fffffff);
}

constexpr float value_at(std::int32_t order) {
  return std::bit_cast<float>(order ^ ((order >> 31) & 0x7fffffff));
}

inline constexpr std::int32_t order_of_infinity = order_of(std::numeric_limits<float>::infinity());

struct extremes {
  std::int32_t high = -order_of_infinity - 1;  // -inf
  std::int32_t low = order_of_infinity;

  void take(float value) {
    const std::int32_t order = order_of(value);
    high = order > high ? order : high;
    low = order < low ? order : low;
  }
};

}  // namespace detail

/// One pass over `row`; the first of several equal maxima wins. When there is a NaN, only `has_nan` means
/// anything.
inline row_facts scan(std::span<const float> row) {
  constexpr std::size_t block =
      1024;  // is searched again for the place of the maximum, so stays in the L1 cache
  row_facts facts;
  std::size_t best_block = 0;
  for (std::size_t begin = 0; begin < row.size(); begin += block) {
    const std::size_t count = row.size() - begin < block ? row.size() - begin : block;
    const float* values = row.data() + begin;
    detail::extremes found;
    if (count == block) {
      for (std::size_t i = 0; i < block; ++i) found.take(values[i]);
    } else {
      for (std::size_t i = 0; i < count; ++i) found.take(values[i]);
    }
    facts.has_nan |= found.high > detail::order_of_infinity || found.low < -detail::order_of_infinity - 1;
    const float high = detail::value_at(found.high), low = detail::value_at(found.low);
    facts.lowest = low < facts.lowest ? low : facts.lowest;
    if (high > facts.best) facts.best = high, best_block = begin;
  }
  if (facts.has_nan || row.empty()) return facts;
  facts.best_at = best_block;
  while (row[facts.best_at] != facts.best) ++facts.best_at;
  return facts;
}

namespace detail {

/// 2^y for -127 <= y <= 0, within 2 units of the last place; 0 for -127. Polynomial: Cephes exp2f (S. L.
/// Moshier).
inline float exp2_of_negative(float y) {
  const std::int32_t whole = static_cast<std::int32_t>(y - 0.5f);  // rounds up: the rest is in [-0.5, 0.5]
  const float rest = y - static_cast<float>(whole);
  float power = 1.535336188319500e-4f;
  power = power * rest + 1.339887440266574e-3f;
  power = power * rest + 9.618437357674640e-3f;
  power = power * rest + 5.550332471162809e-2f;
  power = power * rest + 2.402264791363012e-1f;
  power = power * rest + 6.931472028550421e-1f;
  power = power * rest + 1.0f;
  // Adds to the exponent. Down at -127 the rest is 0 or more, so that 1.0 * 2^-127 becomes the bits of 0.
  return std::bit_cast<float>(std::bit_cast<std::int32_t>(power) + (whole << 23));
}

/// weights[i] = exp(logits[i] - best). `padded` is a multiple of the lanes; both arrays have that many
/// elements.
inline void exponentials(const float* logits, float* weights, std::size_t padded, float best) {
  for (std::size_t i = 0; i < padded; ++i) {
    const float y = (logits[i] - best) * std::numbers::log2e_v<float>;
    weights[i] = y > -127.0f ? y : -127.0f;
  }
  // A loop of its own: in one loop g++ makes a branch of the lower bound, and no SIMD code.
  for (std::size_t i = 0; i < padded; ++i) weights[i] = exp2_of_negative(weights[i]);
}

/// The sum of `padded` weights (a multiple of the lanes) in fp64, always added in the same order.
inline double sum(const float* weights, std::size_t padded) {
  double partial[lanes] = {};
  for (std::size_t i = 0; i < padded; i += lanes) {
    for (std::size_t j = 0; j < lanes; ++j) partial[j] += static_cast<double>(weights[i + j]);
  }
  double total = 0;
  for (std::size_t j = 0; j < lanes; ++j) total += partial[j];
  return total;
}

/// The same over those whose logit is at least `bound`.
inline double sum_from(const float* logits, const float* weights, std::size_t padded, float bound) {
  double partial[lanes] = {};
  for (std::size_t i = 0; i < padded; i += lanes) {
    float chosen[lanes];
    for (std::size_t j = 0; j < lanes; ++j) {  // a mask, as a choice between floats becomes a branch
      const std::int32_t mask = -static_cast<std::int32_t>(logits[i + j] >= bound);
      chosen[j] = std::bit_cast<float>(std::bit_cast<std::int32_t>(weights[i + j]) & mask);
    }
    for (std::size_t j = 0; j < lanes; ++j) partial[j] += static_cast<double>(chosen[j]);
  }
  double total = 0;
  for (std::size_t j = 0; j < lanes; ++j) total += partial[j];
  return total;
}

/// Whether any of 2 x lanes values is at least `bound`.
inline bool any_at_least(const float* values, float bound) {
  std::int32_t any = 0;
  for (std::size_t j = 0; j < 2 * lanes; ++j) any |= values[j] >= bound ? 1 : 0;
  return any != 0;
}

/// Writes the indices of the logits that are `chosen` to `list`, in ascending order, and returns how many
/// they are. `list` has room for all. Whatever is chosen is at least `bound`. Free of branches but for one
/// per 32 logits.
template <class Chosen>
std::size_t list_if(std::span<const float> logits, float bound, std::uint32_t* list, Chosen chosen) {
  std::size_t count = 0, i = 0;
  for (; i + 2 * lanes <= logits.size(); i += 2 * lanes) {
    if (!any_at_least(logits.data() + i, bound)) continue;
    for (std::size_t j = i; j < i + 2 * lanes; ++j) {
      list[count] = static_cast<std::uint32_t>(j);
      count += static_cast<std::size_t>(chosen(logits[j]));
    }
  }
  for (; i < logits.size(); ++i) {
    list[count] = static_cast<std::uint32_t>(i);
    count += static_cast<std::size_t>(chosen(logits[i]));
  }
  return count;
}

/// The highest of Count values (a multiple of the lanes).
template <std::size_t Count>
float maximum(const float* values) {
  float high[lanes];
  for (std::size_t j = 0; j < lanes; ++j) high[j] = values[j];
  for (std::size_t i = lanes; i < Count; i += lanes) {
    for (std::size_t j = 0; j < lanes; ++j) high[j] = values[i + j] > high[j] ? values[i + j] : high[j];
  }
  for (std::size_t width = lanes / 2; width > 0; width /= 2) {
    for (std::size_t j = 0; j < width; ++j) high[j] = high[j + width] > high[j] ? high[j + width] : high[j];
  }
  return high[0];
}

}  // namespace detail
}  // namespace tenon::sampling
