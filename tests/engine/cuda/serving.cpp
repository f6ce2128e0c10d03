// Serving on CUDA: the host engine's tokens, whatever shares blocks, leaves and comes back.
#include "engine/cuda/serving.hpp"

#include <boost/test/unit_test.hpp>

#include <vector>

namespace {

using namespace tenon;
using namespace tenon::test;

const tokens_of_all& expected() {
  static const tokens_of_all tokens = [] {
    auto engine = host_serving_engine::load(tiny_model(serving_model), {.context = 64, .threads = 2});
    return serve_each_alone(engine);
  }();
  return tokens;
}

template <class Engine = cuda_serving_engine>
Engine load(std::size_t cache_tokens) {
  return Engine::load(tiny_model(serving_model),
                      {.context = 64, .max_step_tokens = 24, .cache_tokens = cache_tokens});
}

}  // namespace

BOOST_AUTO_TEST_SUITE(serving)

BOOST_AUTO_TEST_CASE(blocks_that_are_shared_and_swapped_give_the_host_engines_tokens) {
  cuda_serving_engine engine = load(72);
  BOOST_TEST((serve(engine) == expected()));
  BOOST_TEST(engine.counters().swaps_out > 0u);
  BOOST_TEST(engine.counters().prefix_hits > 0u);
  BOOST_TEST(engine.cache_usage() == 0.0);
}

BOOST_AUTO_TEST_CASE(sequences_that_are_computed_again_give_the_host_engines_tokens) {
  auto engine = load<cuda_recomputing_engine>(72);
  BOOST_TEST((serve(engine) == expected()));
  BOOST_TEST(engine.counters().recomputed_tokens > 0u);
}

BOOST_AUTO_TEST_CASE(batches_that_run_to_the_end_give_the_host_engines_tokens) {
  auto engine = load<cuda_gathering_engine>(72);
  BOOST_TEST((serve(engine) == expected()));
}

BOOST_AUTO_TEST_CASE(samples_of_one_prompt_draw_as_requests_of_their_own) {
  cuda_serving_engine engine = load(192);
  const std::vector<token_id> prompt = serving_prompts()[8];
  auto request = serving_request<cuda_serving_engine>(1);
  request.n = 3;
  const request_id first = engine.submit(prompt, request);
  run_to_end(engine);
  BOOST_TEST(engine.counters().forks == 2u);
  auto host = host_serving_engine::load(tiny_model(serving_model), {.context = 64, .threads = 2});
  for (std::uint64_t i = 0; i < 3; ++i) {
    auto alone = serving_request<host_serving_engine>(1);
    *alone.seed += i;
    BOOST_TEST(engine.take(first + i).value().tokens == complete(host, prompt, alone).tokens,
               boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_SUITE_END()
