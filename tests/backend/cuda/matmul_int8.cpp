// Products with int8 activations on tensor cores, and of weights in scalar formats beside them.
#include "backend/cuda/product_checks.hpp"

#include <tuple>

using namespace tenon;
using namespace tenon::test;

namespace {
using formats = std::tuple<q8_0, q4_0, q4_1>;
using products = int8_products;
}  // namespace

BOOST_AUTO_TEST_SUITE(matmul_int8)

BOOST_AUTO_TEST_CASE_TEMPLATE(products_are_within_the_bound_of_a_sum_in_any_order, Format, formats) {
  check_products<products, Format, int8>(path::thin, {1, 7, 8, 9, 15, 16, 17, 31, 97},
                                         {1, 7, 8, 9, 15, 16, 17, 33});
  check_products<products, Format, int8>(path::wide, {1, 31, 32, 33, 127, 128, 131},
                                         {1, 7, 9, 63, 64, 65, 131});
}
BOOST_AUTO_TEST_CASE(scalar_weights_are_multiplied_in_fp32) {
  check_products<products, f16, int8>(path::by_tokens, {1, 17}, {1, 9, 17});
}
BOOST_AUTO_TEST_CASE_TEMPLATE(a_token_has_the_same_product_alone_and_in_any_batch, Format, formats) {
  check_invariance<products, Format>(576, true);
  check_invariance<products, Format>(2080, true);
}
BOOST_AUTO_TEST_CASE_TEMPLATE(adding_is_the_product_and_one_sum, Format, formats) {
  check_adding<products, Format>(path::thin);
  check_adding<products, Format>(path::wide);
}
BOOST_AUTO_TEST_CASE_TEMPLATE(gates_are_within_their_bound_in_every_form, Format, formats) {
  check_gates<products, Format>(path::thin, {1, 31, 32, 33, 64, 97}, {1, 3, 8, 11});
  check_gates<products, Format>(path::wide, {1, 33, 97}, {3, 17, 65});
}
BOOST_AUTO_TEST_CASE(matrices_side_by_side_are_what_each_is_alone) {
  for (const path by : {path::thin, path::wide}) {
    check_side_by_side<products, q4_1, q4_1, q4_1>(by, 3);
    check_side_by_side<products, q8_0, q4_1, q4_1>(by, 17);
    check_side_by_side<products, q4_0, f16, q8_0>(by, 2);
  }
}
BOOST_AUTO_TEST_CASE_TEMPLATE(a_token_with_nan_or_infinity_spoils_its_own_products_only, Format, formats) {
  check_spoiled_tokens<products, Format>(path::thin);
  check_spoiled_tokens<products, Format>(path::wide);
}
BOOST_AUTO_TEST_CASE_TEMPLATE(a_norm_by_the_last_block_is_the_norm_that_follows, Format, formats) {
  check_then_norm<products, Format>();
}

BOOST_AUTO_TEST_SUITE_END()
