// What holds of every batching, cache, prefill and preemption policy: a request gets the same tokens, whatever it shares
// the engine with. For the engines of a backend to be held to.
#pragma once

#include "engine/engines.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tenon::test {

/// The policies that these tests hold against each other, in fp32, where every backend takes the same tokens.
template <class... Policies>
using serving_engine = engine<model::llama, precision::mixed<weights<f32>, activations<f32>, kv<f32>>,
                              sampling::chain<sampling::temperature, sampling::top_p>, Policies...>;

using tokens_of_all = std::vector<std::vector<token_id>>;
inline constexpr const char* serving_model = "hd64_9q3kv_v262";

/// Prompts of 1 to 40 tokens; every second begins like the first, so that prefixes can be shared.
inline tokens_of_all serving_prompts() {
  tokens_of_all prompts = some_prompts(9, 40);
  for (std::size_t i = 2; i < prompts.size(); i += 2) {
    const std::size_t shared = std::min({prompts[i].size() - 1, prompts[0].size(), std::size_t{3 * i}});
    std::copy_n(prompts[0].begin(), shared, prompts[i].begin());
  }
  return prompts;
}

/// Every second request takes the best token, the others draw; they end at different times.
template <class Engine>
typename Engine::params serving_request(std::size_t i) {
  return {.temperature = i % 2 == 0 ? 0.0f : 0.9f,
          .top_p = 0.95f,
          .seed = 1000 + i,
          .max_tokens = static_cast<int>(6 + 5 * i % 17),
          .priority = static_cast<std::int32_t>(i % 3),
          .client = i % 2,
          .ignore_eos = true};
}

/// Submits a request each step or two, and one more that is cancelled while it runs.
template <class Engine>
tokens_of_all serve(Engine& engine) {
  const tokens_of_all prompts = serving_prompts();
  std::vector<request_id> ids;
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    ids.push_back(engine.submit(prompts[i], serving_request<Engine>(i)));
    if (i % 2 == 1) engine.step();
    if (i == 4) {
      const request_id unwanted = engine.submit(prompts[1], serving_request<Engine>(12));
      engine.step();
      engine.step();
      engine.cancel(unwanted);
    }
  }
  run_to_end(engine);
  tokens_of_all tokens;
  for (const request_id id : ids) tokens.push_back(engine.take(id).value().tokens);
  return tokens;
}

/// What each request gets when it has an engine to itself.
template <class Engine>
tokens_of_all serve_each_alone(Engine& engine) {
  const tokens_of_all prompts = serving_prompts();
  tokens_of_all tokens;
  for (std::size_t i = 0; i < prompts.size(); ++i)
    tokens.push_back(complete(engine, prompts[i], serving_request<Engine>(i)).tokens);
  return tokens;
}

/// Blocks that are shared by prefixes and swapped out: everything that a host engine does with its cache. Compiled in
/// serving.cpp.
using sharing_engine =
    serving_engine<batching::continuous<batching::queue::shortest_first<>, batching::prefill::chunked<5>,
                                        batching::preemption::swap<batching::victim::least_progress>, 6>,
                   cache::prefix_shared<cache::paged<4>>>;

}  // namespace tenon::test

TENON_DECLARE_ENGINE(tenon::test::sharing_engine);
