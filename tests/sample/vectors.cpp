// The cases of data/vectors/sampling.json and softmax.json: faults of other engines, with right answers
// computed in fp64.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/sample/fields.hpp>
#include <tenon/sample/sampler.hpp>
#include <tenon/sample/validate.hpp>

namespace sampling = tenon::sampling;
using nlohmann::json;

namespace {

// Cases about things that these stages do not do.
const std::set<std::string> not_here{"repetition", "presence_frequency", "logprobs_raw"};

float number(const json& j) {
  if (j.is_number()) return j.get<float>();
  const float infinity = std::numeric_limits<float>::infinity();
  const std::string text = j.get<std::string>();
  return text == "inf" ? infinity : text == "-inf" ? -infinity : std::numeric_limits<float>::quiet_NaN();
}

// A list of numbers, or a text that describes a row.
std::vector<float> row_of(const json& j) {
  std::vector<float> row;
  if (j.is_array()) {
    for (const json& x : j) row.push_back(number(x));
  } else if (j == "49152 x 0.0") {
    row.assign(49152, 0.0f);
  } else if (j.get<std::string>().starts_with("50257: ")) {
    row.assign(50257, -std::numeric_limits<float>::infinity());
    for (std::size_t i = 0; i < 40; ++i) row[1000 * i] = static_cast<float>(i % 7) - 3;
  } else {
    throw std::runtime_error("unknown row " + j.dump());
  }
  return row;
}

json cases_of(const std::string& name) {
  std::ifstream file(std::string(TENON_TEST_DATA) + "/vectors/" + name);
  return json::parse(file).at("cases");
}

template <class Policy>
sampling::params<Policy> request_of(const json& fields) {
  sampling::params<Policy> request;
  for (const auto& [name, value] : fields.items()) {
    if (name == "temperature" || name == "top_p" || name == "min_p")
      sampling::set_field(request, name, number(value));
    if (name == "top_k") sampling::set_field(request, name, value.template get<int>());
  }
  return request;
}

template <class Policy>
struct checker {
  using sampler = sampling::sampler<Policy>;
  sampling::scratch memory;

  // A token for one row, by its own parameters, as if it were alone.
  sampling::result sample(const std::vector<float>& row, const json& fields, std::uint64_t index = 0) {
    const auto request = request_of<Policy>(fields);
    sampling::validate(request);
    return sampler::sample(row, request, 1234, index, memory);
  }

  void refused_or_fault(const std::vector<float>& row, const json& fields) {
    try {
      BOOST_TEST(!sample(row, fields));
    } catch (const tenon::request_error& e) {
      BOOST_TEST(std::string(e.what()).size() > 20u);
    }
  }

  void kept(const json& c, const std::vector<float>& row) {
    const auto request = request_of<Policy>(c["params"]);
    BOOST_REQUIRE(sampler::prepare(row, request, 0, 0, memory) == sampling::fault::none);
    if (c.contains("kept")) {
      const auto expected = c["kept"].get<std::vector<tenon::token_id>>();
      BOOST_TEST(std::vector<tenon::token_id>(memory.ids().begin(), memory.ids().end()) == expected,
                 boost::test_tools::per_element());
    }
    if (c.contains("kept_count")) BOOST_TEST(memory.size() == c["kept_count"].get<std::size_t>());
    if (c.contains("probs")) {
      for (std::size_t i = 0; i < memory.size(); ++i) {
        BOOST_TEST(std::abs(memory.probability(i) - c["probs"][i].get<double>()) < 1e-6);
      }
    }
  }

  void chi_square(const json& c, const std::vector<float>& row) {
    const int draws = c["params"]["draws"];
    std::map<tenon::token_id, int> seen;
    for (int i = 0; i < draws; ++i) ++seen[sample(row, c["params"], static_cast<std::uint64_t>(i)).token];
    double sum = 0;
    for (std::size_t i = 0; i < c["probs"].size(); ++i) {
      const double expected = c["probs"][i].get<double>() * draws;
      sum += std::pow(seen[static_cast<tenon::token_id>(i)] - expected, 2) / expected;
    }
    BOOST_TEST(sum < 16.27);  // 3 degrees of freedom, 1 in 1000
  }

  void never_outside(const json& c, const std::vector<float>& row) {
    BOOST_REQUIRE(sampler::prepare(row, request_of<Policy>(c["params"]), 0, 0, memory) ==
                  sampling::fault::none);
    const int draws = c["params"]["draws"];
    std::set<tenon::token_id> seen;
    for (int i = 0; i < draws; ++i) seen.insert(sampler::draw(memory, 1234, static_cast<std::uint64_t>(i)));
    BOOST_TEST(seen.size() <= 40u);
    for (const tenon::token_id id : seen) BOOST_TEST(id % 1000 == 0);
    BOOST_TEST(row[static_cast<std::size_t>(memory.draw(0.0))] > -10);
    BOOST_TEST(row[static_cast<std::size_t>(memory.draw(1.0 - 0x1p-53))] > -10);
  }

