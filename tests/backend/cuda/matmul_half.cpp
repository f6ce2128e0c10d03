// Products with activations of 16 bits: on tensor cores for block formats and weights of the same numbers, in fp32 for the
// other weights.
#include "backend/cuda/product_checks.hpp"

#include <tuple>

using namespace tenon;
using namespace tenon::test;

namespace {

template <class Activation, class Format>
struct pair {
  using activation = Activation;
  using format = Format;
  using products = std::conditional_t<std::is_same_v<Activation, f16>, f16_products, bf16_products>;
};
using on_tensor_cores = std::tuple<pair<f16, f16>, pair<bf16, bf16>, pair<f16, q8_0>, pair<bf16, q8_0>,
                                   pair<f16, q4_0>, pair<bf16, q4_0>, pair<f16, q4_1>, pair<bf16, q4_1>>;
using in_fp32 = std::tuple<pair<f16, bf16>, pair<bf16, f16>, pair<bf16, f32>>;

}  // namespace

BOOST_AUTO_TEST_SUITE(matmul_half)

BOOST_AUTO_TEST_CASE_TEMPLATE(products_are_within_the_bound_of_a_sum_in_any_order, P, on_tensor_cores) {
  using products = typename P::products;
  check_products<products, typename P::format, typename P::activation>(path::thin, {1, 7, 8, 9, 16, 17, 97},
                                                                       {1, 8, 9, 16, 17, 33});
  check_products<products, typename P::format, typename P::activation>(path::wide, {1, 32, 33, 128, 131},
                                                                       {1, 9, 64, 65, 131});
}
BOOST_AUTO_TEST_CASE_TEMPLATE(weights_of_other_numbers_are_multiplied_in_fp32, P, in_fp32) {
  using products = typename P::products;
  check_products<products, typename P::format, typename P::activation>(path::by_tokens, {1, 17}, {1, 9, 17});
}
BOOST_AUTO_TEST_CASE_TEMPLATE(a_token_has_the_same_product_alone_and_in_any_batch, P, on_tensor_cores) {
  using products = typename P::products;
  check_invariance<products, typename P::format>(576, true);
  check_invariance<products, typename P::format>(2080, true);
}
BOOST_AUTO_TEST_CASE_TEMPLATE(adding_is_the_product_and_one_sum, P, on_tensor_cores) {
  using products = typename P::products;
  check_adding<products, typename P::format>(path::thin);
  check_adding<products, typename P::format>(path::wide);
}
BOOST_AUTO_TEST_CASE_TEMPLATE(gates_are_within_their_bound_in_every_form, P, on_tensor_cores) {
  using products = typename P::products;
  check_gates<products, typename P::format>(path::thin, {1, 33, 97}, {1, 11});
  check_gates<products, typename P::format>(path::wide, {33, 97}, {3, 65});
}
BOOST_AUTO_TEST_CASE(matrices_side_by_side_are_what_each_is_alone) {
  for (const path by : {path::thin, path::wide}) {
    check_side_by_side<f16_products, f16, f16, f16>(by, 3);
    check_side_by_side<bf16_products, bf16, f16, q4_1>(by, 9);
  }
}
BOOST_AUTO_TEST_CASE_TEMPLATE(a_token_with_nan_or_infinity_spoils_its_own_products_only, P, on_tensor_cores) {
  check_spoiled_tokens<typename P::products, typename P::format>(path::thin);
  check_spoiled_tokens<typename P::products, typename P::format>(path::wide);
}
BOOST_AUTO_TEST_CASE(a_norm_by_the_last_block_is_the_norm_that_follows) {
  check_then_norm<f16_products, f16>();
  check_then_norm<bf16_products, q4_1>();
}

BOOST_AUTO_TEST_SUITE_END()
