// Products with int8 activations on tensor cores: every block format, over awkward shapes.
#include <boost/test/unit_test.hpp>

#include <cmath>
#include <cstring>
#include <tuple>

#include "backend/cuda/forms.hpp"
#include "backend/cuda/packed.hpp"
#include "reference/ops.hpp"

using namespace tenon;

namespace {

using formats = std::tuple<q8_0, q4_0, q4_1>;

template <class Format>
std::string fault_of_product(std::size_t rows, std::size_t columns, std::size_t tokens) {
  const test::packed_matrix<Format> weights(rows, columns, rows * 1000 + columns);
  const std::vector<float> x = reference::activation_values(tokens * columns, columns + tokens);
  const std::vector<float> values = test::int8_values(test::cuda_prepare(x, tokens), tokens, columns);
  const std::vector<float> seen = test::cuda_matmul_int8<Format>(weights.bytes, rows, columns, x, tokens);
  const std::vector<float> expected = reference::matmul(values, weights.values, columns);
  for (std::size_t at = 0; at < seen.size(); ++at) {
    const std::size_t token = at / rows, row = at % rows;
    const double magnitude =
        reference::magnitude_sum(std::span(weights.terms).subspan(row * columns, columns),
                                 std::span(values).subspan(token * columns, columns));
    const double tolerance = reference::dot_tolerance(columns, magnitude, reference::unit_f32);
    if (std::fabs(static_cast<double>(seen[at]) - static_cast<double>(expected[at])) <= tolerance) continue;
    return "token " + std::to_string(token) + ", row " + std::to_string(row) + " is " +
           std::to_string(seen[at]) + ", should be " + std::to_string(expected[at]) + " +- " +
           std::to_string(tolerance);
  }
  return "";
}

}  // namespace

BOOST_AUTO_TEST_SUITE(matmul_int8)

BOOST_AUTO_TEST_CASE_TEMPLATE(products_are_within_the_bound_of_a_sum_in_any_order, Format, formats) {
  const auto check = [](std::size_t rows, std::size_t columns, std::size_t tokens) {
    const std::string fault = fault_of_product<Format>(rows, columns, tokens);
    BOOST_TEST(fault == "", std::string_view(Format::name)
                                << ' ' << rows << " x " << columns << ", " << tokens << " tokens: " << fault);
  };
  // around a record of 128 and where the number of slices changes
  for (const std::size_t columns : {32u, 96u, 128u, 160u, 416u, 576u, 2016u, 2080u}) check(33, columns, 3);
  for (const std::size_t rows : {1u, 7u, 8u, 9u, 15u, 16u, 17u, 31u, 97u}) check(rows, 160, 2);
  for (const std::size_t tokens : {1u, 7u, 8u, 9u, 15u, 16u, 17u, 33u}) check(24, 160, tokens);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_token_has_the_same_product_alone_and_in_any_batch, Format, formats) {
  constexpr std::size_t rows = 40, columns = 576, most = 17;
  const test::packed_matrix<Format> weights(rows, columns, 11);
  const std::vector<float> x = reference::activation_values(most * columns, 12);
  std::vector<float> alone;
  for (std::size_t token = 0; token < most; ++token) {
    const auto result = test::cuda_matmul_int8<Format>(weights.bytes, rows, columns,
                                                       std::span(x).subspan(token * columns, columns), 1);
    alone.insert(alone.end(), result.begin(), result.end());
  }
  for (const std::size_t tokens : {2u, 3u, 8u, 9u, 16u, 17u}) {
    const auto batch = test::cuda_matmul_int8<Format>(weights.bytes, rows, columns,
                                                      std::span(x).first(tokens * columns), tokens);
    BOOST_TEST(std::memcmp(batch.data(), alone.data(), batch.size() * sizeof(float)) == 0,
               std::string_view(Format::name) << ", " << tokens << " tokens");
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(adding_is_the_product_and_one_sum, Format, formats) {
  constexpr std::size_t rows = 17, columns = 160, tokens = 9;
  const test::packed_matrix<Format> weights(rows, columns, 21);
  const std::vector<float> x = reference::activation_values(tokens * columns, 22);
  const std::vector<float> residual = reference::uniform_values(tokens * rows, -2, 2, 23);
  const auto product = test::cuda_matmul_int8<Format>(weights.bytes, rows, columns, x, tokens);
  const auto seen = test::cuda_add_matmul_int8<Format>(weights.bytes, rows, columns, x, tokens, residual);
  for (std::size_t i = 0; i < seen.size(); ++i) BOOST_TEST(seen[i] == residual[i] + product[i]);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(gates_are_within_their_bound_in_every_form, Format, formats) {
  for (const std::size_t rows : {1u, 31u, 32u, 33u, 64u, 97u}) {
    constexpr std::size_t columns = 160;
    const test::packed_matrix<Format> gate(rows, columns, rows), up(rows, columns, rows + 1);
    for (const std::size_t tokens : {1u, 3u, 8u, 11u}) {
      BOOST_TEST_CONTEXT(std::string_view(Format::name) << ", " << rows << " rows, " << tokens << " tokens") {
        const std::vector<float> x = reference::activation_values(tokens * columns, tokens);
        // the products' own errors are tested above; here the gating of exactly these numbers
        const auto gates = test::cuda_matmul_int8<Format>(gate.bytes, rows, columns, x, tokens);
        const auto ups = test::cuda_matmul_int8<Format>(up.bytes, rows, columns, x, tokens);
        const std::vector<float> expected = reference::swiglu(gates, ups);
        const auto seen = test::cuda_gate_matmul_int8<Format>(gate.bytes, up.bytes, rows, columns, x, tokens);
        std::size_t faults = 0;
        for (std::size_t i = 0; i < expected.size(); ++i) {
          const double off = static_cast<double>(seen.values[i / rows * seen.stride + i % rows]) -
                             static_cast<double>(expected[i]);
          faults += !(std::fabs(off) <= reference::swiglu_tolerance(gates[i], ups[i], expected[i]));
        }
        BOOST_TEST(faults == 0u);
        BOOST_TEST(test::fault_of_forms(seen, tokens, rows) == "");
      }
    }
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_token_with_nan_or_infinity_spoils_its_own_products_only, Format, formats) {
  constexpr std::size_t rows = 17, columns = 160, tokens = 9;
  const test::packed_matrix<Format> weights(rows, columns, 31);
  const std::vector<float> good = reference::activation_values(tokens * columns, 32);
  const auto expected = test::cuda_matmul_int8<Format>(weights.bytes, rows, columns, good, tokens);
  for (const float broken : {std::nanf(""), HUGE_VALF, -HUGE_VALF}) {
    std::vector<float> x = good;
    x[3 * columns + 40] = broken;
    const auto seen = test::cuda_matmul_int8<Format>(weights.bytes, rows, columns, x, tokens);
    for (std::size_t i = 0; i < seen.size(); ++i) {
      const bool right =
          i / rows == 3 ? !std::isfinite(seen[i]) : std::memcmp(&seen[i], &expected[i], 4) == 0;
      BOOST_TEST(right, "value " << i << " is " << seen[i]);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
