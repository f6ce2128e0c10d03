// What happens when the cache is too small for what runs.
#include <tenon/cache/paged.hpp>
#include <tenon/cache/prefix_shared.hpp>

#include <boost/mpl/list.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <vector>

#include "schedule/shadow_engine.hpp"

namespace {

using namespace tenon;
using namespace tenon::test;
namespace queue = batching::queue;
namespace prefill = batching::prefill;
namespace preemption = batching::preemption;
namespace victim = batching::victim;
using schedule::stage;

template <std::size_t N>
using pages = typename cache::paged<N>::manager;
template <class Preemption, class Queue = queue::fcfs>
using chunks = batching::continuous<Queue, prefill::chunked<>, Preemption>;

using recoveries = boost::mpl::list<preemption::recompute<>, preemption::recompute<victim::least_progress>,
                                    preemption::swap<>, preemption::swap<victim::lowest_priority>>;

}  // namespace

BOOST_AUTO_TEST_SUITE(pressure)

BOOST_AUTO_TEST_CASE_TEMPLATE(texts_are_as_without_pressure_and_streamed_once, Preemption, recoveries) {
  // 17 pages of 16: 63, 64 and 65 take 13 at the start, and want 18 at the end; 33 has to wait.
  shadow_engine<chunks<Preemption>, pages<16>> e({4, 512}, pages<16>({4, 512, 17 * 16, 17 * 16}));
  for (const std::size_t n : {63u, 64u, 65u, 33u}) e.submit(prompt_of(n, n), 24);
  BOOST_TEST(e.finish(), e.fault);
  BOOST_TEST(e.counters().preemptions > 0u);
  for (const auto& c : e.clients()) {
    BOOST_TEST(c->finished());
    BOOST_TEST(c->streamed.size() == 24u);
    BOOST_TEST(c->sequence.tokens.size() == c->prompt.size() + 24);
  }
  if (Preemption::swaps) {
    BOOST_TEST(e.counters().recomputed_tokens == 0u);
    BOOST_TEST(e.counters().swaps_out == e.counters().preemptions);
    BOOST_TEST(e.counters().swaps_in == e.counters().swaps_out);
  } else {
    std::size_t recomputed = 0, computed = 0;
    for (const auto& c : e.clients()) recomputed += c->sequence.recomputed, computed += c->prompt.size() + 23;
    BOOST_TEST(recomputed > 0u);
    BOOST_TEST(e.counters().recomputed_tokens == recomputed);
    BOOST_TEST(e.counters().computed_tokens == computed + recomputed);
    BOOST_TEST(e.counters().recompute_tax() ==
               static_cast<double>(recomputed) / static_cast<double>(computed + recomputed));
  }
}

BOOST_AUTO_TEST_CASE(one_request_can_be_preempted_twice) {
  shadow_engine<chunks<preemption::recompute<>>, pages<4>> e({3, 64}, pages<4>({3, 64, 4 * 16}));
  e.submit(prompt_of(20), 30);
  e.submit(prompt_of(20), 12);
  const client& last = e.submit(prompt_of(14), 30);
  BOOST_TEST(e.finish(), e.fault);
  BOOST_TEST(last.sequence.preemptions >= 2u);
  BOOST_TEST(last.streamed.size() == 30u);
}

BOOST_AUTO_TEST_CASE(a_full_swap_space_means_computing_again) {
  shadow_engine<chunks<preemption::swap<>>, pages<4>> e({3, 64}, pages<4>({3, 64, 4 * 16, 4 * 6}));
  for (int i = 0; i < 3; ++i) e.submit(prompt_of(16), 30);
  BOOST_TEST(e.finish(), e.fault);
  BOOST_TEST(e.counters().swaps_out > 0u);
  BOOST_TEST(e.counters().preemptions > e.counters().swaps_out);
}

BOOST_AUTO_TEST_CASE(recomputing_finds_what_is_still_in_the_prefix_cache) {
  using manager = cache::prefix_shared<cache::paged<4>>::manager;
  shadow_engine<chunks<preemption::recompute<>>, manager> e({2, 64}, manager({2, 64, 4 * 14}));
  e.submit(prompt_of(20, 1), 20);
  const client& second = e.submit(prompt_of(20, 2), 20);
  BOOST_TEST(e.finish(), e.fault);
  BOOST_TEST(second.sequence.preemptions > 0u);
  BOOST_TEST(second.sequence.shared > 0u);
  BOOST_TEST(second.sequence.recomputed < 20u * second.sequence.preemptions);
}

BOOST_AUTO_TEST_CASE(the_victim_is_whom_the_policy_names) {
  // Three that run, whose order of entering, progress and priority all differ; the first of all is spared.
  const auto victim_of = [](auto policy) {
    using batching_type = chunks<preemption::recompute<decltype(policy)>>;
    shadow_engine<batching_type, pages<1>> e({4, 64}, pages<1>({4, 64, 40}));
    e.submit(prompt_of(1), 60, {.priority = 9});
    e.submit(prompt_of(9), 30, {.priority = 1});
    e.submit(prompt_of(3), 30, {.priority = 2});
    e.submit(prompt_of(6), 30, {.priority = 0});
    while (e.counters().preemptions == 0) BOOST_REQUIRE(e.step());
    for (std::size_t i = 0; i < 4; ++i)
      if (e.clients()[i]->sequence.preemptions > 0) return i;
    return std::size_t{99};
  };
  BOOST_TEST(victim_of(victim::latest{}) == 3u);
  BOOST_TEST(victim_of(victim::least_progress{}) == 2u);
  BOOST_TEST(victim_of(victim::lowest_priority{}) == 2u);
}

BOOST_AUTO_TEST_CASE(the_first_in_order_is_never_preempted) {
  shadow_engine<chunks<preemption::recompute<victim::least_progress>>, pages<1>> e({3, 64},
                                                                                   pages<1>({3, 64, 50}));
  const client& first = e.submit(prompt_of(1), 49);
  for (int i = 0; i < 6; ++i) e.submit(prompt_of(12), 30);
  while (!first.ended) {
    const std::size_t before = first.streamed.size();
    BOOST_REQUIRE(e.step());
    BOOST_REQUIRE(first.streamed.size() == before + 1);
  }
  BOOST_TEST(e.counters().preemptions > 0u);
  BOOST_TEST(e.finish(), e.fault);
}

BOOST_AUTO_TEST_CASE(who_enters_leaves_a_block_to_each_that_runs) {
  shadow_engine<chunks<preemption::recompute<>>, pages<4>> e({3, 64}, pages<4>({3, 64, 4 * 6}));
  e.submit(prompt_of(8), 8);  // two pages, and a third one for its answer
  const client& second = e.submit(prompt_of(12), 8);
  e.step();
  BOOST_TEST((second.sequence.stage == stage::running));  // leaves one
  const client& third = e.submit(prompt_of(2), 8);
  e.step();
  BOOST_TEST((third.sequence.stage == stage::waiting));
  BOOST_TEST(e.finish(), e.fault);
}

BOOST_AUTO_TEST_CASE(what_reserves_all_is_never_preempted) {
  shadow_engine<chunks<preemption::none>, pages<4>> e({4, 64}, pages<4>({4, 64, 4 * 16}));
  for (int i = 0; i < 8; ++i) e.submit(prompt_of(10), 20);
  e.step();
  BOOST_TEST(e.scheduler().running() == 2u);  // 29 positions each
  BOOST_TEST(e.finish(), e.fault);
  BOOST_TEST(e.counters().preemptions == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
