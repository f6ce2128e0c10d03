// Activations in the forms that products read: the cost of int8, and what happens to numbers that have no
// int8.
#include "tenon/backend/host/activations.hpp"

#include <boost/test/unit_test.hpp>
#include <limits>

#include "conformance/harness.hpp"

using namespace tenon;
using conformance::instruction_sets;

namespace {

constexpr float never = std::numeric_limits<float>::infinity();  // a limit that no value exceeds

template <class Isa>
host::activations stored(std::span<const float> group, float limit = never) {
  host::activations made(1, host::group_size, true, true);
  host::store_group<Isa, f32>(made, 0, 0, group.data(), limit);
  return made;
}

/// Groups of ordinary and of awkward values, of all sizes that matter.
std::vector<float> varied_group(int turn, reference::random_source& random) {
  std::vector<float> x = turn % 2 == 0 ? reference::activation_values(32, static_cast<std::uint64_t>(turn))
                                       : reference::awkward_values(32, static_cast<std::uint64_t>(turn));
  const double size = std::exp2(random.uniform(-60, 60));
  for (float& value : x) value = static_cast<float>(static_cast<double>(value) * size);
  return x;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(activations)

BOOST_AUTO_TEST_CASE_TEMPLATE(int8_is_off_by_half_a_step_at_most, Isa, instruction_sets) {
  reference::random_source random(1);
  for (int turn = 0; turn < 2000; ++turn) {
    const std::vector<float> x = varied_group(turn, random);
    const host::activations seen = stored<Isa>(x);
    BOOST_TEST(seen.refined[0] == 0);
    BOOST_TEST(conformance::fault_of_int8(seen, 0, x.data()) == "");
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_group_above_the_limit_is_known_to_half_of_a_128th_step, Isa,
                              instruction_sets) {
  reference::random_source random(2);
  for (int turn = 0; turn < 2000; ++turn) {
    const std::vector<float> x = varied_group(turn, random);
    float largest = 0;
    for (const float value : x) largest = (std::max)(largest, std::fabs(value));
    const host::activations seen = stored<Isa>(x, std::nextafter(largest, 0.0f));
    BOOST_TEST((seen.refined[0] == 1 || largest <= static_cast<float>(reference::int8_flushed)));
    BOOST_TEST(conformance::fault_of_int8(seen, 0, x.data()) == "");
    BOOST_TEST(stored<Isa>(x, largest).refined[0] == 0);
  }
}

BOOST_AUTO_TEST_CASE(the_limit_is_a_multiple_of_the_root_mean_square) {
  std::vector<float> row(64, 1.0f);
  row[5] = 9.0f;
  const float squares =
      host::sum_of_squares<isa::portable>(row.data()) + host::sum_of_squares<isa::portable>(row.data() + 32);
  BOOST_TEST(squares == 63.0f + 81.0f);
  BOOST_TEST(host::refinement_limit(squares, row.size()) == host::outlier_ratio * 1.5f);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(zeros_stay_zeros, Isa, instruction_sets) {
  const std::vector<float> x(32, -0.0f);
  const host::activations seen = stored<Isa>(x);
  BOOST_TEST(seen.scales[0] == 0.0f);
  BOOST_TEST(seen.sums[0] == 0.0f);
  BOOST_TEST(seen.totals[0] == 0);
  for (std::size_t i = 0; i < 32; ++i) BOOST_TEST(seen.quanta[i] == 0);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(numbers_too_small_for_a_scale_become_zeros, Isa, instruction_sets) {
  for (const float size :
       {std::numeric_limits<float>::denorm_min(), 1e-41f, 1e-38f, 3e-37f, 1e-30f, 3e-27f, 5e-27f, 1e-25f}) {
    std::vector<float> x(32);
    for (std::size_t i = 0; i < 32; ++i) x[i] = size * (static_cast<float>(i) - 16.0f) / 16.0f;
    const host::activations seen = stored<Isa>(x, 0.0f);
    for (std::size_t i = 0; i < 32; ++i) {
      const double value = static_cast<double>(seen.scales[0]) * (seen.quanta[i] + seen.residuals[i] / 128.0);
      const double bound = static_cast<double>(seen.scales[0]) * 0.51 + reference::int8_flushed;
      BOOST_TEST(std::fabs(value - static_cast<double>(x[i])) <= bound);
      BOOST_TEST(seen.quanta[i] != -128);
    }
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(nan_or_infinity_anywhere_in_a_group_gives_a_nan_scale_and_sum, Isa,
                              instruction_sets) {
  for (const float broken : {std::nanf(""), -std::nanf(""), HUGE_VALF, -HUGE_VALF}) {
    for (std::size_t place = 0; place < 32; ++place) {
      std::vector<float> x = reference::activation_values(32, place);
      x[place] = broken;
      const host::activations seen = stored<Isa>(x, place % 2 == 0 ? 0.0f : never);
      BOOST_TEST(std::isnan(seen.scales[0]));
      BOOST_TEST(std::isnan(seen.sums[0]));
    }
  }
}

BOOST_AUTO_TEST_CASE(rows_take_the_bytes_that_were_promised) {
  for (const std::size_t width : {1u, 31u, 32u, 33u, 576u}) {
    for (int form = 0; form < 8; ++form) {
      const bool as_float = (form & 1) != 0, as_int8 = (form & 2) != 0, as_bf16 = (form & 4) != 0;
      const host::activations made(3, width, as_float, as_int8, as_bf16);
      const std::size_t bytes = made.values.size() * 4 + made.halves.size() * 2 + made.quanta.size() +
                                made.residuals.size() + made.refined.size() + made.scales.size() * 4 +
                                made.sums.size() * 4 + made.totals.size() * 4;
      BOOST_TEST(bytes == 3 * host::activations::bytes_per_token(width, as_float, as_int8, as_bf16));
      BOOST_TEST((made.as_float() == as_float && made.as_int8() == as_int8 && made.as_bf16() == as_bf16));
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
