#include "serve/random_stream.hpp"

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <cstddef>
#include <vector>

using namespace serve;

namespace {

struct moments {
  double mean = 0, variance = 0;
};

template <class Draw>
moments of(std::size_t count, Draw draw) {
  double sum = 0, squares = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double x = draw();
    sum += x, squares += x * x;
  }
  const auto n = static_cast<double>(count);
  return {sum / n, squares / n - sum / n * (sum / n)};
}

constexpr std::size_t many = 200'000;

}  // namespace

BOOST_AUTO_TEST_SUITE(random_stream)

BOOST_AUTO_TEST_CASE(seed_purpose_and_index_each_make_another_stream) {
  std::vector<double> firsts;
  for (const auto& [seed, what, index] : {std::tuple{1, purpose::arrivals, 0u},
                                          {2, purpose::arrivals, 0u},
                                          {1, purpose::prompts, 0u},
                                          {1, purpose::arrivals, 1u}}) {
    serve::random_stream a(static_cast<std::uint64_t>(seed), what, index), b = a;
    firsts.push_back(a.uniform());
    BOOST_TEST(firsts.back() == b.uniform());
    BOOST_TEST(a.uniform() != firsts.back());
  }
  for (std::size_t i = 0; i < firsts.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) BOOST_TEST(firsts[i] != firsts[j]);
}

// Means and variances stay within five standard errors. A normal's variance has the error sqrt(2 / n); a gamma's fourth
// central moment is 3 shape^2 + 6 shape, so its variance has sqrt((2 shape^2 + 6 shape) / n).
BOOST_AUTO_TEST_CASE(draws_have_the_mean_and_variance_of_their_distributions) {
  serve::random_stream random(7, purpose::arrivals);
  const double n = many;
  const moments uniform = of(many, [&] { return random.uniform(); });
  BOOST_TEST(std::abs(uniform.mean - 0.5) < 5 * std::sqrt(1.0 / 12 / n));
  const moments normal = of(many, [&] { return random.normal(); });
  BOOST_TEST(std::abs(normal.mean) < 5 * std::sqrt(1 / n));
  BOOST_TEST(std::abs(normal.variance - 1) < 5 * std::sqrt(2 / n));
  for (const double shape : {0.1, 0.84, 1.0, 4.0, 50.0}) {
    const moments gamma = of(many, [&] { return random.gamma(shape); });
    BOOST_TEST(std::abs(gamma.mean - shape) < 5 * std::sqrt(shape / n));
    BOOST_TEST(std::abs(gamma.variance - shape) < 5 * std::sqrt((2 * shape * shape + 6 * shape) / n));
  }
}

// A gamma of shape 1 is an exponential distribution: P(x > t) = exp(-t).
BOOST_AUTO_TEST_CASE(a_gamma_of_shape_one_is_exponential) {
  serve::random_stream random(3, purpose::arrivals);
  std::vector<double> draws(many);
  for (double& x : draws) x = random.gamma(1);
  for (const double t : {0.01, 0.5, 1.0, 3.0}) {
    double above = 0;
    for (const double x : draws) above += x > t ? 1 : 0;
    const double p = std::exp(-t), n = many;
    BOOST_TEST(std::abs(above / n - p) < 5 * std::sqrt(p * (1 - p) / n));
  }
}

BOOST_AUTO_TEST_CASE(below_has_each_number_and_no_other) {
  serve::random_stream random(5, purpose::prompts);
  std::vector<int> counts(7);
  for (int i = 0; i < 7000; ++i) ++counts.at(random.below(7));
  for (const int count : counts) BOOST_TEST(std::abs(count - 1000) < 150);
}

BOOST_AUTO_TEST_SUITE_END()
