// Products with fp32 activations: every weight format and instruction set, over awkward shapes.
#include "conformance/products.hpp"

using namespace tenon;
using namespace tenon::conformance;

BOOST_AUTO_TEST_SUITE(products_f32)

BOOST_AUTO_TEST_CASE_TEMPLATE(products_are_within_the_bound_of_a_sum_in_any_order, Isa, instruction_sets) {
  check_shapes<Isa, f32, f32>();
  check_shapes<Isa, f16, f32>();
  check_shapes<Isa, bf16, f32>();
  check_shapes<Isa, q8_0, f32>();
  check_shapes<Isa, q4_0, f32>();
  check_shapes<Isa, q4_1, f32>();
}

BOOST_AUTO_TEST_CASE_TEMPLATE(products_of_whole_numbers_are_exact, Isa, instruction_sets) {
  check_whole_numbers<Isa, f32, f32>();
  check_whole_numbers<Isa, f16, f32>();
  check_whole_numbers<Isa, bf16, f32>();
  check_whole_numbers<Isa, q8_0, f32>();
  check_whole_numbers<Isa, q4_0, f32>();
  check_whole_numbers<Isa, q4_1, f32>();
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_token_has_the_same_product_alone_and_in_any_batch, Isa, instruction_sets) {
  check_batch_invariance<Isa, f32, f32>(211);
  check_batch_invariance<Isa, f16, f32>(211);
  check_batch_invariance<Isa, bf16, f32>(211);
  check_batch_invariance<Isa, q8_0, f32>(224);
  check_batch_invariance<Isa, q4_0, f32>(224);
  check_batch_invariance<Isa, q4_1, f32>(224);
}

BOOST_AUTO_TEST_SUITE_END()
