// A run's numbers, as benchmarks of servers print them (the names of `vllm bench serve`).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "tenon/measure/request_times.hpp"

namespace tenon::measure {

/// The q-th part (0 to 1) of ascending values, with linear interpolation as in numpy. 0 for no values.
inline double quantile(std::span<const double> ascending, double q) {
  if (ascending.empty()) return 0;
  const double place = q * static_cast<double>(ascending.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = (std::min)(below + 1, ascending.size() - 1);
  return ascending[below] + (place - static_cast<double>(below)) * (ascending[above] - ascending[below]);
}

/// Of a set of values, in their unit. All 0 for none.
struct distribution {
  std::size_t count = 0;
  double mean = 0, median = 0, std = 0, p90 = 0, p99 = 0;  // std: of the set, not of a sample

  static distribution of(std::vector<double> values) {
    distribution made;
    made.count = values.size();
    if (values.empty()) return made;
    const auto n = static_cast<double>(values.size());
    for (const double v : values) made.mean += v / n;
    for (const double v : values) made.std += (v - made.mean) * (v - made.mean) / n;
    made.std = std::sqrt(made.std);
    std::sort(values.begin(), values.end());
    made.median = quantile(values, 0.5);
    made.p90 = quantile(values, 0.9);
    made.p99 = quantile(values, 0.99);
    return made;
  }
};

/// What users put up with, in seconds; by default anything.
struct service_limits {
  double ttft = std::numeric_limits<double>::infinity();
  double tpot = std::numeric_limits<double>::infinity();
  double e2e = std::numeric_limits<double>::infinity();

  /// A request without a token does not. TPOT is 0 for a single token.
  bool met_by(const request_times& t) const {
    return t.tokens > 0 && t.ttft() <= ttft && t.tpot() <= tpot && t.e2e() <= e2e;
  }
};

/// A run of `wall` seconds, from the first arrival to the last completion. Requests without a token have failed.
struct run_summary {
  double wall = 0;
  std::size_t completed = 0, failed = 0;
  std::size_t input_tokens = 0, output_tokens = 0;  // of those completed
  double request_throughput = 0;                    // per second
  double output_throughput = 0;
  double total_token_throughput = 0;
  double concurrency = 0;  // requests in the system, on average: the sum of their latencies by the wall time
  double goodput = 0;      // completed requests within the limits, per second
  double attainment = 0;   // their share of all requests
  distribution ttft, tpot, itl, e2e;  // seconds; ITL over all gaps, the others over requests

  /// `gaps`: the seconds between the deliveries of each request, all together. TPOT leaves out requests of a single
  /// token, as it has no value for them.
  static run_summary of(std::span<const request_times> requests, std::vector<double> gaps, double wall,
                        const service_limits& limits = {}) {
    run_summary made;
    made.wall = wall;
    std::vector<double> ttfts, tpots, e2es;
    std::size_t good = 0;
    for (const request_times& t : requests) {
      if (t.tokens == 0) {
        ++made.failed;
        continue;
      }
      ++made.completed;
      made.input_tokens += t.prompt_tokens;
      made.output_tokens += t.tokens;
      made.concurrency += t.e2e();
      good += limits.met_by(t) ? 1u : 0u;
      ttfts.push_back(t.ttft());
      e2es.push_back(t.e2e());
      if (t.tokens > 1) tpots.push_back(t.tpot());
    }
    const auto rate = [&](std::size_t count) { return wall > 0 ? static_cast<double>(count) / wall : 0.0; };
    made.request_throughput = rate(made.completed);
    made.output_throughput = rate(made.output_tokens);
    made.total_token_throughput = rate(made.input_tokens + made.output_tokens);
    made.concurrency = wall > 0 ? made.concurrency / wall : 0.0;
    made.goodput = rate(good);
    if (!requests.empty()) made.attainment = static_cast<double>(good) / static_cast<double>(requests.size());
    made.ttft = distribution::of(std::move(ttfts));
    made.tpot = distribution::of(std::move(tpots));
    made.itl = distribution::of(std::move(gaps));
    made.e2e = distribution::of(std::move(e2es));
    return made;
  }
};

}  // namespace tenon::measure
