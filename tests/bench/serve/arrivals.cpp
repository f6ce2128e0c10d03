#include "serve/arrivals.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

/// The coefficient of variation of the gaps.
double variation(const std::vector<double>& times) {
  const auto n = static_cast<double>(times.size());
  double squares = 0, before = 0;
  for (const double time : times) {
    squares += (time - before) * (time - before);
    before = time;
  }
  const double mean = times.back() / n;
  return std::sqrt(squares / n - mean * mean) / mean;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(arrivals)

BOOST_AUTO_TEST_CASE(the_last_request_arrives_at_count_by_rate) {
  for (const double burstiness : {0.25, 1.0, 8.0, infinite}) {
    for (const std::uint64_t seed : {0u, 1u, 2u}) {
      const auto times = serve::arrivals(40, 5, burstiness, seed);
      BOOST_TEST(times.size() == 40u);
      BOOST_TEST(std::abs(times.back() - 8) < 1e-9);
      BOOST_TEST(times.front() > 0);
      BOOST_TEST(std::is_sorted(times.begin(), times.end()));
    }
  }
}

// A gamma's coefficient of variation is shape^-1/2.
BOOST_AUTO_TEST_CASE(gaps_vary_as_the_burstiness_says) {
  for (const double burstiness : {0.25, 1.0, 4.0, 100.0}) {
    const auto times = serve::arrivals(50'000, 1, burstiness, 11);
    BOOST_TEST(std::abs(variation(times) * std::sqrt(burstiness) - 1) < 0.05);
  }
  BOOST_TEST(variation(serve::arrivals(1000, 1, infinite, 11)) < 1e-6);
}

BOOST_AUTO_TEST_CASE(the_seed_decides) {
  BOOST_TEST(serve::arrivals(10, 1, 1, 4) == serve::arrivals(10, 1, 1, 4), boost::test_tools::per_element());
  BOOST_TEST(serve::arrivals(10, 1, 1, 4)[3] != serve::arrivals(10, 1, 1, 5)[3]);
}

BOOST_AUTO_TEST_CASE(an_infinite_rate_is_all_at_once) {
  const auto times = serve::arrivals(5, infinite, 1, 0);
  BOOST_TEST(times == std::vector<double>(5, 0.0), boost::test_tools::per_element());
  BOOST_TEST(serve::arrivals(0, 1, 1, 0).empty());
}

BOOST_AUTO_TEST_SUITE_END()
