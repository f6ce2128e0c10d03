// A run's figures as `vllm bench serve` writes them: one JSON object with its field names.
#pragma once

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tenon/core/concat.hpp>
#include <tenon/measure/peaks.hpp>
#include <tenon/measure/summary.hpp>
#include <vector>

#include "serve/bad_input.hpp"
#include "serve/policy_set.hpp"
#include "serve/text.hpp"

namespace serve {

using tenon::measure::seconds;

/// Limits in milliseconds, as "ttft:500", "tpot:100" and "e2el:30000"; nothing for none. Throws bad_input.
inline std::optional<tenon::measure::service_limits> parse_goodput(std::span<const std::string> limits) {
  if (limits.empty()) return std::nullopt;
  tenon::measure::service_limits made;
  for (const std::string& limit : limits) {
    const auto parts = split(limit, ':');
    double milliseconds = 0;
    double* const field = parts[0] == "ttft"   ? &made.ttft
                          : parts[0] == "tpot" ? &made.tpot
                          : parts[0] == "e2el" ? &made.e2e
                                               : nullptr;
    if (field == nullptr || parts.size() != 2 || !read_number(parts[1], milliseconds) || !(milliseconds > 0))
      throw bad_input(tenon::concat("--goodput has '", limit,
                                    "'; it wants limits in milliseconds, as ttft:500 tpot:100 e2el:30000"));
    *field = milliseconds / 1e3;
  }
  return made;
}

namespace detail {

/// Seconds from each delivery to the next.
inline std::vector<double> gaps(const request_record& request) {
  std::vector<double> made;
  for (std::size_t i = 1; i < request.deliveries.size(); ++i)
    made.push_back(seconds(request.deliveries[i - 1], request.deliveries[i]));
  return made;
}

inline void add_distribution(nlohmann::ordered_json& object, std::string_view name,
                             const tenon::measure::distribution& d) {
  const auto key = [&](std::string_view which) { return tenon::concat(which, "_", name, "_ms"); };
  object[key("mean")] = 1e3 * d.mean;
  object[key("median")] = 1e3 * d.median;
  object[key("std")] = 1e3 * d.std;
  object[key("p99")] = 1e3 * d.p99;
}

}  // namespace detail

/// The metrics of a run. Failed requests count in `failed` alone. The duration is from the first arrival to the last
/// token. `request_goodput` is null without limits.
inline nlohmann::ordered_json metrics_json(std::span<const request_record> requests,
                                           const std::optional<tenon::measure::service_limits>& limits) {
  std::vector<tenon::measure::request_times> times;
  std::vector<double> itls;
  std::vector<time_point> deliveries;
  time_point first = time_point::max(), last = time_point::min();
  for (const request_record& r : requests) {
    times.push_back(r.times);
    if (!r.completed()) {
      times.back().tokens = 0;  // by which a summary knows
      continue;
    }
    first = (std::min)(first, r.times.arrival);
    last = (std::max)(last, r.times.last_token);
    deliveries.insert(deliveries.end(), r.deliveries.begin(), r.deliveries.end());
    const auto gaps = detail::gaps(r);
    itls.insert(itls.end(), gaps.begin(), gaps.end());
  }
  const auto s =
      tenon::measure::run_summary::of(times, std::move(itls), deliveries.empty() ? 0 : seconds(first, last),
                                      limits.value_or(tenon::measure::service_limits{}));
  nlohmann::ordered_json object = {
      {"duration", s.wall},
      {"completed", s.completed},
      {"failed", s.failed},
      {"total_input_tokens", s.input_tokens},
      {"total_output_tokens", s.output_tokens},
      {"request_throughput", s.request_throughput},
      {"request_goodput", nullptr},
      {"output_throughput", s.output_throughput},
      {"total_token_throughput", s.total_token_throughput},
      {"max_output_tokens_per_s", tenon::measure::most_per_second(deliveries, first)},
      {"max_concurrent_requests", tenon::measure::most_at_once(times)}};
  if (limits) object["request_goodput"] = s.goodput;
  detail::add_distribution(object, "ttft", s.ttft);
  detail::add_distribution(object, "tpot", s.tpot);
  detail::add_distribution(object, "itl", s.itl);
  detail::add_distribution(object, "e2el", s.e2e);
  return object;
}

/// The scheduler's work, which a client does not see.
inline nlohmann::ordered_json work_json(const tenon::schedule::counters& work) {
  return {{"steps", work.steps},
          {"computed_tokens", work.computed_tokens},
          {"recomputed_tokens", work.recomputed_tokens},
          {"preemptions", work.preemptions},
          {"prefix_cache_queries", work.prefix_queries},
          {"prefix_cache_hits", work.prefix_hits}};
}

/// Lists with one entry for each request, in seconds: `start_times` since the first one was due, `queue_times` from when
/// it was due until it was sent.
inline nlohmann::ordered_json details_json(std::span<const request_record> requests) {
  nlohmann::ordered_json object;
  for (const char* list : {"input_lens", "output_lens", "ttfts", "itls", "latencies", "start_times",
                           "queue_times", "generated_texts", "errors"})
    object[list] = nlohmann::ordered_json::array();
  for (const request_record& r : requests) {
    object["input_lens"].push_back(r.times.prompt_tokens);
    object["output_lens"].push_back(r.completed() ? r.times.tokens : 0);
    object["ttfts"].push_back(r.times.ttft());
    object["itls"].push_back(detail::gaps(r));
    object["latencies"].push_back(r.times.e2e());
    object["start_times"].push_back(seconds(requests.front().due, r.times.arrival));
    object["queue_times"].push_back(seconds(r.due, r.times.arrival));
    object["generated_texts"].push_back(r.text);
    object["errors"].push_back(r.error);
  }
  return object;
}

}  // namespace serve
