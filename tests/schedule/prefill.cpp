// How the tokens of a step are shared out, by numbers alone.
#include <tenon/policy/prefill.hpp>

#include <rapidcheck.h>
#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <numeric>
#include <vector>

using tenon::batching::token_share;
using tenon::batching::prefill::chunked;
using tenon::batching::prefill::whole;

namespace {

/// The counts for these pending tokens, in order.
template <class Policy>
std::vector<std::size_t> shared(std::vector<std::size_t> pending, std::size_t budget,
                                bool decodes_first = false) {
  std::vector<token_share> shares;
  for (const std::size_t p : pending) shares.push_back({p, 0});
  Policy::share(shares, budget, decodes_first);
  std::vector<std::size_t> counts;
  for (const token_share& s : shares) counts.push_back(s.count);
  return counts;
}

using counts = std::vector<std::size_t>;

template <class Policy>
void serves_the_first() {
  BOOST_TEST(rc::check([] {
    const auto pending = *rc::gen::container<std::vector<std::size_t>>(rc::gen::inRange<std::size_t>(1, 40));
    if (pending.empty()) return;
    const std::size_t budget = pending.size() + *rc::gen::inRange<std::size_t>(0, 60);
    bool first_served = false, left_out = false;
    for (int step = 0; step < 2; ++step) {
      const counts c = shared<Policy>(pending, budget, left_out);
      RC_ASSERT(std::accumulate(c.begin(), c.end(), std::size_t{0}) <= budget);
      RC_ASSERT(std::accumulate(c.begin(), c.end(), std::size_t{0}) > 0u);
      first_served = first_served || c[0] > 0;
      left_out = false;
      for (std::size_t i = 0; i < c.size(); ++i) {
        RC_ASSERT(c[i] <= pending[i]);
        left_out = left_out || (pending[i] == 1 && c[i] == 0);
      }
    }
    RC_ASSERT(first_served);  // once in two steps, though nothing has changed in between
  }));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(prefill)

BOOST_AUTO_TEST_CASE(the_first_is_served_within_two_steps_and_the_budget_is_kept) {
  serves_the_first<whole>();
  serves_the_first<chunked<>>();
}

BOOST_AUTO_TEST_CASE(chunked_serves_decodes_and_then_the_first_prompt) {
  BOOST_TEST(shared<chunked<>>({1, 50, 1, 1}, 16) == (counts{1, 13, 1, 1}), boost::test_tools::per_element());
  BOOST_TEST(shared<chunked<>>({50, 50, 50}, 16) == (counts{16, 0, 0}), boost::test_tools::per_element());
  BOOST_TEST(shared<chunked<>>({10, 10, 10}, 25) == (counts{10, 10, 5}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(chunked_lets_short_prompts_past_a_long_one_in_half_of_the_budget) {
  BOOST_TEST(shared<chunked<>>({900, 16}, 256) == (counts{240, 16}), boost::test_tools::per_element());
  BOOST_TEST(shared<chunked<>>({900, 800, 700}, 256) == (counts{128, 0, 128}),
             boost::test_tools::per_element());
  BOOST_TEST(shared<chunked<>>({900, 100, 100, 100}, 256) == (counts{128, 100, 28, 0}),
             boost::test_tools::per_element());
  BOOST_TEST(shared<chunked<>>({30, 100, 20}, 256) == (counts{30, 100, 20}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(chunked_has_a_token_for_everybody) {
  static_assert(chunked<>::budget(8, 512) == 512);
  static_assert(chunked<100>::budget(8, 512) == 100);
  static_assert(chunked<100>::budget(8, 64) == 64);
  static_assert(chunked<4>::budget(8, 64) == 8);
  BOOST_TEST(shared<chunked<4>>({1, 1, 1, 30}, 4) == (counts{1, 1, 1, 1}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(whole_cuts_no_prompt_that_a_step_can_hold) {
  BOOST_TEST(shared<whole>({10, 1, 20, 1}, 32) == (counts{10, 1, 20, 1}), boost::test_tools::per_element());
  BOOST_TEST(shared<whole>({10, 25, 5}, 32) == (counts{10, 0, 0}),
             boost::test_tools::per_element());  // in order
  BOOST_TEST(shared<whole>({100, 5}, 32) == (counts{32, 0}), boost::test_tools::per_element());
  BOOST_TEST(shared<whole>({5, 100}, 32) == (counts{5, 0}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(whole_leaves_decodes_out_for_one_step_at_most) {
  BOOST_TEST(shared<whole>({1, 1, 31}, 32, false) == (counts{1, 0, 31}), boost::test_tools::per_element());
  BOOST_TEST(shared<whole>({1, 1, 31}, 32, true) == (counts{1, 1, 0}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
