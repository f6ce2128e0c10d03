// Narrows down where the best candidates' weights add up to a wanted sum, by bisection. A probe is one SIMD
// pass over the row, so a dozen of them cost less than one pass of anything cleverer; what is left between
// the two bounds goes to find_cut().
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>

#include "tenon/sample/scan.hpp"

namespace tenon::sampling::detail {

/// Two logits: candidates from `upper` up weigh `reached`, less than wanted; those from `lower` up weigh
/// enough.
struct share_bracket {
  float lower = std::numeric_limits<float>::lowest();
  float upper = std::numeric_limits<float>::infinity();
  double reached = 0;

  /// Moves one bound to `bound`; says whether it was the lower one. The arrays hold `padded` elements, a
  /// multiple of the lanes, and the weight of padding is 0.
  bool probe(const float* logits, const float* weights, std::size_t padded, double bound, double wanted) {
    const float logit = static_cast<float>(bound);
    const double sum = sum_from(logits, weights, padded, logit);
    if (sum >= wanted) {
      lower = logit;
    } else {
      upper = logit, reached = sum;
    }
    return sum >= wanted;
  }
};

/// Steps away from the best logit until the sum is reached.
inline share_bracket coarse_bracket(const float* logits, const float* weights, std::size_t padded, float best,
                                    double wanted) {
  share_bracket bracket;
  for (double distance = 0.5; distance < 64; distance *= 2) {
    if (bracket.probe(logits, weights, padded, static_cast<double>(best) - distance, wanted)) break;
  }
  return bracket;
}

/// Bisects a bracket that has a lower bound.
inline void refine_bracket(share_bracket& bracket, const float* logits, const float* weights,
                           std::size_t padded, float best, double wanted) {
  if (bracket.lower == std::numeric_limits<float>::lowest()) return;
  for (int step = 0; step < 7; ++step) {
    const double upper = static_cast<double>((std::min)(bracket.upper, best));
    bracket.probe(logits, weights, padded, (static_cast<double>(bracket.lower) + upper) / 2, wanted);
  }
}

}  // namespace tenon::sampling::detail
