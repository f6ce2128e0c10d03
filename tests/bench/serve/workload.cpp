#include "serve/workload.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

using namespace serve;

namespace {

std::vector<planned_request> some_requests(std::uint64_t seed, const length_fit& fit = {}) {
  const std::vector<double> arrivals = {0, 0.5, 1, 1, 2, 3, 4, 5};
  return serve::plan_requests(arrivals, length_model::parse("uniform:100-900:10-90"), fit, seed);
}

std::vector<std::size_t> input_lens(const std::vector<planned_request>& requests) {
  std::vector<std::size_t> lens;
  for (const planned_request& r : requests) lens.push_back(r.input_len);
  return lens;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(workload)

BOOST_AUTO_TEST_CASE(the_seed_decides_lengths_and_tokens) {
  const auto a = some_requests(1), b = some_requests(1), c = some_requests(2);
  BOOST_CHECK(input_lens(a) == input_lens(b));
  BOOST_CHECK(input_lens(a) != input_lens(c));
  BOOST_CHECK(make_prompts(a, 0, 262, 1) == make_prompts(b, 0, 262, 1));
  BOOST_CHECK(make_prompts(a, 0, 262, 1) != make_prompts(a, 0, 262, 2));
}

BOOST_AUTO_TEST_CASE(scaling_keeps_the_draws_and_at_least_a_token) {
  const auto whole = some_requests(3), tenth = some_requests(3, {.scale = 0.1}),
             none = some_requests(3, {.scale = 1e-9});
  for (std::size_t i = 0; i < whole.size(); ++i) {
    BOOST_TEST(tenth[i].arrival == whole[i].arrival);
    BOOST_TEST(std::abs(static_cast<double>(tenth[i].input_len) -
                        0.1 * static_cast<double>(whole[i].input_len)) <= 0.55);
    BOOST_TEST(none[i].input_len == 1u);
    BOOST_TEST(none[i].output_len == 1u);
  }
}

BOOST_AUTO_TEST_CASE(prompts_have_their_lengths_and_a_common_prefix_and_differ_after_it) {
  const auto requests = some_requests(4, {.scale = 1, .prefix_len = 40}), plain = some_requests(4);
  const auto prompts = make_prompts(requests, 40, 1000, 4);
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    BOOST_TEST(requests[i].input_len == plain[i].input_len + 40);
    BOOST_TEST(prompts[i].size() == requests[i].input_len);
    for (const tenon::token_id token : prompts[i]) BOOST_TEST((token >= 0 && token < 1000));
    if (i == 0) continue;
    const auto same =
        std::mismatch(prompts[0].begin(), prompts[0].end(), prompts[i].begin(), prompts[i].end()).first -
        prompts[0].begin();
    BOOST_TEST(same >= 40);
    BOOST_TEST(same < 44);  // a chance of 1000^-4
  }
}

BOOST_AUTO_TEST_CASE(a_trace_is_cut_and_starts_at_once) {
  const std::vector<planned_request> trace = {{5, 10, 4}, {6.5, 20, 8}, {9, 30, 12}};
  const auto cut = cut_trace(trace, 2, {.scale = 0.5, .prefix_len = 3});
  BOOST_TEST(cut.size() == 2u);
  BOOST_TEST(cut[0].arrival == 0);
  BOOST_TEST(cut[1].arrival == 1.5);
  BOOST_TEST(cut[1].input_len == 13u);
  BOOST_TEST(cut[1].output_len == 4u);
  BOOST_TEST(cut_trace(trace, 100, {}).size() == 3u);
}

BOOST_AUTO_TEST_SUITE_END()
