// Products with bf16 activations: every weight format and instruction set, over awkward shapes.
#include "conformance/products.hpp"

using namespace tenon;
using namespace tenon::conformance;

BOOST_AUTO_TEST_SUITE(products_bf16)

BOOST_AUTO_TEST_CASE_TEMPLATE(products_are_within_the_bound_of_a_sum_in_any_order, Isa, instruction_sets) {
  check_shapes<Isa, f32, bf16>();
  check_shapes<Isa, f16, bf16>();
  check_shapes<Isa, bf16, bf16>();
  check_shapes<Isa, q8_0, bf16>();
  check_shapes<Isa, q4_0, bf16>();
  check_shapes<Isa, q4_1, bf16>();
}

BOOST_AUTO_TEST_CASE_TEMPLATE(products_of_whole_numbers_are_exact, Isa, instruction_sets) {
  check_whole_numbers<Isa, f32, bf16>();
  check_whole_numbers<Isa, f16, bf16>();
  check_whole_numbers<Isa, bf16, bf16>();
  check_whole_numbers<Isa, q8_0, bf16>();
  check_whole_numbers<Isa, q4_0, bf16>();
  check_whole_numbers<Isa, q4_1, bf16>();
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_token_has_the_same_product_alone_and_in_any_batch, Isa, instruction_sets) {
  check_batch_invariance<Isa, f32, bf16>(403);
  check_batch_invariance<Isa, f16, bf16>(403);
  check_batch_invariance<Isa, bf16, bf16>(403);
  check_batch_invariance<Isa, q8_0, bf16>(416);
  check_batch_invariance<Isa, q4_0, bf16>(416);
  check_batch_invariance<Isa, q4_1, bf16>(416);
}

BOOST_AUTO_TEST_SUITE_END()
