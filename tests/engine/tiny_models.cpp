// Eight small models with the head sizes, head ratios and vocabularies that break kernels, through whole
// engines: logits and greedy tokens against an independent fp32 forward pass.
#include "engine/engines.hpp"
#include "support/json.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

TENON_INSTANTIATE(tenon::test::fp32_engine);

namespace {

using namespace tenon;
using namespace tenon::test;

using portable_engine = fp32_engine::with<backend::basic_host<isa::portable>>;
using kv16_engine = fp32_engine::with<precision::mixed<activations<f32>, kv<f16, bf16>>>;

/// The reference's text form has five digits after the point, and its sums are in another order.
constexpr double fp32_bound = 1e-3;

/// Rounding to bf16 moves values by up to 2^-9 of themselves, and a layer's contribution by no more than that
/// share of the largest value; logits here are below 16, and 16 x 2^-9 = 2^-5 is what arrives there from each of
/// at most three layers. Keys in f16 move the softmax's weights besides: scores of some 16 by 2^-12 of their terms,
/// weights by 2^-7 at worst, were all terms of one sign and all errors at their limit. They are not (the products of
/// a head have both signs and errors are independent), so that stays inside the same bound: what is seen is 0.04.
/// The worst case of each head, keys included, is held by conformance/attention.
constexpr double kv16_bound = fp32_bound + 3 * 0x1p-5;

/// Logits of the last of the ids against the list, then eight greedy tokens for as long as the reference's
/// best token leads by more than both could move.
template <class Engine>
void check_models(double bound) {
  const json file = load_json("tiny_expected.json");
  const auto ids = numbers<token_id>(file.at("ids"));
  BOOST_REQUIRE(file.at("models").size() == 8u);
  double largest = 0;
  for (const auto& [name, each] : file.at("models").items()) {
    const json& expected = each;  // so that its type does not depend on the engine's
    BOOST_TEST_CONTEXT(name << ", " << Engine::description()) {
      Engine engine = Engine::load(tiny_model(name), {.context = 64, .threads = 2});
      const std::vector<float> logits = all_logits(engine, ids).back();
      double sum = 0, exponentials = 0;
      for (const float logit : logits) {
        sum += static_cast<double>(logit);
        exponentials += std::exp(static_cast<double>(logit));
      }
      BOOST_TEST(std::abs(sum - number(expected["sum"])) < bound * static_cast<double>(logits.size()));
      for (const json& entry : expected.at("top20")) {
        const double logit = static_cast<double>(logits.at(entry["id"].get<std::size_t>()));
        const double off = std::abs(logit - number(entry["logit"]));
        largest = (std::max)(largest, off);
        BOOST_TEST(off < bound, entry["id"] << " is off by " << off);
        BOOST_TEST(std::abs(logit - std::log(exponentials) - number(entry["logprob"])) < 2 * bound);
      }
      const auto greedy8 = numbers<token_id>(expected.at("greedy8"));
      const auto gaps = numbers<double>(expected.at("gaps8"));
      const std::vector<token_id> tokens = greedy_tokens(engine, ids, 8);
      BOOST_REQUIRE(tokens.size() == 8u);
      for (std::size_t i = 0; i < 8 && gaps[i] > 2 * bound; ++i)
        BOOST_TEST(tokens[i] == greedy8[i], "token " << i);
    }
  }
  BOOST_TEST_MESSAGE(Engine::description() << ": largest difference of a logit " << largest);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(tiny_models)

BOOST_AUTO_TEST_CASE(fp32_gives_the_listed_logits_and_tokens) { check_models<fp32_engine>(fp32_bound); }

BOOST_AUTO_TEST_CASE(the_portable_kernels_give_them_too) { check_models<portable_engine>(fp32_bound); }

BOOST_AUTO_TEST_CASE(keys_and_values_in_16_bits_give_them_within_their_rounding) {
  check_models<kv16_engine>(kv16_bound);
}

BOOST_AUTO_TEST_CASE(every_listed_token_leads_by_more_than_fp32_can_move) {
  const json models = load_json("tiny_expected.json").at("models");
  for (const auto& [name, expected] : models.items()) {
    for (const double gap : numbers<double>(expected.at("gaps8"))) BOOST_TEST(gap > 2 * fp32_bound, name);
  }
}

BOOST_AUTO_TEST_SUITE_END()
