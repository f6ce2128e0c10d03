// fp8 E4M3: every number, and every border at which rounding changes its mind.
#include "tenon/format/e4m3.hpp"

#include <boost/test/unit_test.hpp>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr unsigned largest = 0x7e, not_a_number = 0x7f;

/// The magnitude of a number that is not NaN, by the definition of the format: bias 7, three bits of mantissa.
double by_definition(unsigned number) {
  const int exponent = static_cast<int>(number >> 3);
  const double mantissa = number & 7;
  return exponent == 0 ? std::ldexp(mantissa, -9) : std::ldexp(8 + mantissa, exponent - 10);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(e4m3)

BOOST_AUTO_TEST_CASE(every_number_has_the_value_that_its_bits_define) {
  for (unsigned number = 0; number < 256; ++number) {
    const std::byte block{static_cast<unsigned char>(number)};
    float value = 0;
    tenon::e4m3::decode(&block, &value);
    if ((number & not_a_number) == not_a_number) {
      BOOST_TEST(std::isnan(value));
    } else {
      BOOST_TEST(std::fabs(static_cast<double>(value)) == by_definition(number & not_a_number));
    }
    BOOST_TEST(std::signbit(value) == (number >= 128));
  }
  BOOST_TEST(by_definition(largest) == 448);
}

BOOST_AUTO_TEST_CASE(a_float_becomes_the_nearest_number_and_a_tie_the_even_one) {
  for (unsigned low = 0; low < largest; ++low) {
    const double below = by_definition(low);
    const auto middle = static_cast<float>(below + (by_definition(low + 1) - below) / 2);
    for (const unsigned sign : {0u, 128u}) {
      const float signed_middle = sign != 0 ? -middle : middle;
      const float farther = std::nextafter(signed_middle, sign != 0 ? -infinity : infinity);
      BOOST_TEST(tenon::float_to_e4m3(signed_middle) == (sign | (low + (low & 1))));
      BOOST_TEST(tenon::float_to_e4m3(std::nextafter(signed_middle, 0.0f)) == (sign | low));
      BOOST_TEST(tenon::float_to_e4m3(farther) == (sign | (low + 1)));
      BOOST_TEST(tenon::float_to_e4m3(tenon::e4m3_to_float(static_cast<std::uint8_t>(sign | low))) ==
                 (sign | low));
    }
  }
}

BOOST_AUTO_TEST_CASE(what_is_too_large_becomes_the_largest_and_nan_stays_nan) {
  for (const float value : {448.0f, 463.9f, 464.0f, 480.0f, 1e30f, infinity}) {
    BOOST_TEST(tenon::float_to_e4m3(value) == largest);
    BOOST_TEST(tenon::float_to_e4m3(-value) == (largest | 128));
  }
  for (const std::uint32_t bits : {0x7f800001u, 0x7fc00000u, 0x7fffffffu}) {
    BOOST_TEST(tenon::float_to_e4m3(std::bit_cast<float>(bits)) == not_a_number);
    BOOST_TEST(tenon::float_to_e4m3(std::bit_cast<float>(bits | 0x80000000u)) == (not_a_number | 128));
  }
  BOOST_TEST(tenon::float_to_e4m3(std::numeric_limits<float>::denorm_min()) == 0);
}

BOOST_AUTO_TEST_CASE(conversions_are_constant_expressions) {
  static_assert(tenon::e4m3_to_float(0x38) == 1.0f && tenon::float_to_e4m3(1.0f) == 0x38);
  static_assert(tenon::e4m3_to_float(1) == 0x1p-9f && tenon::float_to_e4m3(-0x1p-9f) == 0x81);
  BOOST_TEST(tenon::e4m3_to_float(0x7e) == 448.0f);
}

BOOST_AUTO_TEST_SUITE_END()
