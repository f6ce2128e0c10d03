#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdint>
#include <set>

#include <tenon/core/philox.hpp>

BOOST_AUTO_TEST_SUITE(philox)

namespace philox = tenon::philox;

// The lines "philox4x32 10" of Random123's tests/kat_vectors.
static_assert(philox::block(philox::words{}, philox::key{}) ==
              philox::words{0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u});
static_assert(philox::block(philox::words{0xffffffffu, 0xffffffffu, 0xffffffffu, 0xffffffffu},
                            philox::key{0xffffffffu, 0xffffffffu}) ==
              philox::words{0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu});
static_assert(philox::block(philox::words{0x243f6a88u, 0x85a308d3u, 0x13198a2eu, 0x03707344u},
                            philox::key{0xa4093822u, 0x299f31d0u}) ==
              philox::words{0xd16cfe09u, 0x94fdccebu, 0x5001e420u, 0x24126ea1u});

BOOST_AUTO_TEST_CASE(known_answers_of_random123_hold_at_run_time_too) {
  volatile std::uint32_t ones = 0xffffffffu;
  const philox::words got = philox::block(philox::words{ones, ones, ones, ones}, philox::key{ones, ones});
  BOOST_TEST(got.x0 == 0x408f276du);
  BOOST_TEST(got.x3 == 0x6d5451fdu);
}

BOOST_AUTO_TEST_CASE(all_bits_of_seed_index_and_stream_count) {
  std::set<double> seen;
  for (int bit = 0; bit < 64; ++bit) {
    seen.insert(philox::uniform53(std::uint64_t{1} << bit, 0));
    seen.insert(philox::uniform53(0, std::uint64_t{1} << bit));
  }
  for (int bit = 0; bit < 32; ++bit) seen.insert(philox::uniform53(0, 0, std::uint32_t{1} << bit));
  seen.insert(philox::uniform53(0, 0));
  BOOST_TEST(seen.size() == 64u + 64u + 32u + 1u);
}

BOOST_AUTO_TEST_CASE(uniform_stays_below_one_and_is_the_longer_number_cut_off) {
  double sum = 0;
  constexpr int draws = 100000;
  for (int i = 0; i < draws; ++i) {
    const float u = philox::uniform(7, static_cast<std::uint64_t>(i));
    const double longer = philox::uniform53(7, static_cast<std::uint64_t>(i));
    BOOST_REQUIRE(u >= 0.0f);
    BOOST_REQUIRE(longer < 1.0);
    BOOST_REQUIRE(static_cast<double>(u) <= longer);
    BOOST_REQUIRE(longer - static_cast<double>(u) < 0x1p-24);
    sum += longer;
  }
  // The mean of n uniform numbers has a standard deviation of 1 / sqrt(12 n); five of them.
  BOOST_TEST(std::abs(sum / draws - 0.5) < 5 * 0.000913);
}

BOOST_AUTO_TEST_SUITE_END()
