// Memory that runs out: the cache's, at each question in turn, and the program's own, at each allocation in turn.
// This file replaces operator new of the test program, to count and to fail.
#include <tenon/cache/paged.hpp>
#include <tenon/cache/prefix_shared.hpp>

#include <boost/mpl/list.hpp>
#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "schedule/shadow_engine.hpp"

namespace {
thread_local std::size_t allocations = 0;
thread_local std::size_t fails_at = 0;  // the number of the allocation that fails; 0: none
}  // namespace

// Not inlined: g++ would see malloc and delete meet, and warn of it.
[[gnu::noinline]] void* operator new(std::size_t size) {
  if (++allocations == fails_at) throw std::bad_alloc();
  if (void* memory = std::malloc(size != 0 ? size : 1)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace {

using namespace tenon;
using namespace tenon::test;
namespace queue = batching::queue;
namespace prefill = batching::prefill;
namespace preemption = batching::preemption;
using pages = cache::paged<4>::manager;
using shared = cache::prefix_shared<cache::paged<4>>::manager;

/// A manager that says no at one question, though there may be room.
template <class Manager>
class flaky : public Manager {
 public:
  flaky(const cache::geometry& size, std::size_t failing)
      : Manager(size), fails_at_(failing), asked_(std::make_shared<std::size_t>(0)) {}
  bool reserve(std::size_t slot, std::size_t positions) {
    return !fails() && Manager::reserve(slot, positions);
  }
  bool swap_in(std::size_t slot, const cache::swapped_sequence& swapped, std::size_t positions) {
    return !fails() && Manager::swap_in(slot, swapped, positions);
  }
  std::optional<cache::swapped_sequence> swap_out(std::size_t slot) {
    return fails() ? std::nullopt : Manager::swap_out(slot);
  }
  std::size_t asked() const { return *asked_; }

 private:
  bool fails() { return ++*asked_ == fails_at_; }
  std::size_t fails_at_;
  std::shared_ptr<std::size_t> asked_;
};

template <class Queue, class Preemption, class Manager>
struct fault_case {
  using batching_type = batching::continuous<Queue, prefill::chunked<>, Preemption>;
  using manager = Manager;
};
using fault_cases = boost::mpl::list<fault_case<queue::fcfs, preemption::recompute<>, pages>,
                                     fault_case<queue::fair<16>, preemption::swap<>, shared>,
                                     fault_case<queue::priority<4>, preemption::none, shared>>;

/// Traffic under pressure, with samples of one prompt.
template <class Engine>
void submit_traffic(Engine& e) {
  for (std::size_t i = 0; i < 4; ++i)
    e.submit(prompt_of(5 + 3 * i, i % 2), 12,
             {.priority = static_cast<std::int32_t>(i % 3), .account = i % 2});
  e.submit(prompt_of(5), 6, {.account = 7, .seed = 3, .copy_of = e.clients()[0].get()});
  e.step();
  e.submit(prompt_of(8), 12, {.account = 9});
}

}  // namespace

BOOST_AUTO_TEST_SUITE(faults)

BOOST_AUTO_TEST_CASE_TEMPLATE(a_cache_that_says_no_once_stops_at_most_one, Case, fault_cases) {
  std::size_t questions = 1;
  for (std::size_t fails = 0; fails <= questions; ++fails) {
    shadow_engine<typename Case::batching_type, flaky<typename Case::manager>> e(
        {3, 16}, {{3, 32, 4 * 12, 4 * 12}, fails});
    submit_traffic(e);
    BOOST_TEST(e.finish(), std::to_string(fails) + ": " + e.fault);  // so nothing has leaked
    if (fails == 0) questions = e.cache().asked();
    std::size_t dropped = 0;
    for (const auto& c : e.clients()) dropped += c->dropped ? 1u : 0u;
    BOOST_TEST(dropped <= 1u);
    BOOST_TEST((dropped == 0 || fails > 0));
  }
  BOOST_TEST(questions > 50u);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_submission_that_finds_no_memory_changes_nothing, Case, fault_cases) {
  using manager = typename Case::manager;
  std::size_t failed = 0;
  for (std::size_t point = 1; point < 40; ++point) {
    schedule::scheduler<typename Case::batching_type, manager> scheduler({2, 16}, manager({2, 32}));
    std::vector<schedule::sequence> all(9);
    std::size_t accepted = 0;
    fails_at = allocations + point;  // counted on from one submission to the next, and over the prompts, too
    for (std::size_t i = 0; i < all.size(); ++i) {
      try {
        all[i].tokens = {1, 2, 3};
        all[i].limit = 4;
        all[i].client = i;
        all[i].deadline = schedule::time_point(std::chrono::hours(i));
        if (i == 5) all[i].copy_of = &all[0];
        accepted +=
            scheduler.submit(all[i], schedule::time_point()) == schedule::admission::accepted ? 1u : 0u;
      } catch (const std::bad_alloc&) {
        ++failed;
        BOOST_REQUIRE((all[i].stage == schedule::stage::outside));
        BOOST_REQUIRE(!scheduler.remove(all[i]));
      }
      BOOST_REQUIRE(scheduler.waiting() == accepted);
    }
    fails_at = 0;
    std::size_t ended = 0;
    while (!scheduler.idle()) {
      scheduler.plan(schedule::time_point(std::chrono::hours(-1)));
      const std::vector<schedule::sequence*> owners(scheduler.owners().begin(), scheduler.owners().end());
      BOOST_REQUIRE(!owners.empty());
      scheduler.commit();
      for (schedule::sequence* s : owners) {
        if (s->pending() == 0) ended += scheduler.remove(*s) ? 1u : 0u;
      }
    }
    BOOST_TEST(ended == accepted);
    BOOST_TEST(scheduler.cache().free_blocks() == scheduler.cache().blocks());
  }
  BOOST_TEST(failed > 10u);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(steps_allocate_nothing, Case, fault_cases) {
  using manager = typename Case::manager;
  schedule::scheduler<typename Case::batching_type, manager> scheduler({4, 32},
                                                                       manager({4, 64, 4 * 24, 4 * 24}));
  std::vector<schedule::sequence> all(24);
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].tokens = prompt_of(4 + i % 9, i % 3);
    all[i].limit = all[i].tokens.size() + 30;
    all[i].tokens.reserve(all[i].limit);
    all[i].client = i % 5;
    if (i % 7 == 0) all[i].deadline = schedule::time_point(std::chrono::milliseconds(i * 20));
    if (i % 6 == 1)
      all[i].tokens = all[i - 1].tokens, all[i].tokens.reserve(all[i].limit), all[i].copy_of = &all[i - 1];
    BOOST_REQUIRE((scheduler.submit(all[i], schedule::time_point()) == schedule::admission::accepted));
  }
  std::vector<schedule::sequence*> sampled;
  sampled.reserve(4);
  std::size_t steps = 0;
  const std::size_t before = allocations;
  for (; !scheduler.idle(); ++steps) {
    const step_plan& plan = scheduler.plan(schedule::time_point(std::chrono::milliseconds(steps)));
    const auto owners = scheduler.owners();
    sampled.clear();
    for (const std::size_t row : plan.sampled_rows) sampled.push_back(owners[plan.span_of(row)]);
    scheduler.commit();
    for (schedule::sequence* s : sampled) {
      s->tokens.push_back(static_cast<token_id>(s->tokens.size()));
      if (s->tokens.size() == s->limit) scheduler.remove(*s);
    }
  }
  BOOST_TEST(allocations == before);
  BOOST_TEST(steps > 100u);
  if (!Case::batching_type::preemption_type::reserves_all) BOOST_TEST(scheduler.counters().preemptions > 0u);
  const std::string counted(100, 'x');
  BOOST_TEST(allocations > before);  // the count does count
}

BOOST_AUTO_TEST_SUITE_END()
