// What schedulers do in cases that came up in the field, one at a time.
#include <tenon/cache/contiguous.hpp>
#include <tenon/cache/paged.hpp>
#include <tenon/cache/prefix_shared.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

#include "schedule/shadow_engine.hpp"

namespace {

using namespace tenon;
using namespace tenon::test;
using namespace std::chrono_literals;
namespace queue = batching::queue;
namespace prefill = batching::prefill;
namespace preemption = batching::preemption;
using schedule::admission;
using schedule::drop_reason;
using schedule::stage;

using slots = cache::contiguous::manager;
template <std::size_t N>
using pages = typename cache::paged<N>::manager;
using shared = cache::prefix_shared<cache::paged<16>>::manager;
template <class Prefill = prefill::chunked<>, class Preemption = preemption::recompute<>>
using fcfs = batching::continuous<queue::fcfs, Prefill, Preemption>;

/// Pages of N positions that are in use when a request of n + 24 tokens ends, with prefill in chunks.
template <std::size_t N>
std::size_t pages_at_the_end(std::size_t n, std::size_t chunk) {
  shadow_engine<fcfs<>, pages<N>> e({1, chunk}, pages<N>({1, 512}));
  e.submit(prompt_of(n), 24);
  std::size_t most = 0;
  while (e.step()) most = (std::max)(most, e.cache().blocks() - e.cache().free_blocks());
  BOOST_TEST(e.finish(), e.fault);
  return most;
}

template <std::size_t N>
void borders() {
  for (const std::size_t n :
       {15u, 16u, 17u, 31u, 32u, 33u, 63u, 64u, 65u, 127u, 128u, 129u, 255u, 256u, 257u})
    for (const std::size_t chunk : {std::size_t{16}, std::size_t{64}, n, n - 1}) {
      const std::size_t wanted = (n + 24 - 2 + N - 1) / N;  // of the step before the last
      BOOST_TEST(pages_at_the_end<N>(n, chunk) == wanted);
    }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(scheduler)

BOOST_AUTO_TEST_CASE(lengths_at_the_borders_of_pages_and_chunks_are_served) {
  borders<1>();
  borders<16>();
  borders<32>();
  borders<256>();
}

// -- static and dynamic batches --

BOOST_AUTO_TEST_CASE(a_static_batch_is_gathered_when_the_last_has_ended_and_not_before) {
  shadow_engine<batching::static_batch<2>, slots> e({2, 64}, slots({2, 32}));
  const client& brief = e.submit(prompt_of(3), 1);
  const client& lasting = e.submit(prompt_of(3), 5);
  const client& next = e.submit(prompt_of(3), 1);
  e.step();
  BOOST_TEST(brief.ended);
  for (int step = 0; step < 4; ++step) {
    BOOST_TEST((next.sequence.stage == stage::waiting));
    e.step();
  }
  BOOST_TEST(lasting.ended);
  e.step();
  BOOST_TEST(next.ended);
  BOOST_TEST(e.fault == "");
}

BOOST_AUTO_TEST_CASE(a_prompt_is_cut_to_chunks_beside_what_decodes) {
  shadow_engine<batching::static_batch<2>, slots> e({2, 8}, slots({2, 128}));
  const client& quick = e.submit(prompt_of(1), 10);
  const client& slow = e.submit(prompt_of(64), 1);
  for (std::size_t step = 1; step <= 9; ++step) {
    e.step();
    BOOST_TEST(quick.streamed.size() == step);
    BOOST_TEST(slow.sequence.computed == 7 * step);
  }
}

BOOST_AUTO_TEST_CASE(a_dynamic_batch_begins_when_it_is_full_or_the_oldest_has_waited) {
  shadow_engine<batching::dynamic<3, 50>, slots> e({3, 64}, slots({3, 32}));
  const auto start = e.now;
  const client& first = e.submit(prompt_of(3), 2);
  e.now += 20ms;
  BOOST_TEST(e.step());  // there is something left, but nothing to run now
  BOOST_TEST(e.scheduler().running() == 0u);
  BOOST_TEST((e.scheduler().wake_at(e.now) == start + 50ms));
  const client& second = e.submit(prompt_of(3), 2);
  e.now = start + 49ms;
  e.step();  // its clock goes on by a millisecond
  BOOST_TEST(first.streamed.size() == 1u);
  BOOST_TEST(second.streamed.size() == 1u);
  BOOST_TEST((e.scheduler().wake_at(e.now) == e.now));
  e.submit(prompt_of(3), 2);
  e.submit(prompt_of(3), 2);
  const client& third = e.submit(prompt_of(3), 2);
  e.step();
  BOOST_TEST(first.ended);
  BOOST_TEST(third.streamed.empty());
  BOOST_TEST((e.scheduler().wake_at(e.now) == e.now));
  e.step();  // full, without a wait
  BOOST_TEST(third.streamed.size() == 1u);
  BOOST_TEST(e.finish(), e.fault);
  BOOST_TEST(!e.scheduler().wake_at(e.now).has_value());
}

BOOST_AUTO_TEST_CASE(a_continuous_batch_lets_the_next_in_at_the_next_step) {
  shadow_engine<fcfs<>, slots> e({2, 64}, slots({2, 32}));
  e.submit(prompt_of(3), 1);
  e.submit(prompt_of(3), 9);
  const client& next = e.submit(prompt_of(3), 1);
  e.step();
  BOOST_TEST((next.sequence.stage == stage::waiting));
  e.step();
  BOOST_TEST(next.ended);
}

// -- limits --

BOOST_AUTO_TEST_CASE(a_full_queue_refuses_and_says_so) {
  shadow_engine<fcfs<>, slots> e({1, 64, 2}, slots({1, 32}));
  BOOST_TEST((e.submit(prompt_of(3), 2).answered == admission::accepted));
  BOOST_TEST((e.submit(prompt_of(3), 2).answered == admission::accepted));
  BOOST_TEST(e.scheduler().queue_room() == 0u);
  BOOST_TEST((e.submit(prompt_of(3), 2).answered == admission::queue_full));
  e.step();
  BOOST_TEST(e.scheduler().queue_room() == 1u);
  BOOST_TEST((e.submit(prompt_of(3), 2).answered == admission::accepted));
  BOOST_TEST(e.counters().refused == 1u);
  BOOST_TEST(schedule::to_string(admission::queue_full) == "the queue is full");
  BOOST_TEST(e.finish(), e.fault);
}

BOOST_AUTO_TEST_CASE(what_can_never_fit_is_refused_at_once_and_blocks_nobody) {
  using engine = shadow_engine<fcfs<>, pages<16>>;
  engine e({4, 512}, pages<16>({4, 1024, 320}));  // 20 pages, in a context of 1024
  BOOST_TEST(e.scheduler().capacity() == 320u);
  BOOST_TEST((e.submit(prompt_of(321), 1).answered == admission::never_fits));
  BOOST_TEST((e.submit(prompt_of(300), 64).answered == admission::never_fits));
  BOOST_TEST((e.submit({}, 1).answered == admission::empty_prompt));
  BOOST_TEST((e.submit(prompt_of(16), 24).answered == admission::accepted));
  BOOST_TEST(e.finish(), e.fault);
  // As long as it can be: the last token of all needs no position.
  BOOST_TEST((e.submit(prompt_of(300), 21).answered == admission::accepted));
  BOOST_TEST((e.submit(prompt_of(300), 22).answered == admission::never_fits));
  BOOST_TEST(e.finish(), e.fault);
  // Two that fit one after the other.
  const client& a = e.submit(prompt_of(257), 24);
  const client& b = e.submit(prompt_of(257), 24);
  e.step();
  BOOST_TEST((b.sequence.stage == stage::waiting));
  BOOST_TEST(e.finish(), e.fault);
  BOOST_TEST(a.finished());
  BOOST_TEST(b.finished());
}

BOOST_AUTO_TEST_CASE(a_manager_that_cannot_say_what_fits_gives_an_error_when_it_has_nothing_else) {
  struct silent {  // rows for 20 positions, as a layout of a user's
    std::size_t rows() const { return 20; }
    bool reserve(std::size_t, std::size_t positions) { return positions <= 20; }
    void release(std::size_t) {}
    cache::contiguous::view view(std::size_t) const { return {0, 20}; }
  };
  shadow_engine<fcfs<>, silent> e({1, 64}, silent{});
  const client& large = e.submit(prompt_of(21), 1);
  const client& next = e.submit(prompt_of(10), 5);
  e.step();
  BOOST_TEST(large.dropped);
  BOOST_TEST((large.reason == drop_reason::no_room));
  BOOST_TEST(next.streamed.size() == 1u);
  BOOST_TEST(e.finish(), e.fault);
  const client& grows = e.submit(prompt_of(18), 5);  // finds out later
  while (e.step()) continue;
  BOOST_TEST(grows.dropped);
  BOOST_TEST(grows.streamed.size() == 3u);
}

BOOST_AUTO_TEST_CASE(a_scheduler_whose_steps_are_too_small_is_none) {
  using small_scheduler = schedule::scheduler<fcfs<>, slots>;
  BOOST_CHECK_THROW(small_scheduler({4, 3}, slots({4, 32})), error);
  BOOST_CHECK_THROW(small_scheduler({0, 3}, slots({4, 32})), error);
  BOOST_CHECK_THROW(small_scheduler({33, 300}, slots({33, 32})), error);  // the policy says 32
}

BOOST_AUTO_TEST_CASE(one_batch_has_its_limit_and_one_more_waits) {
  for (const std::size_t n : {1u, 3u, 4u, 5u}) {
    shadow_engine<fcfs<>, slots> e({4, 64}, slots({4, 32}));
    for (std::size_t i = 0; i < n; ++i) e.submit(prompt_of(3), 3);
    e.step();
    BOOST_TEST(e.scheduler().running() == (std::min<std::size_t>)(n, 4));
    BOOST_TEST(e.scheduler().waiting() == n - e.scheduler().running());
    BOOST_TEST(e.finish(), e.fault);
  }
}

// -- deadlines and cancelling --

BOOST_AUTO_TEST_CASE(a_deadline_ends_a_sequence_wherever_it_is) {
  shadow_engine<fcfs<>, slots> e({1, 64}, slots({1, 64}));
  const client& runs = e.submit(prompt_of(3), 50, {.deadline = e.now + 10ms});
  const client& waits = e.submit(prompt_of(3), 5, {.deadline = e.now + 5ms});
  const client& none = e.submit(prompt_of(3), 5);
  for (int i = 0; i < 5; ++i) e.step();
  BOOST_TEST(waits.dropped);
  BOOST_TEST((waits.reason == drop_reason::deadline));
  BOOST_TEST(!runs.dropped);
  for (int i = 0; i < 5; ++i) e.step();
  BOOST_TEST(runs.dropped);
  BOOST_TEST(runs.streamed.size() == 9u);
  BOOST_TEST(e.finish(), e.fault);
  BOOST_TEST(none.finished());
}

BOOST_AUTO_TEST_CASE(cancelling_gives_all_blocks_back_at_any_stage) {
  shadow_engine<fcfs<prefill::chunked<64>>, shared> e({2, 64}, shared({2, 2048, 16 * 150}));
  for (int round = 0; round < 50; ++round) {
    client& c = e.submit(prompt_of(2000, 7), 8);
    const int steps[] = {0, 1, 5, 31, 37};  // at the latest in the middle of its answer
    for (int i = 0; i < steps[round % 5]; ++i) e.step();
    e.cancel(c);
    const std::size_t streamed = c.streamed.size();
    BOOST_TEST(e.cache().free_blocks() == e.cache().blocks());
    const client& next = e.submit(prompt_of(16, 7), 4);
    BOOST_TEST(e.finish(), e.fault);
    BOOST_TEST(next.finished());
    BOOST_TEST(c.streamed.size() == streamed);
  }
  BOOST_TEST(!e.scheduler().remove(e.clients()[0]->sequence));  // it is gone
}

BOOST_AUTO_TEST_CASE(a_preempted_sequence_can_be_cancelled) {
  shadow_engine<fcfs<prefill::chunked<>, preemption::swap<>>, pages<4>> e({2, 64}, pages<4>({2, 64, 40, 40}));
  e.submit(prompt_of(16), 20);
  client& c = e.submit(prompt_of(15), 20);
  while (c.sequence.stage != stage::swapped) BOOST_REQUIRE(e.step());
  BOOST_TEST(e.cache().swap().used() > 0u);
  e.cancel(c);
  BOOST_TEST(e.cache().swap().used() == 0u);
  BOOST_TEST(e.finish(), e.fault);
}

// -- sharing --

BOOST_AUTO_TEST_CASE(the_same_prompt_again_computes_one_token) {
  shadow_engine<fcfs<>, shared> e({2, 512}, shared({2, 512}));
  const auto served = [&](std::size_t n) {
    const client& c = e.submit(prompt_of(n), 24);
    BOOST_TEST(e.finish(), e.fault);
    return c.sequence.shared;
  };
  BOOST_TEST(served(64) == 0u);
  BOOST_TEST(served(64) == 63u);
  BOOST_TEST(served(65) == 64u);
  BOOST_TEST(served(63) == 48u);
  BOOST_TEST(served(64) == 63u);
  const client& a = e.submit(prompt_of(64), 24);
  const client& b = e.submit(prompt_of(64), 24);
  e.step();
  BOOST_TEST(a.streamed.size() == 1u);
  BOOST_TEST(b.streamed.size() == 1u);
  BOOST_TEST(a.sequence.shared == 63u);
  BOOST_TEST(b.sequence.shared == 48u);  // the last block is just being written again
  BOOST_TEST(e.finish(), e.fault);
  BOOST_TEST(e.counters().prefix_hits == 63u + 64 + 48 + 63 + 63 + 48);
  BOOST_TEST(e.counters().prefix_queries == 64u * 5 + 65 + 63);
}

BOOST_AUTO_TEST_CASE(a_prompt_that_still_runs_is_shared_by_a_copy_of_its_last_block) {
  shadow_engine<fcfs<>, shared> e({2, 512}, shared({2, 512}));
  e.submit(prompt_of(64), 24);
  e.step();
  const client& b = e.submit(prompt_of(64), 24);
  e.step();
  BOOST_TEST(b.sequence.shared == 63u);
  BOOST_TEST(e.copied == 1u);
  BOOST_TEST(e.finish(), e.fault);
}

// -- the budget --

BOOST_AUTO_TEST_CASE(a_long_prompt_stalls_neither_answers_nor_short_prompts) {
  shadow_engine<fcfs<prefill::chunked<256>>, pages<16>> e({8, 512}, pages<16>({8, 8192}));
  const client& a = e.submit(prompt_of(33), 200);
  while (a.streamed.size() < 10) e.step();
  const std::size_t began = e.steps;
  const client& l = e.submit(prompt_of(8000), 4);
  e.step();
  e.step();
  const client& c = e.submit(prompt_of(16), 24);
  while (l.streamed.empty()) {
    const std::size_t before = a.streamed.size();
    e.step();
    BOOST_TEST(a.streamed.size() == before + 1);
  }
  BOOST_TEST(c.first_token_step > 0u);
  BOOST_TEST(c.first_token_step < l.first_token_step);
  BOOST_TEST(l.first_token_step - began <= 36u);
  BOOST_TEST(e.finish(), e.fault);
}

BOOST_AUTO_TEST_CASE(a_stream_of_short_prompts_does_not_stop_a_long_one) {
  for (const bool whole : {false, true}) {
    const auto check = [](auto& e) {
      const client& l = e.submit(prompt_of(1000), 2);
      const client& decodes = e.submit(prompt_of(1), 60);
      for (int i = 0; i < 60; ++i) {
        for (int k = 0; k < 3; ++k) e.submit(prompt_of(50), 1);
        e.step();
      }
      BOOST_TEST(l.ended);
      BOOST_TEST(decodes.streamed.size() >= 28u);  // at least every second step
      BOOST_TEST(e.finish(), e.fault);
    };
    if (whole) {
      shadow_engine<fcfs<prefill::whole>, pages<16>> e({8, 64}, pages<16>({8, 1024}));
      check(e);
    } else {
      shadow_engine<fcfs<>, pages<16>> e({8, 64}, pages<16>({8, 1024}));
      check(e);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_scheduler_can_be_moved) {
  schedule::sequence a, b;
  for (schedule::sequence* s : {&a, &b}) s->tokens = {1, 2, 3}, s->limit = 5, s->client = s == &a ? 1 : 2;
  using fair = batching::continuous<queue::fair<>>;
  schedule::scheduler<fair, pages<4>> first({1, 8}, pages<4>({1, 16}));
  BOOST_TEST((first.submit(a, {}) == admission::accepted));
  BOOST_TEST((first.submit(b, {}) == admission::accepted));
  auto second = std::move(first);
  BOOST_TEST(second.plan({}).tokens.size() == 3u);
  second.commit();
  BOOST_TEST(second.remove(a));
  BOOST_TEST(second.plan({}).tokens.size() == 3u);
  BOOST_TEST((b.stage == stage::running));
}

BOOST_AUTO_TEST_SUITE_END()
