// Products with f16 activations, which every instruction set multiplies in fp32.
#include "conformance/products.hpp"

using namespace tenon;
using namespace tenon::conformance;

BOOST_AUTO_TEST_SUITE(products_f16)

BOOST_AUTO_TEST_CASE_TEMPLATE(products_are_within_the_bound_of_a_sum_in_any_order, Isa, instruction_sets) {
  check_shapes<Isa, f16, f16>();
  check_shapes<Isa, q8_0, f16>();
}

BOOST_AUTO_TEST_CASE_TEMPLATE(activations_are_rounded_to_halves, Isa, instruction_sets) {
  runner threads;
  constexpr std::size_t rows = 33, columns = 64, tokens = 3;
  const test_matrix weights = random_matrix<Isa, f16>(rows, columns, 1);
  const std::vector<float> x = reference::activation_values(tokens * columns, 2);
  std::vector<float> halves = x;
  for (float& value : halves) value = half_to_float(float_to_half(value));
  const auto seen =
      product<Isa, f16>(threads, weights.packed, prepared<Isa, f16, f16>(threads, x, tokens), tokens);
  const auto expected =
      product<Isa, f32>(threads, weights.packed, prepared<Isa, f16, f32>(threads, halves, tokens), tokens);
  BOOST_TEST(first_difference(seen, expected) == "");
}

BOOST_AUTO_TEST_SUITE_END()
