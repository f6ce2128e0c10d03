// When requests arrive: the gaps of `vllm bench serve`.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "serve/random_stream.hpp"

namespace serve {

/// Ascending seconds. Gaps are of a gamma distribution with the shape `burstiness`: at 1 this is a Poisson process,
/// below it arrivals come in bursts, above it they are more even; infinite is one gap for all. They are scaled so that
/// the last request arrives at count / rate, whatever the seed. An infinite rate is all at once.
inline std::vector<double> arrivals(std::size_t count, double rate, double burstiness, std::uint64_t seed) {
  std::vector<double> times(count, 0.0);
  if (count == 0 || std::isinf(rate)) return times;
  random_stream random(seed, purpose::arrivals);
  double sum = 0;
  for (double& time : times) time = sum += std::isinf(burstiness) ? 1 : random.gamma(burstiness);
  const double scale = static_cast<double>(count) / rate / sum;
  for (double& time : times) time *= scale;
  return times;
}

}  // namespace serve
