// The parts of the case study, each as JSON; study.cpp prints them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <tenon/measure/summary.hpp>
#include <vector>

#include "case_study/engines.hpp"
#include "case_study/textbook.hpp"
#include "serve/arrivals.hpp"
#include "serve/lengths.hpp"
#include "serve/report.hpp"
#include "serve/workload.hpp"

namespace case_study {

using nlohmann::ordered_json;

/// What a user puts up with.
inline constexpr tenon::measure::service_limits limits{.ttft = 0.5, .tpot = 0.1};

/// A request that waits longer is starved.
inline constexpr double patience = 10;

struct settings {
  std::size_t requests = 2000;  // of each load
  double burstiness = 0.25;     // of arrivals: gaps twice as uneven as a Poisson process's
  std::uint64_t seed = 1;
};

/// Requests that arrive unevenly, with lengths as of the Azure conversation trace of 2023, cut to the longest kind.
inline std::vector<serve::planned_request> uneven_requests(double rate, const settings& s) {
  auto requests = serve::plan_requests(serve::arrivals(s.requests, rate, s.burstiness, s.seed),
                                       serve::length_model::parse("azure_conv"), {}, s.seed);
  for (serve::planned_request& r : requests) {
    r.output_len = (std::min)(r.output_len, max_length / 2);
    r.input_len = (std::min)(r.input_len, max_length - r.output_len);
  }
  return requests;
}

/// Requests of all rows that this program has made.
inline std::size_t& simulated_requests() {
  static std::size_t count = 0;
  return count;
}

/// A row: the fields of `vllm bench serve`, and of fairness.
inline ordered_json row_of(const candidate& c, std::span<const serve::planned_request> requests,
                           std::size_t users) {
  const outcome made = c.run(requests, users);
  simulated_requests() += requests.size();
  ordered_json row = {{"label", c.name}, {"description", c.description}};
  row.update(serve::metrics_json(made.requests, limits));
  row.update(serve::work_json(made.work));
  double longest = 0;
  std::size_t starved = 0;
  for (const serve::request_record& r : made.requests) {
    longest = (std::max)(longest, r.times.queue());
    starved += r.times.queue() > patience ? 1u : 0u;
  }
  const auto count = static_cast<double>(made.requests.size());
  row["longest_wait_s"] = longest;
  row["starved_percent"] = 100 * static_cast<double>(starved) / count;
  row["good_percent"] = 100 * row["request_goodput"].get<double>() * row["duration"].get<double>() / count;
  row["mean_batch"] = made.mean_batch;
  return row;
}

/// What the reported figures come to.
inline ordered_json reconciliation() {
  ordered_json rows = ordered_json::array();
  for (const reported_system& system : {reported_static, reported_continuous}) {
    for (const std::size_t context : {max_length / 4, max_length / 2, max_length}) {
      const decode_step step = decode_step_of(system.batch, context);
      rows.push_back({{"label", tenon::concat("batch of ", system.batch, ", context ", context)},
                      {"batch", system.batch},
                      {"context", context},
                      {"reported_tpot_ms", system.tpot_ms},
                      {"throughput_of_full_batch", 1e3 * static_cast<double>(system.batch) / system.tpot_ms},
                      {"step_gb", step.bytes / 1e9},
                      {"bandwidth_percent", 100 * step.bytes / (1e-3 * system.tpot_ms) /
                                                tenon::device::a100_80gb::describe().bandwidth},
                      {"device_ms", 1e3 * step.seconds},
                      {"lost_ms", system.tpot_ms - 1e3 * step.seconds}});
    }
  }
  return rows;
}

/// The textbook's systems and the same policies with a fast host, each with as many users as its batch has places: users
/// whose requests are all alike, or of the trace's lengths.
inline ordered_json full_batches(const settings& s) {
  std::vector<serve::planned_request> even(s.requests, {0, max_length / 2, max_length / 4});
  std::vector<serve::planned_request> uneven = uneven_requests(1, s);
  for (serve::planned_request& r : uneven) r.arrival = 0;
  ordered_json rows = ordered_json::array();
  const auto add = [&](const candidate& c, const char* host, std::size_t users) {
    for (const bool alike : {true, false}) {
      ordered_json row = row_of(c, alike ? even : uneven, users);
      row["label"] = tenon::concat(c.name, ", ", host, alike ? ", requests alike" : ", uneven");
      rows.push_back(row);
    }
  };
  for (std::size_t i = 0; i < textbook_systems().size(); ++i) {
    const std::size_t users = i == 0 ? reported_static.batch : reported_continuous.batch;
    add(textbook_systems()[i], "slow host", users);
    add(good_engines()[i], "fast host", users);
  }
  return rows;
}

/// All engines under the same load.
inline ordered_json under_load(double rate, const settings& s) {
  const auto requests = uneven_requests(rate, s);
  ordered_json rows = ordered_json::array();
  for (const candidate& c : good_engines()) rows.push_back(row_of(c, requests, 0));
  return rows;
}

/// The highest rate at which nine in ten requests are within the limits, to 2 %; null where no rate is low enough.
inline ordered_json capacity(const candidate& c, const settings& s) {
  const auto at = [&](double rate) { return row_of(c, uneven_requests(rate, s), 0); };
  const auto carries = [&](double rate) { return at(rate)["good_percent"].get<double>() >= 90; };
  double low = 1.0 / 256, high = 2 * low;
  const bool any = carries(low);
  while (any && carries(high) && high < 64) low = high, high *= 2;
  while (any && high / low > 1.02) {
    const double middle = (low + high) / 2;
    (carries(middle) ? low : high) = middle;
  }
  ordered_json row = at(low);
  row["rate"] = any ? ordered_json(low) : ordered_json(nullptr);
  return row;
}

}  // namespace case_study
