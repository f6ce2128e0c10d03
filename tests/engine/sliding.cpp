// Engines over a cache that keeps a window: the tokens that the reference gives when it sees no more.
#include "engine/engines.hpp"
#include "engine/tiny_check.hpp"
#include "reference/llama.hpp"

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

namespace {

using namespace tenon;
using namespace tenon::test;

constexpr std::size_t window = 7, sinks = 2;
using windowed_engine = engine<model::llama, precision::fp32, cache::sliding<window, sinks>, sampling::greedy,
                               batching::continuous<batching::queue::fcfs, batching::prefill::chunked<5>,
                                                    batching::preemption::none, 4>>;

}  // namespace

BOOST_AUTO_TEST_SUITE(sliding)

BOOST_AUTO_TEST_CASE(logits_are_those_of_a_reference_that_sees_the_window_and_the_sinks) {
  const auto prompt = some_prompts(1, 40)[0];
  for (const char* name : {"base_5e5", "hd64_9q3kv_v262"}) {
    const reference::reference_llama model(io::gguf_file::open(tiny_model(name).string()), window, sinks);
    const auto expected = model.all_logits(prompt);
    auto engine = windowed_engine::load(tiny_model(name).string(), {.context = 64, .threads = 1});
    const auto seen = all_logits(engine, prompt);
    BOOST_REQUIRE(seen.size() == expected.size());
    for (std::size_t token = 0; token < seen.size(); ++token)
      for (std::size_t i = 0; i < seen[token].size(); ++i)
        BOOST_TEST_REQUIRE(std::fabs(static_cast<double>(seen[token][i] - expected[token][i])) < fp32_bound,
                           name << ", token " << token << ", logit " << i);
  }
}

BOOST_AUTO_TEST_CASE(a_request_gets_the_same_tokens_alone_and_in_company_far_beyond_the_window) {
  const auto prompts = some_prompts(6, 40);
  auto engine = windowed_engine::load(tiny_model("hd64_9q3kv_v262").string(), {.context = 64, .threads = 2});
  const reference::reference_llama model(io::gguf_file::open(tiny_model("hd64_9q3kv_v262").string()), window,
                                         sinks);
  std::vector<request_id> ids;
  for (const auto& prompt : prompts) {
    auto request = greedy<windowed_engine>(20);
    request.ignore_eos = true;
    ids.push_back(engine.submit(prompt, request));
    engine.step();
  }
  run_to_end(engine);
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    const auto tokens = engine.take(ids[i]).value().tokens;
    BOOST_TEST(tokens == model.greedy(prompts[i], 20), boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(the_cache_takes_no_more_memory_than_the_window) {
  const auto file = io::gguf_file::open(tiny_model("base_5e5").string());
  const engine_options short_steps{.context = 64, .max_step_tokens = 5};
  const auto rows = windowed_engine::plan(file, short_steps);
  const auto all = windowed_engine::with<cache::contiguous>::plan(file, short_steps);
  BOOST_TEST(rows.cache * 64 == all.cache * (window + sinks + 5 - 1));
}

BOOST_AUTO_TEST_SUITE_END()
