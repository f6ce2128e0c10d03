// Random numbers for a workload, the same on every machine for a seed: Philox and formulas written out here, as
// the distributions of the standard library are not the same in each of its implementations.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <tenon/core/philox.hpp>

namespace serve {

/// What is drawn: each purpose has numbers of its own, so that a change of one does not move the others.
enum class purpose : std::uint32_t { arrivals = 1, input_lengths, output_lengths, prompts, prefix, warm_up };

/// One sequence of numbers for a seed, a purpose and, where there are many of that kind, an index.
class random_stream {
 public:
  explicit constexpr random_stream(std::uint64_t seed, purpose what, std::uint32_t index = 0)
      : seed_(seed), stream_(static_cast<std::uint32_t>(what)), index_(std::uint64_t{index} << 32) {}

  /// In (0, 1), so that it has a logarithm.
  double uniform() {
    const double drawn = tenon::philox::uniform53(seed_, index_ | next_++, stream_);
    return drawn > 0 ? drawn : 0x1p-54;
  }

  /// 0 to count - 1. The bias is below count / 2^53.
  std::uint64_t below(std::uint64_t count) {
    return static_cast<std::uint64_t>(uniform() * static_cast<double>(count));
  }

  /// Mean 0, variance 1 (Box and Muller, 1958).
  double normal() {
    const double radius = std::sqrt(-2 * std::log(uniform()));
    return radius * std::cos(2 * std::numbers::pi * uniform());
  }

  /// The gamma distribution of this shape, more than 0, and scale 1, so that its mean is the shape (Marsaglia and
  /// Tsang, "A simple method for generating gamma variables", 2000).
  double gamma(double shape) {
    if (shape < 1) return gamma(shape + 1) * std::pow(uniform(), 1 / shape);
    const double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
    while (true) {
      const double x = normal(), root = 1 + c * x;
      if (root <= 0) continue;
      const double v = root * root * root;
      if (std::log(uniform()) < 0.5 * x * x + d - d * v + d * std::log(v)) return d * v;
    }
  }

 private:
  std::uint64_t seed_;
  std::uint32_t stream_;
  std::uint64_t index_;
  std::uint64_t next_ = 0;
};

}  // namespace serve