  void batch(const json& c) {
    for (std::size_t r = 0; r < c["logits"].size(); ++r) {
      const std::vector<float> row = row_of(c["logits"][r]);
      const std::string at = "row" + std::to_string(r);
      for (std::uint64_t i = 0; i < 500; ++i) {
        const sampling::result got = sample(row, c["params"]["batch"][r], i);
        if (c.contains("error_" + at)) {
          BOOST_REQUIRE(!got);
          BOOST_REQUIRE(got.fault == sampling::fault::nan_logits);
          continue;
        }
        BOOST_REQUIRE(got);
        if (c.contains("token_" + at)) BOOST_REQUIRE(got.token == c["token_" + at].get<int>());
        if (c.contains("never_" + at)) BOOST_REQUIRE(got.token != c["never_" + at][0].get<int>());
      }
    }
  }

  // Returns false when the case has nothing that is understood.
  bool check(const json& c) {
    if (c["params"].contains("batch")) return batch(c), true;
    std::vector<float> row;
    if (c.contains("probabilities")) {
      for (const json& p : c["probabilities"]) row.push_back(std::log(p.get<float>()));
    } else {
      row = row_of(c["logits"]);
    }
    if (c["params"].contains("vocab")) row.resize(c["params"]["vocab"].get<std::size_t>());
    if (c.value("error", false)) return refused_or_fault(row, c["params"]), true;
    if (c.value("may_refuse", false)) {
      try {
        sampling::validate(request_of<Policy>(c["params"]));
      } catch (const tenon::request_error&) {
        return true;
      }
    }
    if (c.contains("token")) {
      for (std::uint64_t i = 0; i < 200; ++i) {
        const sampling::result got = sample(row, c["params"], i);
        BOOST_REQUIRE(got);
        BOOST_REQUIRE(got.token == c["token"].get<int>());
      }
      return true;
    }
    if (c.contains("allowed")) return never_outside(c, row), true;
    if (c["params"].contains("draws")) return chi_square(c, row), true;
    if (c.contains("kept") || c.contains("kept_count") || c.contains("probs")) return kept(c, row), true;
    return false;
  }
};

template <class Policy>
void check_all() {
  checker<Policy> checking;
  int checked = 0;
  for (const json& c : cases_of("sampling.json")) {
    const std::string name = c["name"];
    if (not_here.contains(name)) continue;
    BOOST_TEST_CONTEXT(Policy::name.view() << ": " << name << ": " << c["why"]) {
      BOOST_TEST(checking.check(c));
    }
    ++checked;
  }
  BOOST_TEST(checked == 28);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(vectors)

BOOST_AUTO_TEST_CASE(sampling_cases_hold_in_vllms_order) { check_all<sampling::like_vllm>(); }
BOOST_AUTO_TEST_CASE(sampling_cases_hold_in_sglangs_order) { check_all<sampling::like_sglang>(); }
BOOST_AUTO_TEST_CASE(sampling_cases_hold_in_llama_cpps_order) { check_all<sampling::like_llama_cpp>(); }
BOOST_AUTO_TEST_CASE(sampling_cases_hold_in_openvinos_order) { check_all<sampling::like_openvino>(); }

BOOST_AUTO_TEST_CASE(probabilities_are_those_of_the_softmax_cases) {
  sampling::scratch memory;
  for (const json& c : cases_of("softmax.json")) {
    BOOST_TEST_CONTEXT(c["name"] << ": " << c["why"]) {
      const std::vector<float> row = row_of(c["x"]);
      const auto fault = sampling::sampler<sampling::chain<>>::prepare(row, {}, 0, 0, memory);
      if (c["name"] == "all_masked") {
        BOOST_TEST((fault == sampling::fault::nothing_possible));
        continue;
      }
      BOOST_REQUIRE((fault == sampling::fault::none));
      double sum = 0;
      for (std::size_t i = 0; i < memory.size(); ++i) {
        const std::size_t id = static_cast<std::size_t>(memory.ids()[i]);
        const double expected = c["out"][c["out"].size() == 1 ? 0 : id].get<double>();
        if (std::abs(memory.probability(i) - expected) > 1e-6) BOOST_ERROR("token " << id);
        sum += memory.probability(i);
      }
      BOOST_TEST(std::abs(sum - 1) < 1e-12);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
