// Random traffic over small pools, through every kind of policy and cache: everybody gets the answer that they
// would get alone, and in every step every invariant holds (see shadow_engine.hpp).
#include <tenon/cache/contiguous.hpp>
#include <tenon/cache/paged.hpp>
#include <tenon/cache/prefix_shared.hpp>

#include <rapidcheck.h>
#include <boost/mpl/list.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>

#include "schedule/shadow_engine.hpp"

namespace {

using namespace tenon;
using namespace tenon::test;
namespace queue = batching::queue;
namespace prefill = batching::prefill;
namespace preemption = batching::preemption;
namespace victim = batching::victim;

template <class Queue, class Prefill, class Preemption>
using continuous = batching::continuous<Queue, Prefill, Preemption, 8>;

/// What runs together.
template <class Batching, class Layout>
struct choice {
  using batching_type = Batching;
  using layout = Layout;
};

using pages = cache::paged<4>;
using shared = cache::prefix_shared<cache::paged<4>>;
using choices = boost::mpl::list<
    choice<batching::static_batch<8>, cache::contiguous>, choice<batching::static_batch<8>, pages>,
    choice<batching::dynamic<8, 3>, shared>,
    choice<continuous<queue::fcfs, prefill::chunked<>, preemption::recompute<>>, cache::contiguous>,
    choice<continuous<queue::fcfs, prefill::chunked<12>, preemption::recompute<>>, pages>,
    choice<continuous<queue::fcfs, prefill::whole, preemption::recompute<>>, shared>,
    choice<continuous<queue::priority<8>, prefill::chunked<>, preemption::swap<victim::lowest_priority>>,
           pages>,
    choice<continuous<queue::shortest_first<4>, prefill::whole, preemption::swap<victim::least_progress>>,
           shared>,
    choice<continuous<queue::fair<16>, prefill::chunked<9>, preemption::recompute<victim::least_progress>>,
           shared>,
    choice<continuous<queue::fair<64>, prefill::chunked<>, preemption::swap<>>, pages>,
    choice<continuous<queue::priority<1>, prefill::whole, preemption::none>, shared>>;

/// A random number.
std::size_t draw(std::size_t from, std::size_t below) { return *rc::gen::inRange<std::size_t>(from, below); }

}  // namespace

BOOST_AUTO_TEST_SUITE(traces)

BOOST_AUTO_TEST_CASE_TEMPLATE(everybody_gets_their_own_answer, Choice, choices) {
  using manager = typename Choice::layout::manager;
  std::size_t preempted = 0, shared_tokens = 0;
  BOOST_TEST(rc::check([&] {
    const schedule::limits limits{draw(1, 9), 8 + draw(0, 16), draw(0, 4) == 0 ? 3 : SIZE_MAX};
    const std::size_t context = 48, rows = 4 * draw(6, 30), swap_rows = 4 * draw(0, 20);
    shadow_engine<typename Choice::batching_type, manager> e(
        limits, manager({limits.max_batch, context, rows, swap_rows}));
    const int events = *rc::gen::inRange(1, 80);
    for (int i = 0; i < events; ++i) {
      const std::size_t what = draw(0, 10);
      if (what < 4) {
        order how{static_cast<std::int32_t>(draw(0, 5)), draw(0, 3), draw(0, 3), draw(0, 6)};
        if (draw(0, 8) == 0) how.deadline = e.now + std::chrono::milliseconds(draw(0, 40));
        std::vector<token_id> prompt = prompt_of(draw(1, 40), draw(0, 3));
        if (draw(0, 4) == 0 && !e.clients().empty()) {
          how.copy_of = e.clients()[draw(0, e.clients().size())].get();
          prompt = how.copy_of->prompt;
        }
        const client& c = e.submit(prompt, draw(1, 12), how);
        const std::size_t positions = c.prompt.size() + c.wanted + how.spare - 1;
        const bool fits = positions <= e.scheduler().capacity();
        RC_ASSERT((c.answered == schedule::admission::never_fits) == !fits);
      } else if (what == 4 && !e.clients().empty()) {
        e.cancel(*e.clients()[draw(0, e.clients().size())]);
      } else {
        e.step();
      }
      if (!e.fault.empty()) RC_FAIL(e.fault);
    }
    if (!e.finish()) RC_FAIL(e.fault);
    for (const auto& c : e.clients()) {
      RC_ASSERT(!c->dropped || c->reason == schedule::drop_reason::deadline);
      RC_ASSERT(c->sequence.stage == schedule::stage::outside);
    }
    RC_ASSERT(e.scheduler().waiting() == 0u && e.scheduler().running() == 0u);
    preempted += e.counters().preemptions;
    shared_tokens += e.counters().prefix_hits;
  }));
  if (!Choice::batching_type::preemption_type::reserves_all &&
      !std::is_same_v<typename Choice::layout, cache::contiguous>) {
    BOOST_TEST(preempted > 0u);  // or the pools were too large to say anything
  } else {
    BOOST_TEST(preempted == 0u);
  }
  if (cache::shares_prefixes<manager>) BOOST_TEST(shared_tokens > 0u);
}

BOOST_AUTO_TEST_SUITE_END()
