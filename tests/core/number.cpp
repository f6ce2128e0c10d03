// 16-bit numbers: every one of them, and every border at which rounding changes its mind.
#include "tenon/core/number.hpp"

#include <rapidcheck.h>
#include <boost/test/unit_test.hpp>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

std::uint32_t bits(float value) { return std::bit_cast<std::uint32_t>(value); }

/// A number of 16 bits with that many bits of mantissa, by the definition of IEEE 754. Not for infinity and
/// NaN.
double by_definition(unsigned number, int mantissa_bits) {
  const int exponent_bits = 15 - mantissa_bits;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = static_cast<int>(number >> mantissa_bits) & ((1 << exponent_bits) - 1);
  const double mantissa = number & ((1u << mantissa_bits) - 1);
  const double magnitude =
      exponent == 0 ? std::ldexp(mantissa, 1 - bias - mantissa_bits)
                    : std::ldexp(mantissa + std::ldexp(1.0, mantissa_bits), exponent - bias - mantissa_bits);
  return (number & 0x8000) != 0 ? -magnitude : magnitude;
}

/// Holds all 65536 numbers against the definition; `infinite` are the bits of infinity.
void check_every_number(float (*to_float)(std::uint16_t), int mantissa_bits, unsigned infinite) {
  for (unsigned number = 0; number < 65536; ++number) {
    const float value = to_float(static_cast<std::uint16_t>(number));
    const unsigned magnitude = number & 0x7fff;
    const bool right = magnitude > infinite ? std::isnan(value)
                       : magnitude == infinite
                           ? std::isinf(value)
                           : static_cast<double>(value) == by_definition(number, mantissa_bits);
    BOOST_REQUIRE_MESSAGE(right && std::signbit(value) == (number >= 0x8000), number << " became " << value);
  }
}

/// Between any two neighbours: the middle goes to the even one, everything else to the nearer one. As
/// rounding never decreases, that settles every float. The number above the largest is infinity, where the
/// middle goes to it.
void check_every_border(std::uint16_t (*from_float)(float), float (*to_float)(std::uint16_t),
                        int mantissa_bits, unsigned infinite) {
  for (unsigned low = 0; low < infinite; ++low) {
    const double below = by_definition(low, mantissa_bits);
    const double above = by_definition(low + 1, mantissa_bits);  // for the last one: where infinity would be
    const float middle = static_cast<float>(below + (above - below) / 2);
    if (std::isinf(middle)) continue;
    for (const unsigned sign : {0u, 0x8000u}) {
      const float signed_middle = sign != 0 ? -middle : middle;
      const float nearer_zero = std::nextafter(signed_middle, 0.0f);
      const float farther = std::nextafter(signed_middle, sign != 0 ? -infinity : infinity);
      BOOST_REQUIRE_EQUAL(from_float(signed_middle), sign | (low + (low & 1)));
      BOOST_REQUIRE_EQUAL(from_float(nearer_zero), sign | low);
      BOOST_REQUIRE_EQUAL(from_float(farther), sign | (low + 1));
      BOOST_REQUIRE_EQUAL(from_float(to_float(static_cast<std::uint16_t>(sign | low))), sign | low);
    }
  }
}

/// NaN stays NaN and keeps its sign; infinity stays infinity.
void check_special(std::uint16_t (*from_float)(float), unsigned infinite) {
  BOOST_TEST(from_float(infinity) == infinite);
  BOOST_TEST(from_float(-infinity) == (infinite | 0x8000));
  BOOST_TEST(from_float(std::numeric_limits<float>::denorm_min()) == 0);
  BOOST_TEST(from_float(-std::numeric_limits<float>::denorm_min()) == 0x8000);
  for (const std::uint32_t payload : {0x7f800001u, 0x7fc00000u, 0x7fffffffu, 0x7f801000u, 0x7f80ffffu}) {
    BOOST_TEST((from_float(std::bit_cast<float>(payload)) & 0x7fff) > infinite);
    BOOST_TEST((from_float(std::bit_cast<float>(payload)) & 0x8000) == 0);
    BOOST_TEST((from_float(std::bit_cast<float>(payload | 0x80000000u)) & 0x8000) == 0x8000);
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(number)

BOOST_AUTO_TEST_CASE(every_half_has_the_value_that_its_bits_define) {
  check_every_number(tenon::half_to_float, 10, 0x7c00);
}

BOOST_AUTO_TEST_CASE(every_bfloat_has_the_value_that_its_bits_define) {
  check_every_number(tenon::bfloat_to_float, 7, 0x7f80);
}

BOOST_AUTO_TEST_CASE(a_float_becomes_the_nearest_half_and_a_tie_the_even_one) {
  check_every_border(tenon::float_to_half, tenon::half_to_float, 10, 0x7c00);
}

BOOST_AUTO_TEST_CASE(a_float_becomes_the_nearest_bfloat_and_a_tie_the_even_one) {
  check_every_border(tenon::float_to_bfloat, tenon::bfloat_to_float, 7, 0x7f80);
}

BOOST_AUTO_TEST_CASE(infinity_and_nan_stay_what_they_are) {
  check_special(tenon::float_to_half, 0x7c00);
  check_special(tenon::float_to_bfloat, 0x7f80);
}

BOOST_AUTO_TEST_CASE(what_is_too_large_for_a_half_becomes_infinity) {
  BOOST_TEST(tenon::float_to_half(65504.0f) == 0x7bff);
  BOOST_TEST(tenon::float_to_half(std::nextafter(65520.0f, 0.0f)) == 0x7bff);
  BOOST_TEST(tenon::float_to_half(65520.0f) == 0x7c00);
  BOOST_TEST(tenon::float_to_half(-1e30f) == 0xfc00);
  BOOST_TEST(tenon::float_to_bfloat((std::numeric_limits<float>::max)()) == 0x7f80);
}

BOOST_AUTO_TEST_CASE(rounding_keeps_the_order_and_the_sign_of_any_two_floats) {
  BOOST_TEST(rc::check([](std::uint32_t first_bits, std::uint32_t second_bits) {
    const float first = std::bit_cast<float>(first_bits);
    const float second = std::bit_cast<float>(second_bits);
    RC_PRE(first <= second);  // no NaN
    const float first_half = tenon::half_to_float(tenon::float_to_half(first));
    const float second_half = tenon::half_to_float(tenon::float_to_half(second));
    const float first_bfloat = tenon::bfloat_to_float(tenon::float_to_bfloat(first));
    const float second_bfloat = tenon::bfloat_to_float(tenon::float_to_bfloat(second));
    RC_ASSERT(first_half <= second_half);
    RC_ASSERT(first_bfloat <= second_bfloat);
    RC_ASSERT(std::signbit(first_half) == std::signbit(first));
    RC_ASSERT(std::signbit(second_bfloat) == std::signbit(second));
  }));
}

BOOST_AUTO_TEST_CASE(conversions_are_constant_expressions) {
  static_assert(tenon::half_to_float(0x3c00) == 1.0f);
  static_assert(tenon::float_to_half(0x1p-24f) == 1);
  static_assert(tenon::bfloat_to_float(0xbf80) == -1.0f);
  static_assert(tenon::float_to_bfloat(1.0f) == 0x3f80);
  BOOST_TEST(bits(tenon::half_to_float(0x8000)) == 0x80000000u);
}

BOOST_AUTO_TEST_SUITE_END()
