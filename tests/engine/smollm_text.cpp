// SmolLM2-135M-Instruct's greedy texts, as four independent engines and configurations give them.
#include "engine/engines.hpp"
#include "support/json.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

TENON_INSTANTIATE(tenon::test::bf16_engine);

namespace {

using namespace tenon;
using namespace tenon::test;

/// Prompts whose lengths lie at and beside the borders of pages, chunks and batches. The best token leads by
/// at least 1.9 in each step, so that no precision excuses another text. In two batches.
template <class Engine>
void check_borders() {
  Engine engine = Engine::load(TENON_TEST_MODEL, {.context = 512, .threads = 2});
  const json cases = load_cases("ref_borders.json");
  BOOST_REQUIRE(cases.size() == 15u);
  std::vector<request_id> ids;
  for (const json& each : cases) {
    const auto expected = numbers<token_id>(each.at("continuation"));
    ids.push_back(
        engine.submit(numbers<token_id>(each.at("ids")), greedy<Engine>(static_cast<int>(expected.size()))));
  }
  run_to_end(engine);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    BOOST_TEST_CONTEXT("prompt of " << cases[i].at("prompt_tokens") << ", " << Engine::description()) {
      const auto result = engine.take(ids[i]);
      BOOST_REQUIRE(result.has_value());
      const auto expected = numbers<token_id>(cases[i].at("continuation"));
      BOOST_TEST(result->tokens == expected, boost::test_tools::per_element());
    }
  }
}

/// Greedy texts of up to 64 tokens, which must be equal while the best token leads by more than `least_gap`.
template <class Engine>
void check_generations(double least_gap) {
  Engine engine = Engine::load(TENON_TEST_MODEL, {.context = 512, .threads = 2});
  const json file = load_json("ref_generations.json");
  BOOST_REQUIRE(file.at("generations").size() == 7u);
  std::vector<request_id> ids;
  for (const json& each : file.at("generations")) {
    ids.push_back(engine.submit(numbers<token_id>(each.at("prompt_ids")), greedy<Engine>(64)));
  }
  run_to_end(engine);
  std::size_t compared = 0;
  for (std::size_t g = 0; g < ids.size(); ++g) {
    const json& each = file.at("generations")[g];
    BOOST_TEST_CONTEXT(each.at("name") << ", " << Engine::description()) {
      const auto result = engine.take(ids[g]);
      BOOST_REQUIRE(result.has_value());
      const auto expected = numbers<token_id>(each.at("fp32_ref").at("ids"));
      const auto gaps = numbers<double>(each.at("fp32_ref").at("gap_to_runner_up"));
      std::size_t sure = 0;
      while (sure < gaps.size() && gaps[sure] > least_gap) ++sure;
      BOOST_REQUIRE(result->tokens.size() >= sure);
      for (std::size_t i = 0; i < sure; ++i) BOOST_TEST(result->tokens[i] == expected[i], "token " << i);
      compared += sure;
      if (sure < gaps.size()) continue;
      BOOST_TEST(result->tokens.size() == expected.size());
      BOOST_TEST(result->text == each.at("fp32_ref").at("text").get<std::string>());
      const bool ended = expected.back() == 2 || expected.back() == 0;  // <|im_end|>, <|endoftext|>
      BOOST_TEST(to_string(result->finish) == (ended ? "stop" : "length"));
    }
  }
  BOOST_TEST_MESSAGE(Engine::description() << ": " << compared << " tokens compared");
  BOOST_TEST(compared > 30u);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(smollm_text, *boost::unit_test::precondition(smollm_is_here))

BOOST_AUTO_TEST_CASE(prompts_at_borders_continue_as_listed_with_fp32) { check_borders<fp32_engine>(); }

BOOST_AUTO_TEST_CASE(prompts_at_borders_continue_as_listed_with_int8) { check_borders<int8_engine>(); }

BOOST_AUTO_TEST_CASE(prompts_at_borders_continue_as_listed_with_bf16) { check_borders<bf16_engine>(); }

BOOST_AUTO_TEST_CASE(fp32_generates_the_listed_texts) { check_generations<fp32_engine>(0.01); }

BOOST_AUTO_TEST_CASE(int8_generates_them_until_a_step_is_closer_than_its_bound) {
  check_generations<int8_engine>(0.35);
}

BOOST_AUTO_TEST_CASE(bf16_generates_them_until_a_step_is_closer_than_its_bound) {
  check_generations<bf16_engine>(0.175);
}

BOOST_AUTO_TEST_CASE(a_full_context_ends_a_request_with_length) {
  int8_engine engine = int8_engine::load(TENON_TEST_MODEL, {.context = 64, .threads = 2});
  const json cases = load_cases("ref_borders.json");
  const json& each = cases[5];
  BOOST_REQUIRE(each.at("prompt_tokens") == 33);
  const auto result = complete(engine, numbers<token_id>(each.at("ids")), greedy<int8_engine>(64));
  BOOST_TEST(result.tokens.size() == 31u);
  BOOST_TEST(to_string(result.finish) == "length");
  const auto expected = numbers<token_id>(each.at("continuation"));
  for (std::size_t i = 0; i < expected.size(); ++i) BOOST_TEST(result.tokens[i] == expected[i]);
}

BOOST_AUTO_TEST_SUITE_END()
