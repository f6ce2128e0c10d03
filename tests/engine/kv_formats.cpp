// Engines whose keys and values are cached in 8 bits: what the reference gives when it rounds them so.
#include "engine/engines.hpp"
#include "engine/tiny_check.hpp"
#include "reference/llama.hpp"
#include "reference/quantise.hpp"

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <cstddef>
#include <vector>

namespace {

using namespace tenon;
using namespace tenon::test;

using eight_bit_engine =
    engine<model::llama, precision::mixed<activations<f32>, kv<e4m3, q8_0>>, sampling::greedy,
           batching::continuous<batching::queue::fcfs, batching::prefill::chunked<5>,
                                batching::preemption::none, 4>>;

double mean_difference(const std::vector<std::vector<float>>& a, const std::vector<std::vector<float>>& b) {
  double sum = 0;
  std::size_t count = 0;
  for (std::size_t token = 0; token < a.size(); ++token)
    for (std::size_t i = 0; i < a[token].size(); ++i, ++count)
      sum += std::fabs(static_cast<double>(a[token][i]) - static_cast<double>(b[token][i]));
  return sum / static_cast<double>(count);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(kv_formats)

/// A value that lies at the border of two steps may be rounded either way, so no logit has a bound of its own; but all
/// together are much closer to the reference that rounds than rounding moves them.
BOOST_AUTO_TEST_CASE(logits_are_those_of_a_reference_that_rounds_keys_to_e4m3_and_values_to_q8_0) {
  const auto prompt = some_prompts(1, 40)[0];
  for (const char* name : {"base_5e5", "hd64_9q3kv_v262"}) {
    reference::reference_llama model(io::gguf_file::open(tiny_model(name).string()));
    const auto exact = model.all_logits(prompt);
    model.round_cache(reference::rounded_head<e4m3>, reference::rounded_head<q8_0>);
    const auto rounded = model.all_logits(prompt);
    auto engine = eight_bit_engine::load(tiny_model(name).string(), {.context = 64, .threads = 1});
    const auto seen = all_logits(engine, prompt);
    BOOST_REQUIRE(seen.size() == rounded.size());
    const double moved = mean_difference(exact, rounded), off = mean_difference(seen, rounded);
    BOOST_TEST(moved > fp32_bound / 10, name << " shows nothing: rounding moves logits by " << moved);
    BOOST_TEST(off < moved / 10, name << " is off by " << off << ", and rounding moves by " << moved);
  }
}

BOOST_AUTO_TEST_CASE(a_request_gets_the_same_tokens_alone_and_in_company) {
  const auto prompts = some_prompts(4, 24);
  const auto load = [] {
    return eight_bit_engine::load(tiny_model("hd64_9q3kv_v262").string(), {.context = 64, .threads = 2});
  };
  auto together = load();
  std::vector<request_id> ids;
  for (const auto& prompt : prompts) ids.push_back(together.submit(prompt, greedy<eight_bit_engine>(12)));
  run_to_end(together);
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    auto alone = load();
    BOOST_TEST(together.take(ids[i]).value().tokens == greedy_tokens(alone, prompts[i], 12),
               boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(the_cache_takes_the_bytes_of_its_blocks) {
  const auto file = io::gguf_file::open(tiny_model("hd64_9q3kv_v262").string());
  const auto eight = eight_bit_engine::plan(file, {.context = 64});
  const auto sixteen = eight_bit_engine::with<precision::from_file>::plan(file, {.context = 64});
  BOOST_TEST(eight.cache * 2 * (64 + 64) == sixteen.cache * (64 + 2 * 34));
}

BOOST_AUTO_TEST_SUITE_END()
