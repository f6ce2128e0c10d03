#include <tenon/measure/peaks.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <vector>

using namespace tenon::measure;
using std::chrono::milliseconds;

namespace {

const clock::time_point start{std::chrono::hours(1)};

request_times between(int arrival_ms, int end_ms, std::size_t tokens = 2) {
  request_times t;
  t.arrival = start + milliseconds(arrival_ms);
  t.first_token = t.last_token = start + milliseconds(end_ms);
  t.tokens = tokens;
  return t;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(peaks)

BOOST_AUTO_TEST_CASE(events_are_counted_by_whole_seconds_since_the_start) {
  std::vector<clock::time_point> events;
  for (const int ms : {0, 999, 1000, 1500, 1999, 2000, 7000}) events.push_back(start + milliseconds(ms));
  BOOST_TEST(most_per_second(events, start) == 3u);
  BOOST_TEST(most_per_second(events, start - milliseconds(1)) ==
             3u);  // 999, 1000 and so on move on: 1000 to 1998
  BOOST_TEST(most_per_second(events, start - milliseconds(500)) ==
             3u);  // 999, 1000 and, at its end, not 1500
  BOOST_TEST(most_per_second({}, start) == 0u);
}

BOOST_AUTO_TEST_CASE(requests_count_from_their_arrival_until_just_before_their_end) {
  BOOST_TEST(most_at_once(std::vector{between(0, 10), between(10, 20), between(20, 30)}) == 1u);
  BOOST_TEST(most_at_once(std::vector{between(0, 10), between(9, 20), between(5, 6), between(5, 9)}) == 3u);
  BOOST_TEST(most_at_once(std::vector{between(0, 10), between(0, 10, 0)}) == 1u);
  BOOST_TEST(most_at_once({}) == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
