#include <tenon/measure/summary.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cmath>
#include <cstddef>
#include <vector>

using namespace tenon::measure;

namespace {

bool close(double a, double b) { return std::abs(a - b) <= 1e-9 * (1 + std::abs(b)); }

request_times timed(int ttft_ms, int decode_ms, std::size_t tokens, std::size_t prompt = 10) {
  request_times t;
  t.arrival = clock::time_point(std::chrono::hours(1));
  t.first_token = t.arrival + std::chrono::milliseconds(ttft_ms);
  t.last_token = t.first_token + std::chrono::milliseconds(decode_ms);
  t.tokens = tokens;
  t.prompt_tokens = prompt;
  return t;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(summary)

BOOST_AUTO_TEST_CASE(quantiles_are_interpolated_as_in_numpy) {
  const std::vector<double> v = {1, 2, 4, 8};
  BOOST_TEST(quantile(v, 0) == 1);
  BOOST_TEST(quantile(v, 1) == 8);
  BOOST_TEST(close(quantile(v, 0.5), 3));      // numpy.percentile([1, 2, 4, 8], 50)
  BOOST_TEST(close(quantile(v, 0.9), 6.8));    // 90
  BOOST_TEST(close(quantile(v, 0.99), 7.88));  // 99
  BOOST_TEST(quantile(std::vector<double>{}, 0.5) == 0);
  BOOST_TEST(quantile(std::vector<double>{7}, 0.99) == 7);
  const distribution d = distribution::of({8, 1, 4, 2});
  BOOST_TEST(close(d.mean, 3.75));
  BOOST_TEST(close(d.std, std::sqrt(7.1875)));  // numpy.std
}

BOOST_AUTO_TEST_CASE(goodput_counts_requests_within_all_limits) {
  const service_limits limits{.ttft = 0.5, .tpot = 0.1};
  BOOST_TEST(limits.met_by(timed(500, 900, 10)));  // at both limits
  BOOST_TEST(!limits.met_by(timed(501, 900, 10)));
  BOOST_TEST(!limits.met_by(timed(500, 910, 10)));
  BOOST_TEST(limits.met_by(timed(500, 0, 1)));  // a single token has no TPOT
  BOOST_TEST(!limits.met_by(timed(0, 0, 0)));
  BOOST_TEST(service_limits{}.met_by(timed(100000, 100000, 2)));
  const std::vector<request_times> all = {timed(100, 450, 10), timed(600, 450, 10), timed(0, 0, 0),
                                          timed(200, 0, 1)};
  const run_summary s = run_summary::of(all, {0.05, 0.05}, 2.0, limits);
  BOOST_TEST(s.completed == 3u);
  BOOST_TEST(s.failed == 1u);
  BOOST_TEST(close(s.goodput, 1.0));
  BOOST_TEST(close(s.attainment, 0.5));
  BOOST_TEST(close(s.request_throughput, 1.5));
  BOOST_TEST(close(s.output_throughput, 10.5));
  BOOST_TEST(close(s.total_token_throughput, 25.5));
  BOOST_TEST(close(s.concurrency, (0.55 + 1.05 + 0.2) / 2));
  BOOST_TEST(s.tpot.count == 2u);
  BOOST_TEST(close(s.tpot.mean, 0.05));
  BOOST_TEST(close(s.ttft.mean, 0.3));
  BOOST_TEST(s.itl.count == 2u);
}

BOOST_AUTO_TEST_CASE(a_run_without_requests_is_all_zeros) {
  const run_summary s = run_summary::of({}, {}, 0);
  BOOST_TEST(s.completed == 0u);
  BOOST_TEST(s.goodput == 0);
  BOOST_TEST(s.attainment == 0);
  BOOST_TEST(s.concurrency == 0);
  BOOST_TEST(s.ttft.p99 == 0);
}

BOOST_AUTO_TEST_SUITE_END()
