// Many that wait: what a step costs must not grow with them.
#include <tenon/cache/paged.hpp>
#include <tenon/schedule/scheduler.hpp>

#include <boost/mpl/list.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <ctime>
#include <memory>
#include <vector>

namespace {

using namespace tenon;
namespace queue = batching::queue;
using pages = cache::paged<16>::manager;

template <class Queue>
using policy =
    batching::continuous<Queue, batching::prefill::chunked<>, batching::preemption::recompute<>, 64>;
using queues = boost::mpl::list<queue::fcfs, queue::priority<>, queue::shortest_first<>, queue::fair<>>;

/// Seconds of this thread's processor time, which other programs do not add to.
double cpu_seconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Seconds of processor time to serve so many requests of 32 + 8 tokens that all wait from the beginning.
template <class Queue>
double seconds_to_serve(std::size_t requests) {
  schedule::scheduler<policy<Queue>, pages> scheduler({64, 1024}, pages({64, 64}));
  std::vector<schedule::sequence> all(requests);
  for (std::size_t i = 0; i < requests; ++i) {
    all[i].tokens.assign(32, static_cast<token_id>(i % 1000));
    all[i].limit = 40;
    all[i].tokens.reserve(40);
    all[i].client = i % 97;
    all[i].priority = static_cast<std::int32_t>(i % 7);
    all[i].deadline = schedule::time_point(std::chrono::hours(1 + i % 13));
  }
  const double began = cpu_seconds();
  for (schedule::sequence& s : all) scheduler.submit(s, {});
  for (std::size_t i = 0; i < requests; i += 10) scheduler.remove(all[i]);  // some think better of it
  std::vector<schedule::sequence*> sampled;
  while (!scheduler.idle()) {
    const step_plan& plan = scheduler.plan({});
    const auto owners = scheduler.owners();
    sampled.clear();
    for (const std::size_t row : plan.sampled_rows) sampled.push_back(owners[plan.span_of(row)]);
    scheduler.commit();
    for (schedule::sequence* s : sampled) {
      s->tokens.push_back(1);
      if (s->tokens.size() == s->limit) scheduler.remove(*s);
    }
  }
  return cpu_seconds() - began;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(load)

BOOST_AUTO_TEST_CASE_TEMPLATE(the_cost_of_a_request_does_not_grow_with_those_that_wait, Queue, queues) {
  // 32 times as many: 32 times the time and some logarithm, where looking at all of them would cost 1024 times. The
  // least of three, and a wide margin, as other programs use the same caches.
  double few = 1e9, many = 1e9;
  for (int i = 0; i < 3; ++i) {
    few = std::min(few, seconds_to_serve<Queue>(2'000));
    many = std::min(many, seconds_to_serve<Queue>(64'000));
  }
  BOOST_TEST_MESSAGE(Queue::name.view() << ": " << 64'000 / many << " requests/s");
  BOOST_TEST(many < 32 * 12 * few);
}

BOOST_AUTO_TEST_SUITE_END()
