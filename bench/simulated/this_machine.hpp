// This machine as a device, from three measurements of the host engine: everything else that it does is then predicted.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <tenon/tenon.hpp>
#include <vector>

namespace simulated_error {

/// What calibrate() found. A program has one machine.
struct this_machine {
  static constexpr auto name = tenon::fixed_string("this machine");
  static tenon::device::description describe() { return found(); }
  static tenon::device::description& found() {
    static tenon::device::description made = [] {
      tenon::device::description any;
      any.memory = 1e15;  // the host engine has been loaded
      any.bandwidth = 50e9;
      any.flops_32 = any.flops_16 = any.flops_8 = 1e12;
      return any;
    }();
    return made;
  }
};

using host_engine = tenon::engine<
    tenon::model::llama, tenon::backend::host, tenon::sampling::greedy, tenon::cache::paged<16>,
    tenon::batching::continuous<tenon::batching::queue::fcfs, tenon::batching::prefill::chunked<512>,
                                tenon::batching::preemption::recompute<>, 32>>;
using simulated_engine =
    host_engine::with<tenon::backend::simulated<this_machine, tenon::device::host_gap<0>>>;

/// Requests that are there at once. One token for each: seconds to the first; more: seconds between tokens.
struct point {
  std::size_t batch, prompt;
  bool decodes;
};

/// The figure of a point. The best of some runs: what a real machine can do when nobody disturbs it.
template <class Engine>
double figure_of(Engine& engine, const point& p, int runs = 1) {
  double best = std::numeric_limits<double>::infinity();
  const std::vector<tenon::token_id> prompt(p.prompt, 1000);
  for (int run = 0; run < runs; ++run) {
    std::vector<tenon::request_id> ids;
    for (std::size_t i = 0; i < p.batch; ++i)
      ids.push_back(engine.submit(prompt, {.max_tokens = p.decodes ? 33 : 1, .ignore_eos = true}));
    while (engine.step()) continue;
    for (const tenon::request_id id : ids) {
      const auto times = engine.take(id).value().times;
      if (id == ids.back()) best = (std::min)(best, p.decodes ? times.tpot() : times.ttft());
    }
  }
  return best;
}

inline constexpr point calibration_points[] = {{1, 16, true}, {1, 64, false}, {1, 1024, false}};
inline constexpr point predicted_points[] = {{1, 1024, true}, {2, 16, true},  {4, 16, true},
                                             {8, 16, true},   {16, 16, true}, {32, 16, true},
                                             {1, 256, false}, {1, 512, false}};

inline simulated_engine simulate_this_machine(const std::string& model) {
  return simulated_engine::load(model, {.max_step_tokens = 1024});
}

/// The value of a field, from 1/64 to 64 times what it is, with which the simulation gives this figure: more makes it less.
inline void fit(double& field, const std::string& model, const point& p, double figure) {
  double low = field / 64, high = field * 64;
  for (int step = 0; step < 22; ++step) {
    field = std::sqrt(low * high);
    simulated_engine engine = simulate_this_machine(model);
    (figure_of(engine, p) > figure ? low : high) = field;
  }
}

/// Sets this_machine by three figures of the host engine: the bandwidth by single tokens, the rate of products by a short prompt,
/// the rate of attention by a long one.
inline void calibrate(const std::string& model, host_engine& host, int runs) {
  tenon::device::description& d = this_machine::found();
  double figures[3];
  for (std::size_t i = 0; i < 3; ++i) figures[i] = figure_of(host, calibration_points[i], runs);
  for (int round = 0; round < 2; ++round) {  // each figure depends on the other fields a little
    fit(d.bandwidth, model, calibration_points[0], figures[0]);
    fit(d.product_efficiency, model, calibration_points[1], figures[1]);
    fit(d.attention_efficiency, model, calibration_points[2], figures[2]);
  }
}

}  // namespace simulated_error
