// Finds where a list of logits has to be cut so that the best ones, added up, reach a target: the k best, or
// the fewest that hold a share of the probability. Radix selection: a pass or two instead of a sort, whatever
// the values.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include "tenon/core/host_device.hpp"

namespace tenon::sampling {

/// A border in a list of logits: those above `logit` are in, and of those equal to it the first `ties`.
struct cut {
  float logit;
  std::size_t ties;
  bool all_ties = false;  ///< there are no more than `ties` on the border
};

namespace detail {

struct selection_bin {
  double amount;
  std::size_t count;
};

inline constexpr int selection_bits = 11;
inline constexpr std::size_t selection_bins = std::size_t{1} << selection_bits;

/// An integer that is smaller the higher the value; -0 counts as 0.
TENON_HOST_DEVICE constexpr std::uint32_t rank_of(float value) {
  std::uint32_t bits = __builtin_bit_cast(std::uint32_t, value);
  if (bits == 0x80000000u) bits = 0;
  return (bits & 0x80000000u) != 0 ? bits : 0x7fffffffu - bits;
}

TENON_HOST_DEVICE constexpr float value_of(std::uint32_t rank) {
  return __builtin_bit_cast(float, (rank & 0x80000000u) != 0 ? rank : 0x7fffffffu - rank);
}

/// How many of `count` elements of equal size `each`, added to `reached`, are needed to reach `target`: at
/// least 1.
inline std::size_t ties_needed(double reached, double each, std::size_t count, double target) {
  const double wanted = std::ceil((target - reached) / each);
  std::size_t ties = wanted >= static_cast<double>(count) ? count
                     : wanted > 1                         ? static_cast<std::size_t>(wanted)
                                                          : 1;
  while (ties > 1 && reached + static_cast<double>(ties - 1) * each >= target)
    --ties;  // the division rounded up
  while (ties < count && reached + static_cast<double>(ties) * each < target) ++ties;  // or down
  return ties;
}

}  // namespace detail

/// The border behind which elements are not needed: best first, lower index first among equals, `amount(i)`
/// of each added to `reached` (in fp64, in a fixed order) until the sum is at least `target`. When it never
/// is, everything is in. `logit(i)` for 0 <= i < count, count > 0, has no NaN; equal logits have equal
/// amounts; `bins` has detail::selection_bins elements.
template <class Logit, class Amount>
cut find_cut(std::size_t count, Logit logit, Amount amount, double reached, double target,
             std::span<detail::selection_bin> bins) {
  std::uint32_t first = detail::rank_of(logit(0)), last = first;
  for (std::size_t i = 1; i < count; ++i) {
    const std::uint32_t rank = detail::rank_of(logit(i));
    first = rank < first ? rank : first;
    last = rank > last ? rank : last;
  }
  for (int width = static_cast<int>(std::bit_width(last - first));
       ;) {  // ranks still in question: [first, first + 2^width)
    const int shift = width > detail::selection_bits ? width - detail::selection_bits : 0;
    const std::size_t used = std::size_t{1} << (width - shift);
    for (std::size_t b = 0; b < used; ++b) bins[b] = {0.0, 0};
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t bin =
          (detail::rank_of(logit(i)) - first) >> shift;  // wraps, and is out of range, below first
      if (bin < used) bins[bin].amount += amount(i), ++bins[bin].count;
    }
    std::size_t chosen = 0, end = used;
    while (end > 1 && bins[end - 1].count == 0) --end;
    while (chosen + 1 < end && (bins[chosen].count == 0 || reached + bins[chosen].amount < target)) {
      reached += bins[chosen++].amount;
    }
    first += static_cast<std::uint32_t>(chosen << shift);
    if (shift == 0) {
      const detail::selection_bin equal = bins[chosen];
      const double each = equal.amount / static_cast<double>(equal.count);
      const std::size_t ties = detail::ties_needed(reached, each, equal.count, target);
      return {detail::value_of(first), ties, ties == equal.count};
    }
    width = shift;
  }
}

}  // namespace tenon::sampling
