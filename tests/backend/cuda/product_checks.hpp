// What every product promises, whatever its weights and activations, as checks for the files that test one kind of
// activations each.
#pragma once

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <cstring>
#include <string>
#include <type_traits>

#include "backend/cuda/forms.hpp"
#include "backend/cuda/product_ops.hpp"
#include "reference/ops.hpp"

namespace tenon::test {

template <class Activation>
inline constexpr bool is_half = std::is_same_v<Activation, f16> || std::is_same_v<Activation, bf16>;

/// The numbers that a product with activations of a kind multiplies, [tokens, width].
template <class Format, class Activation>
std::vector<float> multiplied_values(std::span<const float> x, std::size_t tokens) {
  const std::size_t width = x.size() / tokens;
  if constexpr (std::is_same_v<Activation, int8> && !scalar_format<Format>) {
    return int8_values(cuda_prepare(x, tokens), tokens, width);
  } else {
    std::vector<float> values(x.begin(), x.end());
    for (float& value : values) {
      if (std::is_same_v<Activation, f16>) value = half_to_float(float_to_half(value));
      if (std::is_same_v<Activation, bf16>) value = bfloat_to_float(float_to_bfloat(value));
    }
    return values;
  }
}

/// One product against the reference over those numbers: a sum in any order. Multiplied out to fp32, the int8 form was
/// rounded once more.
template <class Products, class Format, class Activation>
std::string fault_of_product(path by, std::size_t rows, std::size_t columns, std::size_t tokens) {
  const packed_matrix<Format> weights(rows, columns, rows * 1000 + columns);
  const std::vector<float> x = reference::activation_values(tokens * columns, columns + tokens);
  const std::vector<float> values = multiplied_values<Format, Activation>(x, tokens);
  const std::vector<float> seen = Products::store(by, as_operand(weights), x, tokens);
  const std::vector<float> expected = reference::matmul(values, weights.values, columns);
  const double unit = std::is_same_v<Activation, int8> && !scalar_format<Format> ? reference::unit_f32 : 0.0;
  for (std::size_t at = 0; at < seen.size(); ++at) {
    const std::size_t token = at / rows, row = at % rows;
    const double magnitude =
        reference::magnitude_sum(std::span(weights.terms).subspan(row * columns, columns),
                                 std::span(values).subspan(token * columns, columns));
    const double tolerance = reference::dot_tolerance(columns, magnitude, unit);
    if (std::fabs(static_cast<double>(seen[at]) - static_cast<double>(expected[at])) <= tolerance) continue;
    return "token " + std::to_string(token) + ", row " + std::to_string(row) + " is " +
           std::to_string(seen[at]) + ", should be " + std::to_string(expected[at]) + " +- " +
           std::to_string(tolerance);
  }
  return "";
}

/// Around a group, a step of 128, and where the number of slices changes.
template <class Format>
std::vector<std::size_t> product_columns() {
  if constexpr (scalar_format<Format>) return {1, 31, 33, 127, 129, 211, 419, 1931};
  return {32, 96, 128, 160, 416, 576, 1952};
}

template <class Products, class Format, class Activation>
void check_products(path by, std::initializer_list<std::size_t> some_rows,
                    std::initializer_list<std::size_t> some_tokens) {
  const auto check = [&](std::size_t rows, std::size_t columns, std::size_t tokens) {
    const std::string fault = fault_of_product<Products, Format, Activation>(by, rows, columns, tokens);
    BOOST_TEST(fault == "", std::string_view(Format::name)
                                << ' ' << rows << " x " << columns << ", " << tokens << " tokens: " << fault);
  };
  for (const std::size_t columns : product_columns<Format>()) check(33, columns, 3);
  for (const std::size_t rows : some_rows) check(rows, 160, 2);
  for (const std::size_t tokens : some_tokens) check(24, 160, tokens);
}

/// A token's products are the same bits alone and in company, by either main loop.
template <class Products, class Format>
void check_invariance(std::size_t columns, bool has_wide) {
  constexpr std::size_t rows = 40, most = 67;
  const packed_matrix<Format> weights(rows, columns, 11);
  const std::vector<float> x = reference::activation_values(most * columns, 12);
  std::vector<float> alone;
  for (std::size_t token = 0; token < 17; ++token) {
    const auto result =
        Products::store(path::thin, as_operand(weights), std::span(x).subspan(token * columns, columns), 1);
    alone.insert(alone.end(), result.begin(), result.end());
  }
  const auto check = [&](path by, std::size_t tokens, const std::vector<float>& expected) {
    const auto batch = Products::store(by, as_operand(weights), std::span(x).first(tokens * columns), tokens);
    const std::size_t count = std::min(batch.size(), expected.size());
    BOOST_TEST(std::memcmp(batch.data(), expected.data(), count * sizeof(float)) == 0,
               std::string_view(Format::name) << ", " << columns << " columns, " << tokens << " tokens");
  };
  for (const std::size_t tokens : {2u, 8u, 9u, 16u, 17u}) check(path::by_tokens, tokens, alone);
  if (!has_wide) return;
  for (const std::size_t tokens : {1u, 9u, 17u}) check(path::wide, tokens, alone);
  const std::vector<float> all = Products::store(path::thin, as_operand(weights), x, most);
  for (const std::size_t tokens : {63u, 64u, 65u, 67u}) check(path::by_tokens, tokens, all);
}

template <class Products, class Format>
void check_adding(path by) {
  constexpr std::size_t rows = 17, columns = 160, tokens = 9;
  const packed_matrix<Format> weights(rows, columns, 21);
  const std::vector<float> x = reference::activation_values(tokens * columns, 22);
  const std::vector<float> residual = reference::uniform_values(tokens * rows, -2, 2, 23);
  const auto product = Products::store(by, as_operand(weights), x, tokens);
  const auto seen = Products::add(by, as_operand(weights), x, tokens, residual);
  for (std::size_t i = 0; i < seen.size(); ++i) BOOST_TEST(seen[i] == residual[i] + product[i]);
}

/// The gating of exactly the products' numbers, whose own errors are tested elsewhere.
template <class Products, class Format>
void check_gates(path by, std::initializer_list<std::size_t> some_rows,
                 std::initializer_list<std::size_t> some_tokens) {
  constexpr std::size_t columns = 160;
  for (const std::size_t rows : some_rows) {
    const packed_matrix<Format> gate(rows, columns, rows), up(rows, columns, rows + 1);
    for (const std::size_t tokens : some_tokens) {
      BOOST_TEST_CONTEXT(std::string_view(Format::name) << ", " << rows << " rows, " << tokens << " tokens") {
        const std::vector<float> x = reference::activation_values(tokens * columns, tokens);
        const auto gates = Products::store(by, as_operand(gate), x, tokens);
        const auto ups = Products::store(by, as_operand(up), x, tokens);
        const std::vector<float> expected = reference::swiglu(gates, ups);
        const cuda_activations seen = Products::gate(by, as_operand(gate), as_operand(up), x, tokens);
        std::size_t faults = 0;
        for (std::size_t i = 0; i < expected.size(); ++i) {
          const double off = static_cast<double>(seen.values[i / rows * seen.stride + i % rows]) -
                             static_cast<double>(expected[i]);
          faults += !(std::fabs(off) <= reference::swiglu_tolerance(gates[i], ups[i], expected[i]));
        }
        BOOST_TEST(faults == 0u);
        BOOST_TEST(fault_of_forms(seen, tokens, rows) == "");
      }
    }
  }
}

/// Matrices side by side give what each gives alone, and nothing else is written.
template <class Products, class First, class Second, class Third>
void check_side_by_side(path by, std::size_t tokens) {
  constexpr std::size_t columns = 160, rows[] = {40, 16, 17}, stride = 76;
  const packed_matrix<First> first(rows[0], columns, 1);
  const packed_matrix<Second> second(rows[1], columns, 2);
  const packed_matrix<Third> third(rows[2], columns, 3);
  const std::vector<float> x = reference::activation_values(tokens * columns, 4);
  const std::array operands{as_operand(first), as_operand(second), as_operand(third)};
  const auto seen = Products::store(by, operands, x, tokens, stride);
  std::size_t column = 0;
  for (const product_matrix& operand : operands) {
    const auto alone = Products::store(by, operand, x, tokens);
    for (std::size_t t = 0; t < tokens; ++t)
      BOOST_TEST(std::memcmp(&seen[t * stride + column], &alone[t * operand.rows],
                             operand.rows * sizeof(float)) == 0);
    column += operand.rows;
  }
  for (std::size_t i = 0; i < seen.size(); ++i) BOOST_TEST((i % stride < column || std::isnan(seen[i])));
}

template <class Products, class Format>
void check_spoiled_tokens(path by) {
  constexpr std::size_t rows = 17, columns = 160, tokens = 9;
  const packed_matrix<Format> weights(rows, columns, 31);
  const std::vector<float> good = reference::activation_values(tokens * columns, 32);
  const auto expected = Products::store(by, as_operand(weights), good, tokens);
  for (const float broken : {std::nanf(""), HUGE_VALF, -HUGE_VALF}) {
    std::vector<float> x = good;
    x[3 * columns + 40] = broken;
    const auto seen = Products::store(by, as_operand(weights), x, tokens);
    for (std::size_t i = 0; i < seen.size(); ++i) {
      const bool right =
          i / rows == 3 ? !std::isfinite(seen[i]) : std::memcmp(&seen[i], &expected[i], 4) == 0;
      BOOST_TEST(right, std::string_view(Format::name) << ", value " << i << " is " << seen[i]);
    }
  }
}

template <class Products, class Format>
void check_then_norm() {
  constexpr std::size_t columns = 160;
  for (const std::size_t rows : {4u, 36u, 1028u}) {
    const packed_matrix<Format> weights(rows, columns, 41);
    for (const std::size_t tokens : {1u, 2u}) {
      const std::vector<float> x = reference::activation_values(tokens * columns, 42);
      const std::vector<float> residual = reference::activation_values(tokens * rows, 43);
      const std::vector<float> norm = reference::uniform_values(rows, -2, 2, 44);
      const auto run = [&](bool fused) {
        return Products::add_and_norm(fused, as_operand(weights), x, tokens, residual, norm, 2);
      };
      const auto fused = run(true), apart = run(false);
      const auto same = [](const auto& a, const auto& b) {
        return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof a[0]) == 0;
      };
      BOOST_TEST_CONTEXT(std::string_view(Format::name) << ", " << rows << " rows, " << tokens << " tokens") {
        BOOST_TEST(same(fused.residual, apart.residual));
        BOOST_TEST(same(fused.activations.values, apart.activations.values));
        BOOST_TEST(same(fused.activations.halves, apart.activations.halves));
        BOOST_TEST(same(fused.activations.quanta, apart.activations.quanta));
        BOOST_TEST(same(fused.activations.scales, apart.activations.scales));
        BOOST_TEST(fused.arrived == 0u);
      }
    }
  }
}

}  // namespace tenon::test
