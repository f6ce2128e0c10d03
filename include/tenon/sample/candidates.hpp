// The tokens that may still be drawn for one row of logits: what sampling stages work on. Stages drop
// candidates or change their logits; the draw at the end is by softmax over what is left. One object is
// reused for row after row and allocates only when a row is longer than any before, so keep one per thread.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "tenon/core/philox.hpp"
#include "tenon/core/types.hpp"
#include "tenon/sample/bracket.hpp"
#include "tenon/sample/fault.hpp"
#include "tenon/sample/scan.hpp"
#include "tenon/sample/select.hpp"

namespace tenon::sampling {

/// The candidates of one row. What always holds, before and after every stage:
///   - candidates are numbered 0 .. size() - 1 by ascending token id, whatever was dropped;
///   - logits are finite (a row with +inf is cut to the tokens at +inf, with logit 0; -inf is never a
///   candidate);
///   - only differences between logits mean something: temperature moves the best one to 0;
///   - there is at least one candidate (a stage that drops all ends the row with fault::nothing_possible).
class candidates {
 public:
  /// Allocates for rows of up to `vocabulary` logits.
  explicit candidates(std::size_t vocabulary = 0) { reserve(vocabulary); }

  std::size_t size() const { return size_; }
  std::span<const token_id> ids() const { return {ids_.data(), size_}; }
  std::span<const float> logits() const { return {logits_.data(), size_}; }

  /// The highest logit.
  float best_logit() const { return best_; }

  /// exp(logit - best_logit()) of each candidate: 1 for the best, 0 when more than e^88 times rarer.
  /// Computed when first asked for after a change.
  std::span<const float> weights() {
    if (!weighed_) {
      const std::size_t padded = pad(logits_, best_);
      detail::exponentials(logits_.data(), weights_.data(), padded, best_);
      weighed_ = true;
    }
    return {weights_.data(), size_};
  }

  /// The sum of the weights, in fp64. probability = weight / total.
  double total() {
    weights();
    if (!totalled_) {
      const std::size_t padded = pad(weights_, 0.0f);
      total_ = 0;
      for (std::size_t begin = 0, c = 0; begin < padded; begin += chunk, ++c) {
        sums_[c] = detail::sum(weights_.data() + begin, (std::min)(chunk, padded - begin));
        total_ += sums_[c];
      }
      totalled_ = true;
    }
    return total_;
  }

  /// The probability of candidate i among those that are left.
  double probability(std::size_t i) { return static_cast<double>(weights()[i]) / total(); }

  /// The logits, to be changed. -inf drops a candidate; NaN ends the row with fault::nan_logits.
  std::span<float> edit_logits() {
    edited_ = true;
    weighed_ = totalled_ = false;
    return {logits_.data(), size_};
  }

  /// Keeps candidate i where `keep(i)` is true; asks in order, once for each. `keep` may look at candidate i
  /// through spans that were taken before.
  template <class Keep>
  void keep_if(Keep keep) {
    std::size_t kept = 0;
    float best = -std::numeric_limits<float>::infinity();
    for (std::size_t i = 0; i < size_; ++i) {
      if (!keep(i)) continue;
      best = logits_[i] > best ? logits_[i] : best;
      order_[kept++] = static_cast<std::uint32_t>(i);
    }
    weighed_ = weighed_ && best == best_;  // weights are relative to the best
    totalled_ = totalled_ && weighed_;
    best_ = best;
    gather(kept);
  }

  /// Keeps the candidates whose logit is at least `bound`, which is at most best_logit().
  void keep_at_least(float bound) {
    gather(detail::list_if(logits(), bound, order_.data(), [bound](float logit) { return logit >= bound; }));
  }

  /// Keeps the candidates whose logit is at most `distance` (0 or more) below the best one.
  void keep_within(double distance) {
    const double bound = static_cast<double>(best_) - distance;
    float rounded = static_cast<float>(bound);
    if (static_cast<double>(rounded) < bound) rounded = std::nextafter(rounded, best_);
    keep_at_least(rounded);
  }

  /// Keeps the candidates above the border, and the first so many on it. The border is at most best_logit().
  void keep_up_to(cut border) {
    if (border.all_ties) return keep_at_least(border.logit);
    std::size_t ties = border.ties;
    gather(detail::list_if(logits(), border.logit, order_.data(), [&ties, border](float logit) {
      const std::size_t tie =
          static_cast<std::size_t>(logit == border.logit) & static_cast<std::size_t>(ties != 0);
      ties -= tie;
      return (tie | static_cast<std::size_t>(logit > border.logit)) != 0;
    }));
  }

  /// Keeps the best candidate alone; the lowest id of several.
  void keep_best() { keep_up_to({best_, 1}); }

