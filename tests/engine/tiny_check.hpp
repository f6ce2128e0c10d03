// An engine on the eight tiny models, against an independent fp32 forward pass.
#pragma once

#include "engine/engines.hpp"
#include "support/json.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

namespace tenon::test {

/// The reference's text form has five digits after the point, and its sums are in another order.
inline constexpr double fp32_bound = 1e-3;

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

}  // namespace tenon::test
