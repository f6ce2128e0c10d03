// The engine types that tenon-serve-bench compares, each behind a function that runs a workload with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tenon/engine/options.hpp>
#include <tenon/schedule/outcome.hpp>
#include <vector>

#include "serve/drive.hpp"
#include "serve/workload.hpp"

namespace serve {

/// What is run, the same for all policy sets.
struct run_settings {
  std::string model;
  tenon::engine_options options;
  std::vector<planned_request> requests;
  std::size_t prefix_len = 0;
  std::size_t max_concurrency = 0;  // 0: an open loop
  std::uint64_t seed = 0;
};

/// What came out of it.
struct run_outcome {
  std::vector<request_record> requests;
  tenon::schedule::counters work;  // of the scheduler, during the run
};

/// A named choice of policies.
struct policy_set {
  std::string_view name;
  std::string_view what;         // in a few words
  std::string_view description;  // the engine's
  std::size_t most_sequences;    // at once
  run_outcome (*run)(const run_settings&);
};

/// The sets that are compiled in, by what their engines share: those of one cache view have their kernels in common.
std::vector<policy_set> contiguous_sets();
std::vector<policy_set> paged_sets();

inline std::vector<policy_set> all_policy_sets() {
  std::vector<policy_set> sets = contiguous_sets();
  for (const policy_set& set : paged_sets()) sets.push_back(set);
  return sets;
}

/// Runs one request of the workload's lengths, with tokens of its own, so that the run finds threads and memory warm but
/// no prefix in the cache. None, when none can be served: the run will say why.
template <class Engine>
void warm_up(Engine& engine, const run_settings& settings) {
  const planned_request& first = settings.requests.front();
  const auto prompt = random_tokens(first.input_len, engine.tokenizer().size(),
                                    random_stream(settings.seed, purpose::warm_up));
  try {
    const auto id = engine.submit(
        prompt, {.max_tokens = static_cast<std::int32_t>(first.output_len), .ignore_eos = true});
    while (engine.step()) continue;
    engine.take(id);
  } catch (const tenon::request_error&) {
  }
}

/// Loads an engine, runs the workload, and lets it go. Throws what loading throws.
template <class Engine>
run_outcome run_with(const run_settings& settings) {
  Engine engine = Engine::load(settings.model, settings.options);
  const auto prompts =
      make_prompts(settings.requests, settings.prefix_len, engine.tokenizer().size(), settings.seed);
  warm_up(engine, settings);
  const tenon::schedule::counters before = engine.counters();
  steady_clock clock;
  run_outcome made;
  made.requests = driver(engine, clock, settings.requests, prompts, settings.max_concurrency).run();
  made.work = engine.counters() - before;
  return made;
}

template <class Engine>
policy_set policy_set_of(std::string_view name, std::string_view what) {
  return {name, what, Engine::description(), Engine::batching_policy::max_batch, run_with<Engine>};
}

}  // namespace serve