  /// Keeps the k best (k >= 1); the lower ids on a tie.
  void keep_top(std::size_t k) {
    if (k >= size_) return;
    if (k == 1) return keep_best();
    drop_below_block_maxima(k);
    if (k == size_) return;
    keep_up_to(find_cut(
        size_, [this](std::size_t i) { return logits_[i]; }, [](std::size_t) { return 1.0; }, 0.0,
        static_cast<double>(k), bins_));
  }

  /// Keeps the fewest candidates, best first and the lower id first on a tie, that hold the share `p` (0 < p
  /// < 1) of the probability: the first one is always in, and none comes in after the sum is exactly p.
  void keep_share(double p) {
    const double wanted = p * total();
    detail::share_bracket bracket;
    if (size_ > 256) {
      const auto padded = [this] { return pad(weights_, 0.0f), pad(logits_, best_); };
      bracket = detail::coarse_bracket(logits_.data(), weights_.data(), padded(), best_, wanted);
      if (bracket.lower < best_ - 2) keep_at_least(bracket.lower);  // mostly that leaves few
      detail::refine_bracket(bracket, logits_.data(), weights_.data(), padded(), best_, wanted);
    }
    const std::size_t count = detail::list_if(logits(), bracket.lower, order_.data(), [bracket](float logit) {
      return (static_cast<int>(logit >= bracket.lower) & static_cast<int>(logit < bracket.upper)) != 0;
    });
    keep_up_to(find_cut(
        count, [this](std::size_t i) { return logits_[order_[i]]; },
        [this](std::size_t i) { return static_cast<double>(weights_[order_[i]]); }, bracket.reached, wanted,
        bins_));
  }

  /// Keeps the candidates for which keep(id, logit) is true.
  template <class Keep>
  void keep_where(Keep keep) {
    keep_if([&](std::size_t i) { return static_cast<bool>(keep(ids_[i], logits_[i])); });
  }

  /// Replaces each logit by change(id, logit). -inf drops a candidate; NaN ends the row with fault::nan_logits.
  template <class Change>
  void edit(Change change) {
    const std::span<float> changed = edit_logits();
    for (std::size_t i = 0; i < size_; ++i) changed[i] = change(ids_[i], changed[i]);
    if (settle() != fault::none) edited_ = true;  // found again after the stage
  }

  /// The sum of value(id, logit) over all candidates, in fp64.
  template <class Value>
  double sum_of(Value value) const {
    double sum = 0;
    for (std::size_t i = 0; i < size_; ++i) sum += value(ids_[i], logits_[i]);
    return sum;
  }

