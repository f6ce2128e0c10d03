// The order of each queue, and how long anybody waits in it (the proof is in policy/queue.hpp).
#include <tenon/cache/paged.hpp>
#include <tenon/policy/queue.hpp>

#include <rapidcheck.h>
#include <boost/mpl/list.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "schedule/shadow_engine.hpp"

namespace {

using namespace tenon;
using namespace tenon::test;
namespace queue = batching::queue;
namespace prefill = batching::prefill;
namespace preemption = batching::preemption;
using pages = cache::paged<4>;

/// Lets everybody in as one of a batch of 1, whose members end at once. Gives the order, by number from 0.
template <class Queue>
std::vector<std::size_t> order_of(const std::vector<schedule::sequence>& given) {
  std::vector<std::unique_ptr<schedule::sequence>> all;
  typename Queue::waiting waiting;
  for (const schedule::sequence& s : given) {
    all.push_back(std::make_unique<schedule::sequence>(s));
    all.back()->number = all.size();
    all.back()->stage = schedule::stage::waiting;
    waiting.reserve(all.size());
    waiting.enroll(*all.back());
    waiting.push(*all.back());
  }
  std::vector<std::size_t> order;
  while (schedule::sequence* next = waiting.next()) {
    BOOST_TEST(waiting.next() == next);
    waiting.pop();
    order.push_back(next->number - 1);
  }
  BOOST_TEST(waiting.size() == 0u);
  return order;
}

schedule::sequence with(std::int32_t priority, std::size_t limit, std::uint64_t client, std::uint64_t step) {
  schedule::sequence s;
  s.tokens = {1};
  s.priority = priority;
  s.limit = limit;
  s.client = client;
  s.submitted_step = step;
  return s;
}

using order_list = std::vector<std::size_t>;

/// A policy with aging, and the steps after which nobody submitted later goes before.
struct fcfs_case {
  using policy = queue::fcfs;
  static std::size_t window(const client&) { return 0; }
};
struct priority_case {
  using policy = queue::priority<4>;
  static std::size_t window(const client& c) { return static_cast<std::size_t>(c.sequence.priority) * 4; }
};
struct shortest_case {
  using policy = queue::shortest_first<2>;
  static std::size_t window(const client& c) { return c.sequence.most_tokens() / 2; }
};

template <class Case, class Prefill, class Preemption>
struct bound_case {
  using aging = Case;
  using prefill_type = Prefill;
  using batching_type = batching::continuous<typename Case::policy, Prefill, Preemption, 4>;
};
using bound_cases = boost::mpl::list<
    bound_case<fcfs_case, prefill::chunked<>, preemption::recompute<>>,
    bound_case<priority_case, prefill::chunked<8>, preemption::recompute<batching::victim::lowest_priority>>,
    bound_case<priority_case, prefill::whole, preemption::swap<batching::victim::least_progress>>,
    bound_case<shortest_case, prefill::chunked<>, preemption::none>>;

}  // namespace

BOOST_AUTO_TEST_SUITE(queues)

