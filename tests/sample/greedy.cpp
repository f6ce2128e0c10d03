#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <limits>
#include <random>
#include <vector>

#include <tenon/sample/sampler.hpp>

namespace sampling = tenon::sampling;

namespace {
const std::vector<std::size_t> awkward_sizes{1,    2,    15,   16,   17,   31,   32,   33,    1023,
                                             1024, 1025, 2047, 2048, 2049, 3001, 4097, 49152, 50257};

sampling::result best(std::span<const float> row) {
  sampling::scratch memory;
  return sampling::sampler<sampling::greedy>::sample(row, {}, 0, 0, memory);
}
}  // namespace

BOOST_AUTO_TEST_SUITE(greedy)

BOOST_AUTO_TEST_CASE(the_first_of_the_highest_is_taken_at_every_size) {
  std::mt19937 bits(1);
  for (const std::size_t size : awkward_sizes) {
    std::vector<float> row(size);
    for (int attempt = 0; attempt < 8; ++attempt) {
      for (float& x : row) x = static_cast<float>(bits() % 50) - 70.0f;  // all negative, many ties
      const auto expected = std::max_element(row.begin(), row.end()) - row.begin();
      BOOST_REQUIRE(best(row).token == expected);
    }
  }
}

BOOST_AUTO_TEST_CASE(first_and_last_place_count) {
  for (const std::size_t size : awkward_sizes) {
    std::vector<float> row(size, -5.0f);
    row.back() = -4.0f;
    BOOST_REQUIRE(best(row).token == static_cast<tenon::token_id>(size - 1));
    row.front() = -4.0f;
    BOOST_REQUIRE(best(row).token == 0);
  }
}

BOOST_AUTO_TEST_CASE(both_zeros_are_equal) {
  std::vector<float> row(3000, -1.0f);
  row[10] = -0.0f;
  row[20] = 0.0f;
  row[2000] = 0.0f;
  BOOST_TEST(best(row).token == 10);
}

BOOST_AUTO_TEST_CASE(a_nan_is_found_wherever_it_stands_and_whatever_its_sign) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const std::size_t size : awkward_sizes) {
    for (const std::size_t place : {std::size_t{0}, size / 3, size / 2, size - 1}) {
      for (const float bad : {nan, -nan}) {
        std::vector<float> row(size, 1.0f);
        row[place] = bad;
        BOOST_REQUIRE((best(row).fault == sampling::fault::nan_logits));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(minus_infinity_is_never_taken) {
  const float infinity = std::numeric_limits<float>::infinity();
  std::vector<float> row(2000, -infinity);
  BOOST_TEST((best(row).fault == sampling::fault::nothing_possible));
  row[1500] = std::numeric_limits<float>::lowest();
  BOOST_TEST(best(row).token == 1500);
  row[1700] = infinity;
  BOOST_TEST(best(row).token == 1700);
}

BOOST_AUTO_TEST_CASE(temperature_zero_and_top_k_one_are_greedy_in_any_chain) {
  std::mt19937 bits(2);
  std::vector<float> row(5000);
  for (float& x : row) x = static_cast<float>(bits() % 100);
  sampling::scratch memory;
  const auto expected = best(row).token;
  using llama = sampling::sampler<sampling::like_llama_cpp>;
  for (std::uint64_t i = 0; i < 20; ++i) {
    BOOST_TEST(llama::sample(row, {.temperature = 0}, 3, i, memory).token == expected);
    BOOST_TEST(llama::sample(row, {.temperature = 9e-6f, .top_p = 0.5f}, 3, i, memory).token == expected);
    BOOST_TEST(llama::sample(row, {.temperature = 3, .top_k = 1}, 3, i, memory).token == expected);
    BOOST_TEST(llama::sample(row, {.temperature = 3, .top_p = 1e-6f}, 3, i, memory).token == expected);
  }
}

BOOST_AUTO_TEST_SUITE_END()
