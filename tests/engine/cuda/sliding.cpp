// An engine on CUDA over a cache that keeps a window: what the reference gives when it sees no more.
#include "engine/cuda/sliding.hpp"

#include "engine/engines.hpp"
#include "engine/tiny_check.hpp"
#include "reference/llama.hpp"

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <string>
#include <vector>

namespace {

using namespace tenon;
using namespace tenon::test;

const std::string model_name = "hd64_9q3kv_v262";

reference::reference_llama windowed_reference() {
  return reference::reference_llama(io::gguf_file::open(tiny_model(model_name).string()), 7, 2);
}
cuda_windowed_engine load() { return cuda_windowed_engine::load(tiny_model(model_name), {.context = 64}); }

}  // namespace

BOOST_AUTO_TEST_SUITE(sliding)

BOOST_AUTO_TEST_CASE(logits_are_those_of_a_reference_that_sees_the_window_and_the_sinks) {
  const auto prompt = some_prompts(1, 40)[0];
  const auto expected = windowed_reference().all_logits(prompt);
  auto engine = load();
  const auto seen = all_logits(engine, prompt);
  BOOST_REQUIRE(seen.size() == expected.size());
  for (std::size_t token = 0; token < seen.size(); ++token)
    for (std::size_t i = 0; i < seen[token].size(); ++i)
      BOOST_TEST_REQUIRE(std::fabs(static_cast<double>(seen[token][i] - expected[token][i])) < fp32_bound,
                         "token " << token << ", logit " << i);
}

BOOST_AUTO_TEST_CASE(steps_of_several_go_on_far_beyond_the_window) {
  const auto prompts = some_prompts(3, 20);
  const auto model = windowed_reference();
  auto engine = load();
  std::vector<request_id> ids;
  for (const auto& prompt : prompts) {
    auto request = greedy<cuda_windowed_engine>(12);
    request.ignore_eos = true;
    ids.push_back(engine.submit(prompt, request));
    engine.step();
  }
  run_to_end(engine);
  for (std::size_t i = 0; i < prompts.size(); ++i)
    BOOST_TEST(engine.take(ids[i]).value().tokens == model.greedy(prompts[i], 12),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
