#include <tenon/measure/serving_metrics.hpp>

#include <rapidcheck.h>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

using namespace tenon::measure;

namespace {

bool close(double a, double b) { return std::abs(a - b) <= 1e-9 * (1 + std::abs(b)); }

clock::time_point at(std::int64_t microseconds) {
  return clock::time_point(std::chrono::hours(3) + std::chrono::microseconds(microseconds));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(serving_metrics)

BOOST_AUTO_TEST_CASE(a_value_at_a_bound_is_in_the_bucket_below_it) {
  const double bounds[] = {1, 2, 5};
  histogram h{bounds};
  for (const double v : {0.0, 1.0, 1.5, 2.0, 5.0, 5.1}) h.observe(v);
  const std::uint64_t counts[] = {2, 2, 1, 1};
  BOOST_TEST(h.counts() == counts, boost::test_tools::per_element());
  BOOST_TEST(h.count() == 6u);
  BOOST_TEST(close(h.sum(), 14.6));
}

BOOST_AUTO_TEST_CASE(lengths_have_buckets_of_one_two_five) {
  const double bounds[] = {1, 2, 5, 10, 20, 50, 100, 200};
  BOOST_TEST(length_buckets(499) == bounds, boost::test_tools::per_element());
  BOOST_TEST(length_buckets(500).back() == 500);
}

BOOST_AUTO_TEST_CASE(gaps_are_pooled_over_requests_and_a_chunk_is_one_gap) {
  tenon::measure::serving_metrics m;
  request_times a, b;
  a.arrival = b.arrival = at(0);
  a.prompt_tokens = 7;
  b.prompt_tokens = 5;
  m.deliver(a, at(40'000));
  m.deliver(b, at(50'000));
  m.deliver(a, at(160'000), 4);  // four tokens after 120 ms
  m.deliver(b, at(70'000));
  BOOST_TEST(m.ttft.count() == 2u);
  BOOST_TEST(close(m.ttft.sum(), 0.090));
  BOOST_TEST(m.inter_token.count() == 2u);
  BOOST_TEST(close(m.inter_token.sum(), 0.140));
  BOOST_TEST(m.inter_token_share.count() == 5u);
  BOOST_TEST(close(m.inter_token_share.sum(), 0.140));
  BOOST_TEST(m.inter_token_share.counts()[1] == 1u);  // 20 ms
  BOOST_TEST(m.inter_token_share.counts()[2] == 4u);  // four times 30 ms
}

BOOST_AUTO_TEST_CASE(the_sums_agree_with_each_other_over_any_requests) {
  BOOST_TEST(rc::check([] {
    tenon::measure::serving_metrics m;
    std::size_t tokens = 0, prompts = 0, ended = 0;
    double gaps = 0;
    for (std::size_t r = *rc::gen::inRange<std::size_t>(1, 20); r > 0; --r) {
      const auto wait = rc::gen::inRange<std::int64_t>(1, 500'000);
      std::int64_t now = *wait;
      request_times t;
      t.arrival = at(now);
      t.queued = at(now += *wait);
      t.scheduled = at(now += *wait);
      t.prompt_tokens = *rc::gen::inRange<std::size_t>(1, 4000);
      const auto n = *rc::gen::inRange<std::size_t>(0, 30);
      for (std::size_t i = 0; i < n; ++i) {
        const std::int64_t before = now;
        now += *wait;
        if (i > 0) gaps += static_cast<double>(now - before) * 1e-6;
        m.deliver(t, at(now));
      }
      m.finish(t, n % 2 == 0 ? ending::stop : ending::length);
      tokens += n;
      prompts += n > 0 ? t.prompt_tokens : 0;
      ended += 1;
    }
    RC_ASSERT(m.generation_tokens == tokens && m.prompt_tokens == prompts);
    RC_ASSERT(m.ttft.count() == m.e2e.count() && m.e2e.count() == m.queue.count());
    RC_ASSERT(close(m.inter_token.sum(), gaps) && close(m.decode.sum(), gaps));
    RC_ASSERT(close(m.inference.sum(), m.prefill.sum() + m.decode.sum()));
    RC_ASSERT(close(m.e2e.sum(), m.ttft.sum() + m.decode.sum()));
    RC_ASSERT(close(m.generation_length.sum(), static_cast<double>(tokens)));
    RC_ASSERT(std::accumulate(m.endings.begin(), m.endings.end(), std::size_t{0}) == ended);
  }));
}

BOOST_AUTO_TEST_SUITE_END()
