#include <rapidcheck.h>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstddef>
#include <limits>
#include <random>
#include <vector>

#include <reference/sampling.hpp>
#include <tenon/sample/sampler.hpp>

namespace sampling = tenon::sampling;

namespace {

// The reference's stages in the order of the chain's.
template <class Policy>
struct in_order;
template <class... Stages>
struct in_order<sampling::chain<Stages...>> {
  static void apply(reference::sampling_row& row, const auto& request) { (one<Stages>(row, request), ...); }

  template <class Stage>
  static void one(reference::sampling_row& row, const auto& request) {
    if constexpr (std::same_as<Stage, sampling::temperature>)
      row.temperature(static_cast<double>(request.temperature));
    if constexpr (std::same_as<Stage, sampling::top_k>) row.top_k(request.top_k);
    if constexpr (std::same_as<Stage, sampling::top_p>) row.top_p(static_cast<double>(request.top_p));
    if constexpr (std::same_as<Stage, sampling::min_p>) row.min_p(static_cast<double>(request.min_p));
  }
};

template <class Policy>
std::vector<tenon::token_id> kept(std::span<const float> row, const sampling::params<Policy>& request) {
  sampling::scratch memory(row.size());
  if (sampling::sampler<Policy>::prepare(row, request, 0, 0, memory) != sampling::fault::none) return {};
  return {memory.ids().begin(), memory.ids().end()};
}

template <class Policy>
sampling::params<Policy> request_of(float temperature, int top_k, float top_p, float min_p) {
  return {.temperature = temperature, .top_k = top_k, .top_p = top_p, .min_p = min_p};
}

enum class shape { normal, coarse, with_gaps, flat, peaked, high };

std::vector<float> random_row(std::size_t size, shape s, unsigned seed) {
  std::mt19937 bits(seed);
  std::normal_distribution<float> normal(0, s == shape::flat ? 0.01f : 3.0f);
  std::vector<float> row(size);
  for (float& x : row) {
    x = normal(bits);
    if (s == shape::coarse) x = std::round(x);  // many ties
    if (s == shape::with_gaps && bits() % 3 == 0) x = -std::numeric_limits<float>::infinity();
    if (s == shape::high) x += 1000;
  }
  if (s == shape::peaked) row[bits() % size] = 20;
  if (s == shape::with_gaps) row[bits() % size] = 1;  // at least one is possible
  return row;
}

template <class Policy>
bool keeps_what_the_reference_keeps(std::span<const float> row, float temperature, int top_k, float top_p,
                                    float min_p) {
  const auto request = request_of<Policy>(temperature, top_k, top_p, min_p);
  reference::sampling_row expected(row);
  in_order<Policy>::apply(expected, request);
  if (expected.margin < 4e-6)
    return true;  // within the rounding of fp32 of the border: either answer is right
  sampling::scratch memory(row.size());
  if (sampling::sampler<Policy>::prepare(row, request, 0, 0, memory) != sampling::fault::none) return false;
  if (std::vector<tenon::token_id>(memory.ids().begin(), memory.ids().end()) != expected.ids_ascending())
    return false;
  // And the probabilities: best first in the reference, ascending ids here.
  const std::vector<double> probability = expected.probabilities();
  for (std::size_t i = 0; i < probability.size(); ++i) {
    const auto at = std::lower_bound(memory.ids().begin(), memory.ids().end(), expected.kept[i].id);
    const double got = memory.probability(static_cast<std::size_t>(at - memory.ids().begin()));
    // Rounding: the logits differ by up to 1e-6 of their distance to the best, which is at most some
    // hundreds.
    if (std::abs(got - probability[i]) > 1e-6 + 3e-5 * probability[i]) return false;
  }
  return true;
}

using sampling::min_p;
using sampling::temperature;
using sampling::top_k;
using sampling::top_p;

}  // namespace

BOOST_AUTO_TEST_SUITE(chain)

BOOST_AUTO_TEST_CASE(names_say_the_stages_in_order) {
  BOOST_TEST((sampling::chain<temperature, top_k, top_p, min_p>::name.view()) ==
             "chain<temperature, top_k, top_p, min_p>");
  BOOST_TEST((sampling::chain<top_p, temperature>::name.view()) == "chain<top_p, temperature>");
  BOOST_TEST(sampling::chain<>::name.view() == "chain<>");
  BOOST_TEST(sampling::greedy::name.view() == "greedy");
}

BOOST_AUTO_TEST_CASE(the_order_of_stages_matters) {
  // Probabilities 0.5, 0.3, 0.2. At temperature 2 they are 0.415, 0.322, 0.263, so top_p 0.75 needs all
  // three.
  const std::vector<float> row{std::log(0.5f), std::log(0.3f), std::log(0.2f)};
  using hot_first = sampling::chain<temperature, top_p>;
  using hot_last = sampling::chain<top_p, temperature>;
  BOOST_TEST(kept<hot_first>(row, {.temperature = 2, .top_p = 0.75f}).size() == 3u);
  BOOST_TEST(kept<hot_last>(row, {.temperature = 2, .top_p = 0.75f}).size() == 2u);
}

