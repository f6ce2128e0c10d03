#include "case_study/engines.hpp"

#include <array>
#include <utility>

#include "case_study/textbook.hpp"
#include "serve/drive.hpp"
#include "serve/engine_clock.hpp"
#include "serve/workload.hpp"

namespace case_study {

namespace {

using namespace tenon;
using namespace tenon::batching;

using a100 = device::a100_80gb;
template <class HostGap>
using on_a100 = backend::simulated<a100, HostGap>;
using in_16_bits = precision::mixed<weights<f16>, activations<f16>, kv<f16>>;

using static_8 = engine<model::llama, on_a100<device::host_gap<100>>, in_16_bits, sampling::greedy,
                        cache::contiguous, static_batch<8>>;
template <class Prefill, std::size_t Batch = 16>
using continuous_batch = continuous<queue::fcfs, Prefill, preemption::recompute<>, Batch>;
using continuous_16 = static_8::with<continuous_batch<prefill::whole>>;
using chunked_16 = static_8::with<continuous_batch<prefill::chunked<512>>>;
using paged_64 = static_8::with<continuous_batch<prefill::chunked<512>, 64>>::with<cache::paged<16>>;

using fp8_weights = paged_64::with<precision::mixed<weights<e4m3>, activations<f16>, kv<f16>>>;
using weights_of_4_bits = paged_64::with<precision::mixed<weights<q4_0>, activations<f16>, kv<f16>>>;
using fp8_cache = paged_64::with<precision::mixed<weights<f16>, activations<f16>, kv<e4m3>>>;
using guessing =
    paged_64::with<backend::simulated<a100, device::host_gap<100>, device::speculative<4, 70, 5>>>;
using on_two = paged_64::with<backend::simulated<device::tensor_parallel<a100, 2>>>;

template <class Engine>
Engine make() {
  engine_options options;
  options.context = max_length;
  options.max_step_tokens = max_length;
  options.cache_tokens =
      static_cast<std::size_t>(cache_bytes / static_cast<double>(Engine::kv_bytes_per_token(model_7b)));
  return Engine::simulate(model_7b, options);
}

template <class Engine>
outcome run(std::span<const serve::planned_request> requests, std::size_t users) {
  Engine engine = make<Engine>();
  constexpr std::size_t bytes = 256;  // the tokens that stand for something
  const auto prompts = serve::make_prompts(requests, 0, bytes, 1);
  serve::engine_clock clock(engine);
  outcome made;
  made.requests = serve::driver(engine, clock, requests, prompts, users).run();
  made.work = engine.counters();
  made.mean_batch =
      static_cast<double>(engine.work().sampled) / static_cast<double>(engine.work().sampling_steps);
  return made;
}

template <class Engine>
candidate candidate_of(std::string_view name) {
  return {name, Engine::description(), run<Engine>};
}

}  // namespace

std::span<const candidate> textbook_systems() {
  static const std::array<candidate, 2> all = {
      candidate_of<static_8::with<on_a100<device::host_gap<static_gap_us>>>>("static batch of 8"),
      candidate_of<continuous_16::with<on_a100<device::host_gap<continuous_gap_us>>>>(
          "continuous batch of 16")};
  return all;
}

std::span<const candidate> good_engines() {
  static const std::array<candidate, 9> all = {
      candidate_of<static_8>("static batch of 8"),
      candidate_of<continuous_16>("continuous batch of 16"),
      candidate_of<chunked_16>("... and prompts in chunks of 512"),
      candidate_of<paged_64>("... and a paged cache, up to 64"),
      candidate_of<fp8_weights>("... and weights in FP8"),
      candidate_of<weights_of_4_bits>("... or weights in 4 bits"),
      candidate_of<fp8_cache>("... or the cache in FP8"),
      candidate_of<guessing>("... or 4 guesses a step, 70 % right"),
      candidate_of<on_two>("... or two A100s"),
  };
  return all;
}

}  // namespace case_study
