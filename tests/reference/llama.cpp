// The reference model against the logits and continuations of an independent fp32 pass over the same files.
#include "reference/llama.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <string>

#include "support/json.hpp"

using namespace tenon;
using tenon::test::json;
using tenon::test::numbers;

namespace {

/// Holds the logits of a row against a list of {id, logit, logprob}.
void check_top(const json& top, const std::vector<float>& logits) {
  double sum = 0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit));
  for (const json& entry : top) {
    const double seen = static_cast<double>(logits.at(entry["id"].get<std::size_t>()));
    BOOST_TEST(std::fabs(seen - entry["logit"].get<double>()) < 1e-3,
               "token " << entry["id"] << ": " << seen);
    BOOST_TEST(std::fabs(seen - std::log(sum) - entry["logprob"].get<double>()) < 1e-3,
               "token " << entry["id"]);
  }
  BOOST_TEST(reference::argmax(logits) == top[0]["id"].get<token_id>());
}

boost::test_tools::assertion_result model_is_there(boost::unit_test::test_unit_id) {
  boost::test_tools::assertion_result there(!std::string(TENON_TEST_MODEL).empty());
  if (!there) there.message() << "TENON_TEST_MODEL is not set; tests/run.sh fetches the model";
  return there;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(llama)

BOOST_AUTO_TEST_CASE(the_tiny_models_give_the_listed_logits_and_continuations) {
  const json file = test::load_json("tiny_expected.json");
  const std::vector<token_id> ids = numbers<token_id>(file["ids"]);
  BOOST_REQUIRE(file["models"].size() == 8u);
  for (const auto& [name, expected] : file["models"].items()) {
    BOOST_TEST_CONTEXT(name) {
      const auto gguf =
          io::gguf_file::open(std::string(TENON_TEST_GENERATED) + "/tiny_models/" + name + ".gguf");
      const reference::reference_llama model(gguf);
      const std::vector<float> logits = model.logits(ids);
      BOOST_REQUIRE(logits.size() == model.vocabulary());
      check_top(expected["top20"], logits);
      double sum = 0;
      double magnitudes = 0;
      for (const float logit : logits) {
        sum += static_cast<double>(logit);
        magnitudes += std::fabs(static_cast<double>(logit));
      }
      const double tolerance = 1e-4 * static_cast<double>(logits.size());
      BOOST_TEST(std::fabs(sum - expected["sum"].get<double>()) < tolerance);
      BOOST_TEST(std::fabs(magnitudes - expected["sum_abs"].get<double>()) < tolerance);
      BOOST_TEST(model.greedy(ids, 8) == numbers<token_id>(expected["greedy8"]),
                 boost::test_tools::per_element());
    }
  }
}

BOOST_AUTO_TEST_CASE(logits_after_each_token_are_those_of_the_prefix) {
  const auto gguf = io::gguf_file::open(std::string(TENON_TEST_GENERATED) + "/tiny_models/base_5e5.gguf");
  const reference::reference_llama model(gguf);
  const std::vector<token_id> ids = {107, 104, 111, 33};
  const std::vector<std::vector<float>> all = model.all_logits(ids);
  BOOST_REQUIRE(all.size() == ids.size());
  for (std::size_t count = 1; count <= ids.size(); ++count)
    BOOST_TEST(model.logits(std::span(ids).first(count)) == all[count - 1], boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(smollm2_gives_the_listed_logits, *boost::unit_test::precondition(model_is_there)) {
  const auto gguf = io::gguf_file::open(TENON_TEST_MODEL);
  const reference::reference_llama model(gguf);
  const json file = test::load_json("ref_logits.json");
  const json& prompt = file["prompts"].at(0);
  BOOST_REQUIRE(prompt["name"] == "p01_plain");
  check_top(prompt["top20"], model.logits(numbers<token_id>(prompt["ids"])));
}

BOOST_AUTO_TEST_SUITE_END()
