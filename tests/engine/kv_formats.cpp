// Engines whose keys and values are cached in 8 bits: what the reference gives when it rounds them so.
#include "engine/engines.hpp"
#include "engine/rounded_cache.hpp"

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <vector>

namespace {

using namespace tenon;
using namespace tenon::test;

using eight_bit_engine =
    engine<model::llama, precision::mixed<activations<f32>, kv<e4m3, q8_0>>, sampling::greedy,
           batching::continuous<batching::queue::fcfs, batching::prefill::chunked<5>,
                                batching::preemption::none, 4>>;

}  // namespace

BOOST_AUTO_TEST_SUITE(kv_formats)

BOOST_AUTO_TEST_CASE(logits_are_those_of_a_reference_that_rounds_keys_to_e4m3_and_values_to_q8_0) {
  check_rounded_cache<eight_bit_engine>("base_5e5");
  check_rounded_cache<eight_bit_engine>("hd64_9q3kv_v262");
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
