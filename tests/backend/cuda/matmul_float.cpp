// Products in plain fp32, what the other kinds are compared with.
#include "backend/cuda/product_checks.hpp"

#include <tuple>

using namespace tenon;
using namespace tenon::test;

namespace {
using formats = std::tuple<f32, f16, bf16, q8_0, q4_0, q4_1>;
using products = float_products;
}  // namespace

BOOST_AUTO_TEST_SUITE(matmul_float)

BOOST_AUTO_TEST_CASE_TEMPLATE(products_are_within_the_bound_of_a_sum_in_any_order, Format, formats) {
  check_products<products, Format, f32>(path::by_tokens, {1, 7, 8, 9, 16, 17, 97}, {1, 7, 8, 9, 17, 33});
}
BOOST_AUTO_TEST_CASE_TEMPLATE(a_token_has_the_same_product_alone_and_in_any_batch, Format, formats) {
  check_invariance<products, Format>(576, false);
}
BOOST_AUTO_TEST_CASE_TEMPLATE(adding_is_the_product_and_one_sum, Format, formats) {
  check_adding<products, Format>(path::by_tokens);
}
BOOST_AUTO_TEST_CASE_TEMPLATE(gates_are_within_their_bound_in_every_form, Format, formats) {
  check_gates<products, Format>(path::by_tokens, {1, 33, 97}, {1, 11});
}
BOOST_AUTO_TEST_CASE(matrices_side_by_side_are_what_each_is_alone) {
  check_side_by_side<products, f32, f32, f32>(path::by_tokens, 3);
  check_side_by_side<products, f32, bf16, q4_1>(path::by_tokens, 9);
}
BOOST_AUTO_TEST_CASE_TEMPLATE(a_token_with_nan_or_infinity_spoils_its_own_products_only, Format, formats) {
  check_spoiled_tokens<products, Format>(path::by_tokens);
}
BOOST_AUTO_TEST_CASE(a_norm_by_the_last_block_is_the_norm_that_follows) { check_then_norm<products, f32>(); }

BOOST_AUTO_TEST_SUITE_END()
