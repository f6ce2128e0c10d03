// Serving on the host: the same tokens for every request under every policy, and what becomes of requests that the
// scheduler refuses or ends.
#include "engine/serving.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

TENON_INSTANTIATE(tenon::test::sharing_engine);

namespace {

using namespace tenon;
using namespace tenon::test;
using batching::continuous;
namespace queue = batching::queue;
namespace prefill = batching::prefill;
namespace preemption = batching::preemption;
namespace victim = batching::victim;

using plain_engine = serving_engine<batching::static_batch<4>>;

const tokens_of_all& expected() {
  static const tokens_of_all tokens = [] {
    plain_engine engine = plain_engine::load(tiny_model(serving_model), {.context = 64, .threads = 2});
    return serve_each_alone(engine);
  }();
  return tokens;
}

/// An engine whose blocks are too few for all that run, so that preemption policies have to act.
template <class Engine>
Engine cramped(engine_options options = {}) {
  options.context = 64;
  options.threads = 2;
  if (options.cache_tokens == 0) options.cache_tokens = 72;
  if (options.max_step_tokens == 0) options.max_step_tokens = 24;
  return Engine::load(tiny_model(serving_model), options);
}

using recomputing = continuous<queue::fcfs, prefill::chunked<7>, preemption::recompute<>, 6>;
using swapping = continuous<queue::priority<>, prefill::whole, preemption::swap<victim::lowest_priority>, 6>;
using reserving = continuous<queue::fair<64>, prefill::chunked<>, preemption::none, 6>;

}  // namespace

BOOST_AUTO_TEST_SUITE(serving)

BOOST_AUTO_TEST_CASE(batches_that_run_to_the_end_give_the_tokens_of_requests_alone) {
  auto gathered = serving_engine<batching::static_batch<4>>::load(tiny_model(serving_model), {.context = 64});
  BOOST_TEST((serve(gathered) == expected()));
  auto timed = cramped<serving_engine<batching::dynamic<4, 1>, cache::paged<4>>>();
  BOOST_TEST((serve(timed) == expected()));
}

BOOST_AUTO_TEST_CASE(sequences_that_are_computed_again_give_the_same_tokens) {
  auto engine = cramped<serving_engine<recomputing, cache::paged<4>>>();
  BOOST_TEST((serve(engine) == expected()));
  BOOST_TEST(engine.counters().preemptions > 0u);
  BOOST_TEST(engine.counters().recomputed_tokens > 0u);
  BOOST_TEST(engine.cache_usage() == 0.0);
}

BOOST_AUTO_TEST_CASE(sequences_that_are_swapped_out_give_the_same_tokens) {
  auto engine = cramped<serving_engine<swapping, cache::paged<4>>>();
  BOOST_TEST((serve(engine) == expected()));
  BOOST_TEST(engine.counters().swaps_out > 0u);
  BOOST_TEST(engine.counters().swaps_in == engine.counters().swaps_out);
  BOOST_TEST(engine.cache_usage() == 0.0);
}

BOOST_AUTO_TEST_CASE(sequences_that_share_prefixes_give_the_same_tokens) {
  auto engine = cramped<sharing_engine>();
  BOOST_TEST((serve(engine) == expected()));
  BOOST_TEST(engine.counters().prefix_hits > 0u);
  BOOST_TEST((serve(engine) == expected()));  // once more, with all that is left in the cache
  BOOST_TEST(engine.cache_usage() == 0.0);
}

BOOST_AUTO_TEST_CASE(sequences_that_reserve_all_are_never_preempted) {
  auto engine = cramped<serving_engine<reserving, cache::contiguous>>();
  BOOST_TEST((serve(engine) == expected()));
  BOOST_TEST(engine.counters().preemptions == 0u);
}

BOOST_AUTO_TEST_CASE(samples_of_one_prompt_share_its_blocks_and_draw_as_requests_of_their_own) {
  auto engine = cramped<serving_engine<recomputing, cache::paged<4>>>({.cache_tokens = 192});
  const std::vector<token_id> prompt = serving_prompts()[8];
  auto request = serving_request<decltype(engine)>(1);
  request.n = 3;
  const request_id first = engine.submit(prompt, request);
  run_to_end(engine);
  BOOST_TEST(engine.counters().forks == 2u);
  for (std::uint64_t i = 0; i < 3; ++i) {
    auto alone = serving_request<decltype(engine)>(1);
    *alone.seed += i;
    BOOST_TEST(engine.take(first + i).value().tokens == complete(engine, prompt, alone).tokens,
               boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(a_full_queue_refuses_and_loses_nothing) {
  auto engine = cramped<serving_engine<recomputing, cache::paged<4>>>({.max_queue = 2});
  const tokens_of_all prompts = serving_prompts();
  const auto request = serving_request<decltype(engine)>(3);
  const request_id a = engine.try_submit(prompts[3], request), b = engine.try_submit(prompts[3], request);
  BOOST_TEST((a != 0 && b != 0));
  BOOST_TEST(engine.try_submit(prompts[3], request) == 0u);
  BOOST_CHECK_EXCEPTION(engine.submit(prompts[3], request), request_error, [](const request_error& e) {
    return std::string(e.what()).find("the queue is full: 2 requests wait") != std::string::npos;
  });
  auto none = request;
  none.n = 0;
  BOOST_CHECK_THROW(engine.try_submit(prompts[3], none), request_error);
  BOOST_TEST(engine.waiting() == 2u);
  engine.step();
  BOOST_TEST(engine.running() == 2u);
  BOOST_TEST(engine.try_submit(prompts[3], request) != 0u);
  run_to_end(engine);
  BOOST_TEST(engine.take(a).value().tokens == expected()[3], boost::test_tools::per_element());
  BOOST_TEST(engine.take(b).value().tokens == expected()[3], boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_request_that_can_never_fit_is_refused_at_once) {
  auto engine = cramped<serving_engine<recomputing, cache::paged<4>>>({.cache_tokens = 32});
  auto request = serving_request<decltype(engine)>(0);
  request.max_tokens = 40;
  BOOST_CHECK_EXCEPTION(engine.submit(serving_prompts()[2], request), request_error,
                        [](const request_error& e) {
                          return std::string(e.what()).find("but the cache has 32;") != std::string::npos;
                        });
  BOOST_TEST(engine.idle());
}

BOOST_AUTO_TEST_CASE(a_request_whose_time_has_passed_ends_and_the_others_go_on) {
  auto engine = cramped<serving_engine<recomputing, cache::paged<4>>>();
  auto late = serving_request<decltype(engine)>(0);
  late.timeout = 1e-9;
  const request_id ends = engine.submit(serving_prompts()[0], late);
  const request_id stays = engine.submit(serving_prompts()[1], serving_request<decltype(engine)>(1));
  run_to_end(engine);
  BOOST_TEST((engine.take(ends).value().finish == finish_reason::timeout));
  BOOST_TEST(engine.take(stays).value().tokens == expected()[1], boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
