// An engine that holds SmolLM2-135M-Instruct against an independent fp32 forward pass over the dequantised
// weights: logits after prompts, and the likelihood of a text.
#pragma once

#include "support/json.hpp"

#include <tenon/engine.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <vector>

namespace tenon::test {

/// How far a precision may be from the reference, in natural logarithms.
struct bounds {
  double logprob;   // of one of the best 20 tokens after a prompt
  double nll;       // of the text's tokens, root mean square
  double mean_nll;  // of the whole text, as a share
};
inline constexpr bounds of_fp32 = {1e-3, 1e-3, 1e-4};
/// If 0.35 is the largest of a hundred errors, their root mean square is some 0.35 / 2.6.
inline constexpr bounds of_int8 = {0.35, 0.135, 0.01};
/// bf16 rounds each activation by up to 2^-8 of itself. int8 in blocks rounds by up to 1/254 of the block's
/// largest: as much for that one, and more for all others. So half of int8's bounds are wide.
inline constexpr bounds of_bf16 = {0.175, 0.0675, 0.005};

inline double log_sum_exp(std::span<const float> row) {
  const double top = static_cast<double>(*std::max_element(row.begin(), row.end()));
  double sum = 0;
  for (const float x : row) sum += std::exp(static_cast<double>(x) - top);
  return top + std::log(sum);
}

template <class Engine>
void check_logits(Engine& engine, const bounds& bound) {
  const json file = load_json("ref_logits.json");
  BOOST_REQUIRE(file.at("prompts").size() == 5u);
  double largest = 0;
  for (const json& prompt : file.at("prompts")) {
    BOOST_TEST_CONTEXT(prompt.at("name") << ", " << Engine::description()) {
      const auto ids = numbers<token_id>(prompt.at("ids"));
      std::vector<float> row;
      engine.score(ids, [&](std::size_t i, std::span<const float> logits) {
        if (i + 1 == ids.size()) row.assign(logits.begin(), logits.end());
      });
      BOOST_REQUIRE(row.size() == 49152u);
      const double norm = log_sum_exp(row);
      for (const json& entry : prompt.at("top20")) {
        const double logprob = static_cast<double>(row[entry.at("id").get<std::size_t>()]) - norm;
        const double off = std::abs(logprob - entry.at("logprob").get<double>());
        largest = (std::max)(largest, off);
        BOOST_TEST(off < bound.logprob, "token " << entry.at("id") << " is off by " << off);
      }
    }
  }
  BOOST_TEST_MESSAGE(Engine::description() << ": largest difference of a log-probability " << largest);
}

template <class Engine>
void check_likelihood(Engine& engine, const bounds& bound) {
  const json file = load_json("ref_nll.json");
  const auto ids = numbers<token_id>(file.at("ids"));
  const auto expected = numbers<double>(file.at("nll"));
  BOOST_REQUIRE(ids.size() == expected.size() + 1);
  double sum = 0, squares = 0, largest = 0;
  engine.score(ids, [&](std::size_t i, std::span<const float> logits) {
    if (i == expected.size()) return;
    const double nll =
        log_sum_exp(logits) - static_cast<double>(logits[static_cast<std::size_t>(ids[i + 1])]);
    const double off = std::abs(nll - expected[i]);
    largest = (std::max)(largest, off);
    squares += off * off;
    sum += nll;
  });
  const double mean = sum / static_cast<double>(expected.size());
  const double spread = std::sqrt(squares / static_cast<double>(expected.size()));
  BOOST_TEST(spread < bound.nll);
  if (bound.nll <= of_fp32.nll) BOOST_TEST(largest < bound.nll);  // there each token is held to it
  const double reference = file.at("mean_nll").get<double>();
  BOOST_TEST(std::abs(mean / reference - 1) < bound.mean_nll, "mean " << mean << ", reference " << reference);
  BOOST_TEST_MESSAGE(Engine::description()
                     << ": perplexity " << std::exp(mean) << ", reference " << file.at("perplexity")
                     << "; differences of tokens' " << spread << ", at most " << largest);
}

template <class Engine>
void check_against_reference(const bounds& bound) {
  Engine engine = Engine::load(TENON_TEST_MODEL, {.context = 256, .threads = 2});
  check_logits(engine, bound);
  check_likelihood(engine, bound);
}

}  // namespace tenon::test
