// Several samples of one prompt: they share its blocks.
#include <tenon/cache/contiguous.hpp>
#include <tenon/cache/paged.hpp>
#include <tenon/cache/prefix_shared.hpp>

#include <boost/mpl/list.hpp>
#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <vector>

#include "schedule/shadow_engine.hpp"

namespace {

using namespace tenon;
using namespace tenon::test;
using schedule::stage;
using pages = cache::paged<4>::manager;
using shared = cache::prefix_shared<cache::paged<4>>::manager;
using slots = cache::contiguous::manager;
using policy = batching::continuous<>;

template <class Engine>
std::vector<client*> samples(Engine& e, std::size_t n, std::size_t prompt, std::size_t wanted) {
  std::vector<client*> made = {&e.submit(prompt_of(prompt), wanted)};
  while (made.size() < n)
    made.push_back(&e.submit(prompt_of(prompt), wanted, {.seed = made.size(), .copy_of = made[0]}));
  return made;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(copies)

BOOST_AUTO_TEST_CASE(samples_share_their_prompt_and_nothing_else) {
  for (const std::size_t prompt : {1u, 3u, 4u, 5u, 8u, 9u, 13u}) {
    shadow_engine<policy, pages> e({8, 64}, pages({8, 64}));
    const auto all = samples(e, 4, prompt, 10);
    e.step();
    BOOST_TEST(all[0]->streamed.size() == 1u);
    e.step();  // the prompt has been computed: the others run, and compute its last token
    for (std::size_t i = 1; i < 4; ++i) {
      BOOST_TEST(all[i]->streamed.size() == (prompt == 1 ? 2u : 1u));  // nothing to wait for
      BOOST_TEST(all[i]->sequence.shared == prompt - 1);
    }
    BOOST_TEST(e.finish(), e.fault);
    BOOST_TEST(e.counters().forks == 3u);
    BOOST_TEST(e.counters().computed_tokens == prompt + 3 + 4 * 9u);
    BOOST_TEST(e.copied == ((prompt - 1) % 4 == 0 ? 0u : 3u));  // of the block that the last token is in
    BOOST_TEST(all[1]->streamed != all[2]->streamed);           // seeds of their own
  }
}

BOOST_AUTO_TEST_CASE(samples_hold_the_blocks_of_the_prompt_once) {
  shadow_engine<policy, pages> e({8, 64}, pages({8, 64}));
  samples(e, 4, 40, 3);
  e.step();
  e.step();
  BOOST_TEST(e.cache().blocks() - e.cache().free_blocks() ==
             9u + 3 + 2);  // the first is on to the next block
  BOOST_TEST(e.finish(), e.fault);
}

BOOST_AUTO_TEST_CASE(samples_wait_while_the_prompt_is_computed_in_chunks) {
  shadow_engine<policy, pages> e({8, 8}, pages({8, 64}));
  const auto all = samples(e, 3, 30, 4);
  for (int i = 0; i < 3; ++i) {
    e.step();
    BOOST_TEST((all[1]->sequence.stage == stage::held));
    BOOST_TEST(e.scheduler().waiting() == 2u);
  }
  e.step();
  BOOST_TEST((all[1]->sequence.stage == stage::waiting));
  BOOST_TEST(e.finish(), e.fault);
  BOOST_TEST(e.counters().forks == 2u);
}

BOOST_AUTO_TEST_CASE(samples_do_without_what_has_ended) {
  shadow_engine<policy, pages> e({8, 64}, pages({8, 64}));
  auto all = samples(e, 3, 10, 4);
  e.cancel(*all[0]);  // before the prompt was computed
  BOOST_TEST(e.finish(), e.fault);
  BOOST_TEST(all[2]->finished());
  BOOST_TEST(e.counters().forks == 0u);
  all = samples(e, 3, 10, 4);
  e.cancel(*all[1]);
  all = samples(e, 3, 10, 1);  // the first ends in the step that computes the prompt
  BOOST_TEST(e.finish(), e.fault);
  for (const auto* c : all) BOOST_TEST(c->finished());
}

BOOST_AUTO_TEST_CASE(samples_that_find_no_slot_in_time_use_the_prefix_cache) {
  shadow_engine<policy, shared> e({1, 64}, shared({1, 64}));
  const auto all = samples(e, 3, 13, 4);
  BOOST_TEST(e.finish(), e.fault);
  BOOST_TEST(e.counters().forks == 0u);
  BOOST_TEST(all[1]->sequence.shared == 12u);
  BOOST_TEST(all[2]->sequence.shared == 12u);
}

BOOST_AUTO_TEST_CASE(samples_compute_their_prompt_where_nothing_can_be_shared) {
  shadow_engine<policy, slots> e({4, 64}, slots({4, 64}));
  samples(e, 3, 13, 4);
  BOOST_TEST(e.finish(), e.fault);
  BOOST_TEST(e.counters().computed_tokens == 3u * 16u);
}

BOOST_AUTO_TEST_CASE(samples_fit_with_all_that_they_need_reserved) {
  using reserving =
      batching::continuous<batching::queue::fcfs, batching::prefill::chunked<>, batching::preemption::none>;
  shadow_engine<reserving, pages> e({4, 64}, pages({4, 64, 4 * 8}));
  samples(e, 3, 14, 5);  // 18 positions: five blocks, of which three are shared
  e.step();
  e.step();
  BOOST_TEST(e.scheduler().running() == 2u);
  BOOST_TEST(e.finish(), e.fault);
  BOOST_TEST(e.counters().preemptions == 0u);
}

BOOST_AUTO_TEST_CASE(a_running_answer_can_be_branched) {
  shadow_engine<policy, pages> e({4, 64}, pages({4, 64}));
  client& trunk = e.submit(prompt_of(6), 12);
  for (int i = 0; i < 5; ++i) e.step();
  const client& branch = e.submit(trunk.sequence.tokens, 4, {.seed = 9, .copy_of = &trunk});
  e.step();
  BOOST_TEST(branch.sequence.shared == 10u);
  BOOST_TEST(branch.streamed.size() == 1u);
  BOOST_TEST(e.finish(), e.fault);
}

BOOST_AUTO_TEST_SUITE_END()