BOOST_AUTO_TEST_CASE(top_p_counts_only_what_the_stages_before_left) {
  // 0.4 0.3 0.2 0.1: of the best two, the first has 4/7, so that top_p 0.55 needs it alone; of all, it needs
  // two.
  const std::vector<float> row{std::log(0.4f), std::log(0.3f), std::log(0.2f), std::log(0.1f)};
  using after = sampling::chain<top_k, top_p>;
  using before = sampling::chain<top_p, top_k>;
  BOOST_TEST(kept<after>(row, {.top_k = 2, .top_p = 0.55f}).size() == 1u);
  BOOST_TEST(kept<before>(row, {.top_k = 2, .top_p = 0.55f}).size() == 2u);
}

BOOST_AUTO_TEST_CASE(presets_keep_what_their_engines_orders_keep) {
  // Chosen so that no two of the four orders keep the same number of tokens.
  std::vector<float> row;
  for (int i = 0; i < 40; ++i) row.push_back(-0.12f * static_cast<float>(i));
  const auto count = [&]<class Policy>() {
    const auto request = request_of<Policy>(1.7f, 25, 0.8f, 0.2f);
    reference::sampling_row expected(row);
    in_order<Policy>::apply(expected, request);
    const auto got = kept<Policy>(row, request);
    BOOST_TEST(expected.margin > 1e-3);
    BOOST_TEST(got == expected.ids_ascending(), boost::test_tools::per_element());
    return got.size();
  };
  const std::size_t vllm = count.template operator()<sampling::like_vllm>();
  const std::size_t sglang = count.template operator()<sampling::like_sglang>();
  const std::size_t llama_cpp = count.template operator()<sampling::like_llama_cpp>();
  count.template operator()<sampling::like_hf>();
  count.template operator()<sampling::like_openvino>();
  BOOST_TEST_MESSAGE(vllm << " " << sglang << " " << llama_cpp);
  BOOST_TEST(vllm != llama_cpp);
  BOOST_TEST(sglang != llama_cpp);
}

BOOST_AUTO_TEST_CASE(stages_that_are_off_change_nothing) {
  const std::vector<float> row = random_row(1000, shape::normal, 5);
  using bare = sampling::chain<temperature>;
  sampling::scratch memory(row.size());
  for (std::uint64_t i = 0; i < 200; ++i) {
    const auto plain = sampling::sampler<bare>::sample(row, {.temperature = 0.7f}, 3, i, memory);
    const auto off = sampling::sampler<sampling::like_vllm>::sample(
        row, {.temperature = 0.7f, .top_k = -1, .top_p = 1, .min_p = 0}, 3, i, memory);
    BOOST_REQUIRE(plain.token == off.token);
  }
}

BOOST_AUTO_TEST_CASE(any_row_any_parameters_any_order_keeps_what_the_reference_keeps) {
  BOOST_TEST(rc::check([](unsigned seed) {
    const auto s = *rc::gen::element(shape::normal, shape::coarse, shape::with_gaps, shape::flat,
                                     shape::peaked, shape::high);
    const auto size = static_cast<std::size_t>(
        *rc::gen::oneOf(rc::gen::inRange(1, 40), rc::gen::inRange(250, 270), rc::gen::inRange(1, 6000)));
    const auto row = random_row(size, s, seed);
    const float t = *rc::gen::element(0.0f, 0.05f, 0.3f, 0.8f, 1.0f, 1.7f, 100.0f);
    const int k = *rc::gen::oneOf(rc::gen::element(-1, 0, 1, 40), rc::gen::inRange(1, 3000));
    const float p = static_cast<float>(*rc::gen::inRange(1, 1001)) / 1000.0f;
    const float m = *rc::gen::element(0.0f, 0.001f, 0.05f, 0.5f, 1.0f);
    return keeps_what_the_reference_keeps<sampling::like_vllm>(row, t, k, p, m) &&
           keeps_what_the_reference_keeps<sampling::like_sglang>(row, t, k, p, m) &&
           keeps_what_the_reference_keeps<sampling::like_llama_cpp>(row, t, k, p, m) &&
           keeps_what_the_reference_keeps<sampling::like_openvino>(row, t, k, p, m) &&
           keeps_what_the_reference_keeps<sampling::chain<min_p, top_p, top_k, temperature>>(row, t, k, p,
                                                                                             m) &&
           keeps_what_the_reference_keeps<sampling::chain<top_p, temperature, min_p, top_k>>(row, t, k, p, m);
  }));
}

BOOST_AUTO_TEST_SUITE_END()
