// Memory that runs out under an engine, at each allocation in turn: what was asked for is refused, nothing leaks, and
// requests that are there finish with the tokens that they get anyway.
#include "engine/counted_memory.hpp"
#include "engine/serving.hpp"

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <new>
#include <optional>
#include <vector>

namespace {

using namespace tenon;
using namespace tenon::test;

sharing_engine load() {
  return sharing_engine::load(tiny_model(serving_model),
                              {.context = 64, .max_step_tokens = 24, .cache_tokens = 96, .threads = 1});
}

/// `action()`, whose allocation number `point` fails. Whether it got through.
template <class Action>
bool survives(std::size_t point, Action&& action) {
  try {
    const failing_allocation here(point);
    action();
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(faults)

BOOST_AUTO_TEST_CASE(a_request_that_finds_no_memory_is_refused_and_the_others_finish_as_they_would) {
  const auto prompts = serving_prompts();
  std::vector<token_id> expected;
  {
    sharing_engine alone = load();
    expected = complete(alone, prompts[0], serving_request<sharing_engine>(0)).tokens;
  }
  const auto first = serving_request<sharing_engine>(0);
  auto second = serving_request<sharing_engine>(1);
  second.n = 2;
  sharing_engine engine = load();
  const auto finish_first = [&](request_id id) {
    run_to_end(engine);
    return engine.take(id).value().tokens;
  };
  // Once, so that all memory that the engine keeps is there.
  BOOST_TEST((finish_first(engine.submit(prompts[0], first)) == expected));
  std::size_t refused = 0;
  for (std::size_t point = 1;; ++point) {
    BOOST_REQUIRE(point < 500u);
    const std::size_t live = live_allocations();
    const request_id running = engine.submit(prompts[0], first);
    engine.step();
    request_id given = 0;
    const bool got_through = survives(point, [&] { given = engine.submit(prompts[1], second); });
    BOOST_TEST((finish_first(running) == expected), "after a failure at allocation " << point);
    if (got_through) {
      BOOST_TEST(engine.take(given).has_value());
      BOOST_TEST(engine.take(given + 1).has_value());
    }
    BOOST_TEST(engine.cache_usage() == 0.0);
    BOOST_TEST(live_allocations() <= live, "after a failure at allocation " << point);
    if (got_through) break;
    ++refused;
  }
  BOOST_TEST(refused > 10u);
}

BOOST_AUTO_TEST_CASE(an_engine_that_finds_no_memory_while_it_loads_gives_all_back) {
  static_cast<void>(load());
  std::size_t refused = 0;
  // Every allocation near the beginning, and ever fewer of the thousands of the vocabulary.
  for (std::size_t point = 1;; point += 1 + point / 20) {
    const std::size_t live = live_allocations();
    std::optional<sharing_engine> engine;
    if (survives(point, [&] { engine.emplace(load()); })) break;
    ++refused;
    BOOST_REQUIRE(live_allocations() == live);
  }
  BOOST_TEST(refused > 50u);
}

BOOST_AUTO_TEST_SUITE_END()
