// Sampling stages written for reading: fp64, a full sort, one loop each. What the library keeps is held
// against this.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include <tenon/core/types.hpp>

namespace reference {

struct candidate {
  tenon::token_id id;
  double logit;
};

/// A row on its way through a chain. `margin` is how near to its border the closest decision was: when it is
/// as small as the rounding of fp32, either answer is right.
struct sampling_row {
  std::vector<candidate> kept;  // best first, the lower id first among equals
  double margin = std::numeric_limits<double>::infinity();

  explicit sampling_row(std::span<const float> logits) {
    for (std::size_t i = 0; i < logits.size(); ++i) {
      if (logits[i] == -std::numeric_limits<float>::infinity()) continue;
      kept.push_back({static_cast<tenon::token_id>(i), static_cast<double>(logits[i])});
    }
    std::stable_sort(kept.begin(), kept.end(),
                     [](const candidate& a, const candidate& b) { return a.logit > b.logit; });
  }

  std::vector<double> probabilities() const {
    std::vector<double> p;
    double sum = 0;
    for (const candidate& c : kept) sum += p.emplace_back(std::exp(c.logit - kept.front().logit));
    for (double& x : p) x /= sum;
    return p;
  }

  void temperature(double t) {
    if (t < 1e-5) return kept.resize(1);
    for (candidate& c : kept) c.logit /= t;
  }

  void top_k(int k) {
    if (k <= 0 || static_cast<std::size_t>(k) >= kept.size()) return;
    const std::size_t size = static_cast<std::size_t>(k);
    const double last = kept[size - 1].logit, next = kept[size].logit;
    const double scale = 1 + std::abs(kept.front().logit - last);
    if (last != next) margin = (std::min)(margin, (last - next) / scale);
    kept.resize(size);
  }

  void top_p(double p) {
    if (p >= 1) return;
    const std::vector<double> probability = probabilities();
    double sum = 0;
    for (std::size_t i = 0; i < kept.size(); ++i) {
      sum += probability[i];
      margin = (std::min)(margin, std::abs(sum - p));
      if (sum >= p) return kept.resize(i + 1);
    }
  }

  void min_p(double p) {
    if (p <= 0) return;
    const double best = kept.front().logit;
    for (std::size_t i = 0; i < kept.size(); ++i) {
      const double below = best - kept[i].logit;
      if (below > 0) margin = (std::min)(margin, std::abs(below + std::log(p)) / (1 + below));
      if (below > 0 && std::exp(-below) < p) return kept.resize(i);
    }
  }

  std::vector<tenon::token_id> ids_ascending() const {
    std::vector<tenon::token_id> ids;
    for (const candidate& c : kept) ids.push_back(c.id);
    std::sort(ids.begin(), ids.end());
    return ids;
  }
};

}  // namespace reference
