// Counts of values in buckets, as Prometheus has them, and the buckets that vLLM has.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace tenon::measure {

/// Bucket i counts the values in (bounds[i - 1], bounds[i]]; the last one those above all bounds. observe() does not
/// allocate.
class histogram {
 public:
  /// `bounds` ascend.
  explicit histogram(std::vector<double> bounds) : bounds_(std::move(bounds)), counts_(bounds_.size() + 1) {}
  explicit histogram(std::span<const double> bounds)
      : histogram(std::vector<double>(bounds.begin(), bounds.end())) {}

  void observe(double value, std::uint64_t times = 1) {
    const auto bucket = std::lower_bound(bounds_.begin(), bounds_.end(), value) - bounds_.begin();
    counts_[static_cast<std::size_t>(bucket)] += times;
    count_ += times;
    sum_ += value * static_cast<double>(times);
  }

  std::span<const double> bounds() const { return bounds_; }
  std::span<const std::uint64_t> counts() const { return counts_; }  // one more than bounds
  std::uint64_t count() const { return count_; }
  double sum() const { return sum_; }

 private:
  std::vector<double> bounds_;
  std::vector<std::uint64_t> counts_;
  std::uint64_t count_ = 0;
  double sum_ = 0;
};

/// vLLM's, in seconds: to the first token,
inline constexpr double ttft_buckets[] = {.001, .005, .01, .02, .04, .06, .08, .1, .25, .5,  .75,
                                          1,    2.5,  5,   7.5, 10,  20,  40,  80, 160, 640, 2560};
/// between or per tokens,
inline constexpr double token_buckets[] = {.01, .025, .05, .075, .1,  .15, .2, .3, .4, .5,
                                           .75, 1,    2.5, 5,    7.5, 10,  20, 40, 80};
/// and of whole requests.
inline constexpr double request_buckets[] = {.3, .5, .8, 1,  1.5, 2,   2.5, 5,   10,   15,  20,
                                             30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680};
/// Tokens in a step.
inline constexpr double step_token_buckets[] = {1,   8,    16,   32,   64,   128,  256,
                                                512, 1024, 2048, 4096, 8192, 16384};
/// Samples of a request.
inline constexpr double sample_buckets[] = {1, 2, 5, 10, 20};

/// 1, 2, 5, 10, 20, 50 and so on, up to `longest`: tokens of a request.
inline std::vector<double> length_buckets(std::size_t longest) {
  std::vector<double> bounds;
  for (std::size_t power = 1; power <= longest; power *= 10)
    for (const std::size_t digit : {1u, 2u, 5u})
      if (power * digit <= longest) bounds.push_back(static_cast<double>(power * digit));
  return bounds;
}

}  // namespace tenon::measure
