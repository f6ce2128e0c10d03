// Products of dense 16-bit weights by cuBLASLt, held to the reference that our own kernels are held to.
#include <boost/test/unit_test.hpp>

#include <cmath>
#include <string>
#include <tuple>

#include "backend/cublaslt/ops.hpp"
#include "reference/inputs.hpp"
#include "reference/ops.hpp"
#include "reference/tolerance.hpp"
#include "tenon/core/number.hpp"
#include "tenon/format/all.hpp"

using namespace tenon;

namespace {

using halves = std::tuple<f16, bf16>;

template <class Half>
std::uint16_t bits_of(float x) {
  return std::is_same_v<Half, f16> ? float_to_half(x) : float_to_bfloat(x);
}
template <class Half>
float value_of(std::uint16_t bits) {
  return std::is_same_v<Half, f16> ? half_to_float(bits) : bfloat_to_float(bits);
}

template <class Half>
std::string fault_of_product(std::size_t rows, std::size_t columns, std::size_t tokens, bool adds) {
  std::vector<float> w = reference::uniform_values(rows * columns, -0.25, 0.25, rows + columns), values;
  const std::vector<float> x = reference::activation_values(tokens * columns, tokens);
  std::vector<std::uint16_t> weights;
  for (float& value : w) weights.push_back(bits_of<Half>(value)), value = value_of<Half>(weights.back());
  for (const float value : x) values.push_back(value_of<Half>(bits_of<Half>(value)));
  const std::vector<float> residual =
      adds ? reference::uniform_values(tokens * rows, -2, 2, 9) : std::vector<float>();
  const auto seen = test::cublaslt_product<Half>(weights, rows, columns, x, tokens, residual, adds ? 1 : 2);
  const auto expected = reference::matmul(values, w, columns);
  for (std::size_t at = 0; at < seen.size(); ++at) {
    const double start = adds ? static_cast<double>(residual[at]) : 0.0;
    const double magnitude =
        std::fabs(start) + reference::magnitude_sum(std::span(w).subspan(at % rows * columns, columns),
                                                    std::span(values).subspan(at / rows * columns, columns));
    const double off = static_cast<double>(seen[at]) - static_cast<double>(expected[at]) - start;
    if (!(std::fabs(off) <= reference::dot_tolerance(columns + 1, magnitude)))
      return "value " + std::to_string(at) + " is off by " + std::to_string(off);
  }
  return "";
}

}  // namespace

BOOST_AUTO_TEST_SUITE(cublaslt)

BOOST_AUTO_TEST_CASE_TEMPLATE(products_are_within_the_bound_of_a_sum_in_any_order, Half, halves) {
  for (const bool adds : {false, true}) {
    BOOST_TEST(fault_of_product<Half>(33, 160, 3, adds) == "");
    BOOST_TEST(fault_of_product<Half>(64, 128, 65, adds) == "");
    BOOST_TEST(fault_of_product<Half>(17, 36, 17, adds) == "");
  }
}

BOOST_AUTO_TEST_SUITE_END()
