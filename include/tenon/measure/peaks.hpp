// The busiest moments of a run, as `vllm bench serve` counts them.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tenon/measure/request_times.hpp"

namespace tenon::measure {

/// Most events within one second of a clock that starts at `start`: events in [start + k, start + k + 1) are of second k.
/// None may be before the start. vLLM's max_output_tokens_per_s, of the deliveries of tokens since the first arrival.
inline std::size_t most_per_second(std::span<const clock::time_point> events, clock::time_point start) {
  std::unordered_map<std::chrono::seconds::rep, std::size_t> counts;
  std::size_t most = 0;
  for (const clock::time_point event : events)
    most = (std::max)(most, ++counts[std::chrono::floor<std::chrono::seconds>(event - start).count()]);
  return most;
}

/// Most requests at once, each from its arrival until just before its last token. Those without a token have failed, and
/// do not count. vLLM's max_concurrent_requests.
inline std::size_t most_at_once(std::span<const request_times> requests) {
  std::vector<std::pair<clock::time_point, int>> changes;  // at one moment, those that leave come first
  for (const request_times& t : requests) {
    if (t.tokens == 0) continue;
    changes.emplace_back(t.arrival, 1);
    changes.emplace_back(t.last_token, -1);
  }
  std::sort(changes.begin(), changes.end());
  std::ptrdiff_t now = 0, most = 0;
  for (const auto& [moment, change] : changes) most = (std::max)(most, now += change);
  return static_cast<std::size_t>(most);
}

}  // namespace tenon::measure