  /// Candidate numbers ordered by ascending `key(i)`, the lower number first on a tie. Valid until the next
  /// change.
  template <class Key>
  std::span<const std::uint32_t> order_by(Key key) {
    const std::span<std::uint32_t> order{order_.data(), size_};
    std::iota(order.begin(), order.end(), std::uint32_t{0});
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      const auto ka = key(a), kb = key(b);
      return ka < kb || (!(kb < ka) && a < b);
    });
    return order;
  }

  /// Divides the logits by `temperature` (positive and finite) after taking away the best one, so that
  /// nothing overflows.
  void divide_by(float temperature) {
    if (temperature == 1.0f) return;
    constexpr float lowest = std::numeric_limits<float>::lowest();
    const std::size_t padded = pad(logits_, best_);
    for (std::size_t i = 0; i < padded; ++i) {
      const float scaled = (logits_[i] - best_) / temperature;
      logits_[i] = scaled > lowest ? scaled : lowest;
    }
    best_ = 0;
    weighed_ = totalled_ = false;
  }

  /// A number in [0, 1) for a stage that needs chance; the same for the same request seed, token and
  /// `stream`. Stages choose a stream of their own, other than 0.
  float random(std::uint32_t stream) const { return philox::uniform(seed_, token_index_, stream); }

  /// Draws by the softmax of the logits; `u` in [0, 1). What has probability zero is never drawn.
  token_id draw(double u) {
    const double wanted = u * total();
    std::size_t c = 0, begin = 0;
    double reached = 0;
    for (; begin + chunk < size_ && reached + sums_[c] <= wanted; begin += chunk) reached += sums_[c++];
    const std::size_t end = (std::min)(begin + chunk, size_);
    std::size_t last_possible = size_;
    for (std::size_t i = begin; i < end; ++i) {
      if (weights_[i] <= 0) continue;
      last_possible = i;
      reached += static_cast<double>(weights_[i]);
      if (reached > wanted) return ids_[i];
    }
    // The sums were added in another order and end a rounding error short of `wanted`.
    if (last_possible == size_) last_possible = last_with_weight_before(begin);
    return ids_[last_possible];
  }

  /// Starts a row: exactly as many logits as the vocabulary has tokens. `banned` ids are treated as -inf (ids
  /// outside the row are ignored). The row is copied, not changed.
  fault begin(std::span<const float> row, std::span<const token_id> banned, std::uint64_t seed,
              std::uint64_t token_index) {
    const row_facts facts = scan(row);
    seed_ = seed, token_index_ = token_index;
    if (facts.has_nan) return fault::nan_logits;
    reserve(row.size());
    std::copy(row.begin(), row.end(), logits_.begin());
    std::iota(ids_.begin(), ids_.begin() + static_cast<std::ptrdiff_t>(row.size()), token_id{0});
    size_ = row.size();
    weighed_ = totalled_ = edited_ = false;
    if (banned.empty()) return admit(facts);
    for (const token_id id : banned) {
      if (id >= 0 && static_cast<std::size_t>(id) < size_) {
        logits_[static_cast<std::size_t>(id)] = -std::numeric_limits<float>::infinity();
      }
    }
    return admit(scan(logits()));
  }

  /// Restores what always holds, after a stage.
  fault settle() {
    if (size_ == 0) return fault::nothing_possible;
    if (!edited_) return fault::none;
    edited_ = false;
    return admit(scan(logits()));
  }

 private:
  static constexpr std::size_t chunk = 512;        // weights in one partial sum
  static constexpr std::size_t maxima_block = 64;  // logits that share one maximum

  void reserve(std::size_t vocabulary) {
    if (vocabulary <= ids_.size()) return;
    const std::size_t padded = detail::round_up(vocabulary, detail::lanes);
    ids_.resize(vocabulary);
    logits_.resize(padded);
    weights_.resize(padded);
    order_.resize(vocabulary + 1);  // lists are written one past their end
    sums_.resize(vocabulary / chunk + 1);
    maxima_.resize(vocabulary / maxima_block + 1);
    bins_.resize(detail::selection_bins);
  }

  /// Fills up to a whole number of lanes, and says how many elements that makes.
  std::size_t pad(std::vector<float>& values, float filler) {
    const std::size_t padded = detail::round_up(size_, detail::lanes);
    for (std::size_t i = size_; i < padded; ++i) values[i] = filler;
    return padded;
  }

  fault admit(const row_facts& facts) {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    if (facts.has_nan) return fault::nan_logits;
    if (facts.best == -infinity) return fault::nothing_possible;
    best_ = facts.best;
    if (facts.best == infinity) {
      keep_at_least(infinity);
      std::fill_n(logits_.begin(), size_, 0.0f);
      best_ = 0;
    } else if (facts.lowest == -infinity) {
      keep_at_least(std::numeric_limits<float>::lowest());
    }
    return fault::none;
  }

  /// Keeps the first `count` candidates of the list in order_, which is in ascending order.
  void gather(std::size_t count) {
    if (count == size_) return;
    for (std::size_t i = 0; i < count; ++i) ids_[i] = ids_[order_[i]];
    for (std::size_t i = 0; i < count; ++i) logits_[i] = logits_[order_[i]];
    if (weighed_) {
      for (std::size_t i = 0; i < count; ++i) weights_[i] = weights_[order_[i]];
    }
    size_ = count;
    totalled_ = false;
  }

  /// Drops most of what cannot be among the k best: when k blocks have a maximum of at least t, so have k
  /// candidates.
  void drop_below_block_maxima(std::size_t k) {
    const std::size_t blocks = size_ / maxima_block;
    if (k > blocks / 2) return;
    for (std::size_t b = 0; b < blocks; ++b) {
      maxima_[b] = detail::maximum<maxima_block>(logits_.data() + b * maxima_block);
    }
    const auto kth = maxima_.begin() + static_cast<std::ptrdiff_t>(k - 1);
    std::nth_element(maxima_.begin(), kth, maxima_.begin() + static_cast<std::ptrdiff_t>(blocks),
                     std::greater<float>());
    keep_at_least(*kth);
  }

  std::size_t last_with_weight_before(std::size_t end) const {
    while (end > 1 && weights_[end - 1] <= 0) --end;
    return end - 1;
  }

  std::vector<token_id> ids_;
  std::vector<float> logits_, weights_;  // size_ used, then padding to a whole number of lanes
  std::vector<double> sums_;             // of `chunk` weights each
  std::vector<float> maxima_;
  std::vector<std::uint32_t> order_;
  std::vector<detail::selection_bin> bins_;
  std::size_t size_ = 0;
  float best_ = 0;
  double total_ = 0;
  bool weighed_ = false, totalled_ = false, edited_ = false;
  std::uint64_t seed_ = 0, token_index_ = 0;
};

}  // namespace tenon::sampling
