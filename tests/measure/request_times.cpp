#include <tenon/measure/request_times.hpp>

#include <rapidcheck.h>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cmath>
#include <cstdint>

namespace {

using tenon::measure::clock;
using times = tenon::measure::request_times;

/// A request with these waits between its events, in microseconds.
times timed(std::int64_t queue, std::int64_t prefill, std::int64_t decode, std::size_t tokens) {
  using std::chrono::microseconds;
  times t;
  t.arrival = clock::time_point(std::chrono::hours(5));
  t.scheduled = t.arrival + microseconds(queue);
  t.first_token = t.scheduled + microseconds(prefill);
  t.last_token = t.first_token + microseconds(decode);
  t.tokens = tokens;
  return t;
}

bool close(double a, double b) { return std::abs(a - b) <= 1e-9 * (1 + std::abs(b)); }

}  // namespace

BOOST_AUTO_TEST_SUITE(request_times)

BOOST_AUTO_TEST_CASE(the_metrics_are_as_the_field_defines_them) {
  const times t = timed(2000, 30000, 450000, 10);
  BOOST_TEST(close(t.queue(), 0.002));
  BOOST_TEST(close(t.prefill(), 0.030));
  BOOST_TEST(close(t.decode(), 0.450));
  BOOST_TEST(close(t.ttft(), 0.032));
  BOOST_TEST(close(t.tpot(), 0.050));  // nine tokens came after the first
  BOOST_TEST(close(t.e2e(), 0.482));
}

BOOST_AUTO_TEST_CASE(the_identities_between_them_hold_for_any_request) {
  BOOST_TEST(rc::check([] {
    const auto wait = rc::gen::inRange<std::int64_t>(0, 100'000'000);
    const auto n = *rc::gen::inRange<std::size_t>(2, 5000);
    const times t = timed(*wait, *wait, *wait, n);
    return close(t.e2e(), t.ttft() + t.tpot() * static_cast<double>(n - 1)) &&
           close(t.e2e(), t.queue() + t.prefill() + t.decode()) && close(t.ttft(), t.queue() + t.prefill()) &&
           close(t.e2e(), t.tokenise() + t.queue() + t.inference());
  }));
}

BOOST_AUTO_TEST_CASE(tokenising_is_no_part_of_the_queue) {
  times t = timed(2000, 30000, 450000, 10);
  BOOST_TEST(t.tokenise() == 0);  // not noted
  t.queued = t.arrival + std::chrono::microseconds(700);
  BOOST_TEST(close(t.tokenise(), 0.0007));
  BOOST_TEST(close(t.queue(), 0.0013));
  BOOST_TEST(close(t.inference(), 0.480));
  BOOST_TEST(close(t.e2e(), t.tokenise() + t.queue() + t.inference()));
  BOOST_TEST(close(t.inference(), t.prefill() + t.decode()));
}

BOOST_AUTO_TEST_CASE(deliveries_set_the_first_and_the_last_token) {
  times t = timed(0, 0, 0, 0);
  const auto at = [&](int ms) { return t.arrival + std::chrono::milliseconds(ms); };
  t.deliver(at(30));
  t.deliver(at(70), 3);  // as a step of speculation
  t.deliver(at(130));
  BOOST_TEST(t.tokens == 5u);
  BOOST_TEST(close(t.ttft(), 0.030));
  BOOST_TEST(close(t.tpot(), 0.025));
}

BOOST_AUTO_TEST_CASE(what_is_not_defined_is_zero) {
  const times one = timed(1000, 1000, 0, 1);
  BOOST_TEST(one.tpot() == 0);
  BOOST_TEST(close(one.ttft(), 0.002));
  BOOST_TEST(close(one.e2e(), one.ttft()));
  const times none = timed(1000, 0, 0, 0);
  BOOST_TEST(none.ttft() == 0);
  BOOST_TEST(none.tpot() == 0);
  BOOST_TEST(none.e2e() == 0);
  BOOST_TEST(none.prefill() == 0);
  BOOST_TEST(none.decode() == 0);
}

BOOST_AUTO_TEST_SUITE_END()