BOOST_AUTO_TEST_CASE(first_come_first_served) {
  BOOST_TEST(
      order_of<queue::fcfs>({with(3, 9, 0, 0), with(1, 2, 0, 0), with(2, 5, 0, 1)}) == (order_list{0, 1, 2}),
      boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(the_lowest_priority_number_goes_first_until_others_have_aged) {
  using q = queue::priority<10>;
  BOOST_TEST(order_of<q>({with(3, 9, 0, 0), with(-1, 9, 0, 0), with(2, 9, 0, 0), with(2, 9, 0, 0)}) ==
                 (order_list{1, 2, 3, 0}),
             boost::test_tools::per_element());
  BOOST_TEST(order_of<q>({with(2, 9, 0, 0), with(0, 9, 0, 19), with(0, 9, 0, 20), with(0, 9, 0, 21)}) ==
                 (order_list{1, 0, 2, 3}),
             boost::test_tools::per_element());
  BOOST_TEST(order_of<queue::priority<>>(
                 {with(2147483647, 9, 0, 0), with(-2147483647 - 1, 9, 0, 1u << 30)}) == (order_list{1, 0}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(the_shortest_goes_first_until_others_have_aged) {
  using q = queue::shortest_first<3>;
  BOOST_TEST(order_of<q>({with(0, 100, 0, 0), with(0, 10, 0, 0), with(0, 10, 0, 29), with(0, 10, 0, 31)}) ==
                 (order_list{1, 2, 0, 3}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(clients_take_turns) {
  // Three of client 7, then two of client 8: each turn pays for one.
  BOOST_TEST(order_of<queue::fair<10>>({with(0, 10, 7, 0), with(0, 10, 7, 0), with(0, 10, 7, 0),
                                        with(0, 10, 8, 0), with(0, 10, 8, 0)}) == (order_list{0, 3, 1, 4, 2}),
             boost::test_tools::per_element());
  // Client 8 asks for a quarter of the tokens, and gets four for one.
  BOOST_TEST(order_of<queue::fair<8>>({with(0, 16, 7, 0), with(0, 16, 7, 0), with(0, 4, 8, 0),
                                       with(0, 4, 8, 0), with(0, 4, 8, 0), with(0, 4, 8, 0),
                                       with(0, 4, 8, 0)}) == (order_list{2, 3, 0, 4, 5, 6, 1}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_turn_of_few_tokens_does_not_take_long) {
  std::vector<schedule::sequence> all;
  for (std::uint64_t c = 0; c < 50; ++c) all.push_back(with(0, 1'000'000'000 + c, c, 0));
  const order_list order = order_of<queue::fair<1>>(all);
  BOOST_TEST(order.front() == 0u);
  BOOST_TEST(order.back() == 49u);
}

BOOST_AUTO_TEST_CASE(sequences_leave_a_queue_from_anywhere) {
  BOOST_TEST(rc::check([] {
    typename queue::fair<5>::waiting fair;
    typename queue::priority<3>::waiting keyed;
    std::vector<std::unique_ptr<schedule::sequence>> all;
    std::vector<schedule::sequence*> in;
    const bool use_fair = *rc::gen::inRange(0, 2) == 0;
    const auto on = [&](auto&& what) { use_fair ? what(fair) : what(keyed); };
    for (int n = *rc::gen::inRange(0, 80); n > 0; --n) {
      switch (*rc::gen::inRange(0, 3)) {
        case 0: {
          all.push_back(std::make_unique<schedule::sequence>(
              with(*rc::gen::inRange(0, 4), *rc::gen::inRange<std::size_t>(1, 20),
                   *rc::gen::inRange<std::uint64_t>(0, 4), all.size())));
          schedule::sequence& s = *all.back();
          s.number = all.size();
          s.stage = schedule::stage::waiting;
          in.push_back(&s);
          on([&](auto& q) { q.reserve(in.size()), q.enroll(s), q.push(s); });
          break;
        }
        case 1:
          if (!in.empty()) {
            schedule::sequence* s = in[*rc::gen::inRange<std::size_t>(0, in.size())];
            on([&](auto& q) { q.erase(*s), q.ended(*s); });
            std::erase(in, s);
          }
          break;
        default:
          on([&](auto& q) {
            schedule::sequence* s = q.next();
            RC_ASSERT((s == nullptr) == in.empty());
            if (s == nullptr) return;
            RC_ASSERT(std::erase(in, s) == 1u);
            q.pop();
            s->entered = 1;
            q.ended(*s);
          });
      }
      on([&](auto& q) {
        RC_ASSERT(q.size() == in.size());
        std::size_t counted = 0;
        q.for_each([&](const schedule::sequence&) { ++counted; });
        RC_ASSERT(counted == in.size());
      });
    }
  }));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(nobody_waits_longer_than_the_bound, Case, bound_cases) {
  double longest = 0;
  BOOST_TEST(rc::check([&] {
    const std::size_t max_batch = *rc::gen::inRange<std::size_t>(1, 5), context = 24;
    shadow_engine<typename Case::batching_type, pages::manager> e(
        {max_batch, max_batch + *rc::gen::inRange<std::size_t>(0, 12)},
        pages::manager({max_batch, context, 4 * *rc::gen::inRange<std::size_t>(6, 16), 40}));
    std::map<const client*, std::size_t> submitted_step, in_system;
    const int events = *rc::gen::inRange(1, 100);
    std::size_t live = 0;
    for (int i = 0; i < events && e.fault.empty(); ++i) {
      if (*rc::gen::inRange(0, 3) == 0) {
        const client& c =
            e.submit(prompt_of(*rc::gen::inRange<std::size_t>(1, 12)), *rc::gen::inRange<std::size_t>(1, 12),
                     {.priority = *rc::gen::inRange(0, 4)});
        submitted_step[&c] = e.steps;
        live = 0;
        for (const auto& other : e.clients()) live += other->ended ? 0u : 1u;
        in_system[&c] = live - 1;
      } else {
        e.step();
      }
    }
    if (!e.finish()) RC_FAIL(e.fault);
    for (const auto& c : e.clients()) {
      const std::size_t window = Case::aging::window(*c), at = submitted_step[c.get()];
      std::size_t ahead = in_system[c.get()];
      for (const auto& other : e.clients()) {
        if (other->sequence.number <= c->sequence.number) continue;
        if (submitted_step[other.get()] <= at + window) {
          ++ahead;
        } else {  // nobody who came after the window has gone before
          RC_ASSERT(other->entered_step >= c->entered_step);
        }
      }
      const std::uint64_t bound =
          batching::waiting_bound(ahead, max_batch, context, Case::prefill_type::steps_per_token);
      const std::size_t waited = c->entered_step - at;
      RC_ASSERT(waited <= bound);
      longest = (std::max)(longest, static_cast<double>(waited));
    }
  }));
  BOOST_TEST(longest > 20.0);  // there was something to wait for
}

BOOST_AUTO_TEST_CASE(no_client_gets_much_more_than_another_that_waits) {
  constexpr std::uint64_t quantum = 16;
  using fair = batching::continuous<queue::fair<quantum>, prefill::chunked<>, preemption::none, 4>;
  BOOST_TEST(rc::check([&] {
    const std::size_t context = 24;
    shadow_engine<fair, pages::manager> e({2, 8}, pages::manager({2, context, 48}));
    const int events = *rc::gen::inRange(1, 100);
    // The queue's own events, in order: who was submitted, and who entered.
    struct event {
      const client* who;
      bool enters;
    };
    std::vector<event> log;
    std::size_t logged = 0;
    const auto note_entered = [&] {
      std::vector<const client*> entered;
      for (const auto& c : e.clients())
        if (c->sequence.entered > logged) entered.push_back(c.get());
      std::sort(entered.begin(), entered.end(),
                [](const client* a, const client* b) { return a->sequence.entered < b->sequence.entered; });
      for (const client* c : entered) log.push_back({c, true});
      logged += entered.size();
    };
    for (int i = 0; i < events && e.fault.empty(); ++i) {
      if (*rc::gen::inRange(0, 2) == 0) {
        const client& c =
            e.submit(prompt_of(*rc::gen::inRange<std::size_t>(1, 12)), *rc::gen::inRange<std::size_t>(1, 12),
                     {.account = *rc::gen::inRange<std::uint64_t>(0, 3)});
        log.push_back({&c, false});
      } else {
        e.step();
        note_entered();
      }
    }
    while (e.step()) note_entered();
    if (!e.fault.empty()) RC_FAIL(e.fault);
    // While c waits: others' tokens let in, by client, against its own turns.
    for (std::size_t i = 0; i < log.size(); ++i) {
      if (log[i].enters) continue;
      const client& c = *log[i].who;
      std::uint64_t own = c.sequence.most_tokens();  // it, and what its client has waiting before it
      for (std::size_t k = 0; k < i; ++k) {
        if (log[k].who->sequence.client != c.sequence.client) continue;
        own += log[k].enters ? 0 : log[k].who->sequence.most_tokens();
        own -= log[k].enters ? log[k].who->sequence.most_tokens() : 0;
      }
      std::map<std::uint64_t, std::uint64_t> let_in;
      for (std::size_t k = i + 1; log[k].who != &c; ++k)
        if (log[k].enters) let_in[log[k].who->sequence.client] += log[k].who->sequence.most_tokens();
      const std::uint64_t rounds = (own + quantum - 1) / quantum;
      for (const auto& [account, tokens] : let_in)
        if (account != c.sequence.client) RC_ASSERT(tokens <= (rounds + 2) * quantum + context);
    }
  }));
}

BOOST_AUTO_TEST_CASE(tokens_that_were_not_used_are_given_back) {
  using fair = batching::continuous<queue::fair<10>, prefill::chunked<>, preemption::none, 1>;
  shadow_engine<fair, pages::manager> e({1, 64}, pages::manager({1, 64}));
  // Client 1 says 40 tokens each time and uses 10; client 2 says 10. Both use the same.
  std::vector<client*> ones, twos;
  for (int i = 0; i < 8; ++i) ones.push_back(&e.submit(prompt_of(5), 5, {.account = 1, .spare = 30}));
  for (int i = 0; i < 40; ++i) twos.push_back(&e.submit(prompt_of(5), 5, {.account = 2}));
  while (!ones[5]->ended) BOOST_REQUIRE(e.step());
  const auto ended = std::count_if(twos.begin(), twos.end(), [](const client* c) { return c->ended; });
  BOOST_TEST(ended >= 5);
  BOOST_TEST(ended <= 10);  // without giving back, client 2 would have had four for one
  BOOST_TEST(!ones[6]->ended);
  BOOST_TEST(e.finish(), e.fault);
}

BOOST_AUTO_TEST_SUITE_END()
