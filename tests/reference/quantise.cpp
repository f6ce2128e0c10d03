// The quantisers of the tests: what they write decodes to about what they were given, within the step of the
// format.
#include "reference/quantise.hpp"

#include <boost/mpl/list.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "reference/inputs.hpp"
#include "reference/tolerance.hpp"
#include "tenon/format/all.hpp"

using namespace tenon;

namespace {

using formats = boost::mpl::list<f32, f16, bf16, e4m3, q8_0, q4_0, q4_1>;

/// Half a step of the format for a block with values up to `largest` and a spread of at most twice that, with
/// the rounding of the scale to fp16 (up to 15 steps of it, or 127) added.
template <class F>
double allowed(double value, double largest) {
  constexpr std::uint32_t type = F::gguf_type;
  const double halves = 2 * largest * reference::unit_f16;  // scale and minimum
  if (type == 0) return 0;
  if (type == 1) return std::fabs(value) * reference::unit_f16 + 0x1p-25;
  if (type == 30) return std::fabs(value) * reference::unit_bf16;
  if (std::is_same_v<F, e4m3>) return std::fabs(value) * reference::unit_e4m3 + 0x1p-10;
  if (type == 8) return largest / 127 / 2 + halves;
  if (type == 2)
    return largest / 8 + halves;  // the largest of the other sign is 8 steps away and gets only 7
  return 2 * largest / 15 / 2 + 2 * halves;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(quantise)

BOOST_AUTO_TEST_CASE_TEMPLATE(encoded_rows_decode_to_within_a_step, F, formats) {
  const std::vector<float> x = reference::activation_values(32 * 7, 11);
  const std::vector<std::byte> row = reference::encode_row<F>(x);
  BOOST_REQUIRE(row.size() == row_bytes<F>(x.size()));
  const std::vector<float> seen = reference::decoded<F>(row);
  for (std::size_t i = 0; i < x.size(); ++i) {
    double largest = 0;
    for (std::size_t j = i / 32 * 32; j < i / 32 * 32 + 32; ++j)
      largest = std::max(largest, std::fabs(static_cast<double>(x[j])));
    BOOST_TEST(
        std::fabs(static_cast<double>(seen[i]) - static_cast<double>(x[i])) <= allowed<F>(x[i], largest),
        "value " << i << ": " << x[i] << " became " << seen[i]);
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(blocks_that_a_format_holds_exactly_come_back_exactly, F, formats) {
  std::vector<float> x(64);
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<float>(i % 16) - 8.0f;  // d = 1 in the 4-bit formats
  if (F::gguf_type == 8)
    for (float& value : x) value = value == -8.0f ? 127.0f : value;  // d = 1
  const std::vector<float> seen = reference::decoded<F>(reference::encode_row<F>(x));
  BOOST_TEST(seen == x, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE_TEMPLATE(zeros_and_equal_values_make_valid_blocks, F, formats) {
  const std::vector<float> zeros(32, 0.0f);
  BOOST_TEST(reference::decoded<F>(reference::encode_row<F>(zeros)) == zeros,
             boost::test_tools::per_element());
  for (const float value : reference::decoded<F>(reference::encode_row<F>(std::vector<float>(32, -2.0f))))
    BOOST_TEST(std::fabs(static_cast<double>(value) + 2.0) <= 4.0 * reference::unit_f16);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(term_magnitudes_are_at_least_the_values, F, formats) {
  const std::vector<std::byte> row = reference::encode_row<F>(reference::awkward_values(96, 5));
  const std::vector<float> values = reference::decoded<F>(row);
  const std::vector<float> terms = reference::term_magnitudes<F>(row);
  for (std::size_t i = 0; i < values.size(); ++i)
    BOOST_TEST(static_cast<double>(terms[i]) >= std::fabs(static_cast<double>(values[i])) * (1 - 0x1p-22));
}

BOOST_AUTO_TEST_CASE(the_terms_of_a_cancelling_q4_1_block_are_far_larger_than_its_values) {
  std::vector<float> x(32, 100.0f);  // d q + m with m = -1000: 100 is the difference of two large terms
  x[3] = -1000.0f;
  const std::vector<std::byte> row = reference::encode_row<q4_1>(x);
  BOOST_TEST(reference::term_magnitudes<q4_1>(row)[0] > 2000.0f);
}

BOOST_AUTO_TEST_CASE(int8_blocks_use_the_whole_range_and_round_ties_to_even) {
  std::vector<float> x(32, 0.0f);
  x[0] = -127.0f;  // scale 1
  x[1] = 0.5f;
  x[2] = 1.5f;
  x[3] = -2.5f;
  x[4] = 126.6f;
  const reference::int8_row row = reference::quantise_int8(x);
  BOOST_TEST(row.scale.at(0) == 1.0f);
  const int expected[] = {-127, 0, 2, -2, 127, 0};
  for (std::size_t i = 0; i < 6; ++i) BOOST_TEST(int{row.quant[i]} == expected[i]);
}

BOOST_AUTO_TEST_CASE(int8_blocks_of_zeros_and_of_awkward_values_are_right_quantisations) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const std::vector<float> x =
        seed == 0 ? std::vector<float>(64, 0.0f) : reference::awkward_values(64, seed);
    const reference::int8_row row = reference::quantise_int8(x);
    for (std::size_t i = 0; i < x.size(); ++i)
      BOOST_TEST(reference::int8_quant_fits(x[i], static_cast<double>(row.scale[i / 32]), row.quant[i]),
                 x[i] << " in a block of seed " << seed);
  }
}

BOOST_AUTO_TEST_CASE(rows_that_are_no_whole_blocks_are_refused) {
  BOOST_CHECK_THROW(reference::quantise_int8(std::vector<float>(33)), std::invalid_argument);
  BOOST_CHECK_THROW(reference::encode_row<q4_0>(std::vector<float>(31)), std::invalid_argument);
}

BOOST_AUTO_TEST_SUITE_END()
