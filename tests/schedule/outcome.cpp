#include <tenon/schedule/outcome.hpp>

#include <boost/test/unit_test.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

using tenon::schedule::counters;

BOOST_AUTO_TEST_SUITE(outcome)

BOOST_AUTO_TEST_CASE(a_difference_of_counters_has_every_field) {
  using fields = std::array<std::uint64_t, sizeof(counters) / sizeof(std::uint64_t)>;
  fields later, earlier;
  for (std::size_t i = 0; i < later.size(); ++i) later[i] = 100 * (i + 1), earlier[i] = i + 1;
  const auto made = std::bit_cast<fields>(std::bit_cast<counters>(later) - std::bit_cast<counters>(earlier));
  for (std::size_t i = 0; i < made.size(); ++i) BOOST_TEST(made[i] == 99 * (i + 1));
}

BOOST_AUTO_TEST_SUITE_END()
