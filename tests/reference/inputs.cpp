// The generators of test inputs: the same on every machine, and as awkward as they promise.
#include "reference/inputs.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>

using namespace tenon;

BOOST_AUTO_TEST_SUITE(inputs)

BOOST_AUTO_TEST_CASE(the_stream_is_splitmix64) {
  // the published first outputs for the seed 1234567
  reference::random_source random(1234567);
  for (const std::uint64_t expected : {6457827717110365317u, 3203168211198807973u, 9817491932198370423u})
    BOOST_TEST(random.next() == expected);
}

BOOST_AUTO_TEST_CASE(uniform_values_fill_their_range_and_nothing_else) {
  const std::vector<float> values = reference::uniform_values(10000, -2, 3, 1);
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  BOOST_TEST(*low >= -2.0f);
  BOOST_TEST(*low < -1.9f);
  BOOST_TEST(*high <= 3.0f);
  BOOST_TEST(*high > 2.9f);
  BOOST_TEST(reference::uniform_values(5, 0, 1, 1) != reference::uniform_values(5, 0, 1, 2));
}

BOOST_AUTO_TEST_CASE(normal_numbers_have_mean_zero_and_variance_one) {
  reference::random_source random(3);
  double sum = 0;
  double squares = 0;
  for (int i = 0; i < 100000; ++i) {
    const double value = random.normal();
    sum += value;
    squares += value * value;
  }
  BOOST_TEST(std::fabs(sum / 100000) < 0.016);           // five standard errors
  BOOST_TEST(std::fabs(squares / 100000 - 1) < 0.0224);  // of a chi-square of one degree
}

BOOST_AUTO_TEST_CASE(activation_values_have_outliers) {
  const std::vector<float> values = reference::activation_values(10000, 4);
  BOOST_TEST(std::count_if(values.begin(), values.end(), [](float v) { return std::fabs(v) > 6; }) > 20);
  BOOST_TEST(std::count_if(values.begin(), values.end(), [](float v) { return std::fabs(v) > 6; }) < 200);
}

BOOST_AUTO_TEST_CASE(awkward_values_are_finite_and_hold_zeros_of_both_signs_and_subnormals) {
  const std::vector<float> values = reference::awkward_values(1000, 5);
  const auto any = [&](auto is) { return std::any_of(values.begin(), values.end(), is); };
  BOOST_TEST(!any([](float v) { return !std::isfinite(v); }));
  BOOST_TEST(any([](float v) { return v == 0 && std::signbit(v); }));
  BOOST_TEST(any([](float v) { return v == 0 && !std::signbit(v); }));
  BOOST_TEST(any([](float v) { return std::fpclassify(v) == FP_SUBNORMAL; }));
}

BOOST_AUTO_TEST_CASE(whole_values_are_whole_and_reach_both_ends) {
  const std::vector<float> values = reference::whole_values(1000, 4, 6);
  for (const float value : values) BOOST_TEST((value == std::floor(value) && std::fabs(value) <= 4));
  BOOST_TEST(std::count(values.begin(), values.end(), 4.0f) > 0);
  BOOST_TEST(std::count(values.begin(), values.end(), -4.0f) > 0);
}

BOOST_AUTO_TEST_CASE(awkward_sizes_surround_the_tile_and_are_never_zero) {
  const std::vector<std::size_t> sizes = reference::awkward_sizes(16);
  for (const std::size_t size : {1u, 15u, 16u, 17u})
    BOOST_TEST(std::count(sizes.begin(), sizes.end(), size) == 1);
  const std::vector<std::size_t> smallest = reference::awkward_sizes(1);
  BOOST_TEST(std::count(smallest.begin(), smallest.end(), 0u) == 0);
}

BOOST_AUTO_TEST_SUITE_END()
