// The product of a matrix with tokens, for the files that test it with one kind of activations each.
#pragma once

#include <boost/test/unit_test.hpp>

#include "conformance/harness.hpp"

namespace tenon::conformance {

/// How awkward shapes and counts are: around a panel of 32 rows, a group of 32 columns, a block of 64 tokens,
/// and the tokens that kernels take at once.
inline constexpr std::size_t awkward_rows[] = {1, 31, 32, 33, 64, 97};
inline constexpr std::size_t awkward_tokens[] = {1, 2, 3, 4, 5, 63, 64, 65, 130};

template <class Format>
std::vector<std::size_t> awkward_columns() {
  if constexpr (scalar_format<Format>) return {1, 31, 32, 33, 64, 97, 211};
  return {32, 64, 96, 224};
}

template <class Isa, class Activation>
using products_of = host::products<Isa, precision::all_formats, Activation>;

/// x times one matrix: [tokens, rows].
template <class Isa, class Activation>
std::vector<float> product(runner& threads, const host::matrix& weights, const host::activations& x,
                           std::size_t tokens) {
  std::vector<float> out(tokens * weights.rows, std::nanf(""));
  threads.run([&](host::op_context context) {
    products_of<Isa, Activation>::store(context, std::array{&weights}, x, tokens, out.data(), weights.rows);
  });
  return out;
}

/// The bounds of a product [tokens, rows] of given values: any order of a sum in fp32, tolerance.hpp.
/// `operand_unit` is what the values themselves were rounded by.
inline std::vector<double> product_tolerance(const test_matrix& weights, std::span<const float> x,
                                             std::size_t tokens, double operand_unit) {
  const std::size_t columns = weights.packed.columns;
  std::vector<double> tolerance;
  for (std::size_t token = 0; token < tokens; ++token) {
    for (std::size_t row = 0; row < weights.packed.rows; ++row) {
      const double magnitude =
          reference::magnitude_sum(std::span<const float>(weights.terms).subspan(row * columns, columns),
                                   x.subspan(token * columns, columns));
      tolerance.push_back(reference::dot_tolerance(columns, magnitude, operand_unit));
    }
  }
  return tolerance;
}

/// What a kernel rounds operands by beyond what preparing did: weights, where the instruction multiplies bf16
/// by bf16; and the reference's operands here, which are int8 activations multiplied out to fp32.
template <class Isa, class Format, class Activation>
constexpr double operand_unit() {
  using form = host::form_of<Isa, Format, Activation>;
  if (std::is_same_v<form, host::as_int8>) return reference::unit_f32;
  return std::is_same_v<form, host::as_bf16> && !std::is_same_v<Format, bf16> ? reference::unit_bf16 : 0.0;
}

/// One product against the reference over the values that the prepared activations stand for: what preparing
/// loses is tested by itself.
template <class Isa, class Format, class Activation>
std::string fault_of_product(runner& threads, std::size_t rows, std::size_t columns, std::size_t tokens) {
  const test_matrix weights = random_matrix<Isa, Format>(rows, columns, rows * 1000 + columns);
  const std::vector<float> x = reference::activation_values(tokens * columns, columns + tokens);
  const host::activations left = prepared<Isa, Format, Activation>(threads, x, tokens);
  const std::vector<float> seen = product<Isa, Activation>(threads, weights.packed, left, tokens);
  const std::vector<float> values = values_of(left, tokens, columns);
  const std::vector<float> expected = reference::matmul(values, weights.values, columns);
  return first_fault(seen, expected,
                     product_tolerance(weights, values, tokens, operand_unit<Isa, Format, Activation>()));
}

/// All shapes of a format. Not every pair of rows, columns and tokens: each of the three lists against the
/// middle of the others.
template <class Isa, class Format, class Activation>
void check_shapes() {
  runner threads;
  const auto check = [&](std::size_t rows, std::size_t columns, std::size_t tokens) {
    const std::string fault = fault_of_product<Isa, Format, Activation>(threads, rows, columns, tokens);
    BOOST_TEST(fault == "", std::string_view(Isa::name)
                                << ' ' << std::string_view(Format::name) << ' ' << rows << " x " << columns
                                << ", " << tokens << " tokens: " << fault);
  };
  for (const std::size_t columns : awkward_columns<Format>()) {
    for (const std::size_t tokens : {1u, 2u, 5u, 7u}) check(33, columns, tokens);
  }
  for (const std::size_t rows : awkward_rows) {
    for (const std::size_t tokens : {1u, 3u}) check(rows, 64, tokens);
  }
  for (const std::size_t tokens : awkward_tokens) check(33, 96, tokens);
}

/// Whole numbers in blocks whose scale is 1 in every format, so that weights are exactly these.
template <class Format>
std::vector<float> whole_weights(std::size_t rows, std::size_t columns, std::uint64_t seed) {
  std::vector<float> values = reference::whole_values(rows * columns, 7, seed);
  for (std::size_t i = 0; i < values.size(); i += 32) {
    if constexpr (std::is_same_v<Format, q8_0>) values[i + i / 32 % 32] = 127;
    if constexpr (std::is_same_v<Format, q4_0>) values[i + i / 32 % 32] = -8;
    if constexpr (std::is_same_v<Format, q4_1>) values[i] = -7, values[i + 31] = 8;
  }
  return values;
}

/// Sums of whole numbers below 2^24 are exact in fp32 in any order: the product must be the reference's to
/// the bit. Each group of x holds 127, so that int8 activations have the scale 1.
template <class Isa, class Format, class Activation>
void check_whole_numbers() {
  runner threads;
  constexpr std::size_t rows = 65, columns = 96;
  const test_matrix weights =
      make_test_matrix<Isa, Format>(whole_weights<Format>(rows, columns, 5), rows, columns);
  BOOST_TEST(first_difference(weights.values, whole_weights<Format>(rows, columns, 5)) == "");
  for (const std::size_t tokens : {1u, 2u, 3u, 4u, 5u, 6u, 7u, 70u}) {
    std::vector<float> x = reference::whole_values(tokens * columns, 127, tokens);
    for (std::size_t i = 0; i < x.size(); i += 32) x[i + tokens % 32] = 127;
    const host::activations left = prepared<Isa, Format, Activation>(threads, x, tokens);
    const std::string difference =
        first_difference(product<Isa, Activation>(threads, weights.packed, left, tokens),
                         reference::matmul(x, weights.values, columns));
    BOOST_TEST(difference == "", std::string_view(Isa::name) << ' ' << std::string_view(Format::name) << ", "
                                                             << tokens << " tokens: " << difference);
  }
}

/// A token's product, bit for bit, whatever the number of tokens beside it. `columns` are more groups than
/// the scratch holds unpacked, so that the sums of many tokens are taken in stretches.
template <class Isa, class Format, class Activation>
void check_batch_invariance(std::size_t columns) {
  runner one, two(2);
  constexpr std::size_t rows = 33, most = 130;
  const test_matrix weights = random_matrix<Isa, Format>(rows, columns, 11);
  const std::vector<float> x = reference::activation_values(most * columns, 12);
  std::vector<float> alone;
  for (std::size_t token = 0; token < most; ++token) {
    const std::span<const float> row(x.data() + token * columns, columns);
    const std::vector<float> result =
        product<Isa, Activation>(one, weights.packed, prepared<Isa, Format, Activation>(one, row, 1), 1);
    alone.insert(alone.end(), result.begin(), result.end());
  }
  for (const std::size_t tokens : {2u, 3u, 4u, 5u, 6u, 7u, 8u, 9u, 63u, 64u, 65u, 130u}) {
    const std::span<const float> batch(x.data(), tokens * columns);
    const host::activations left = prepared<Isa, Format, Activation>(one, batch, tokens);
    const std::span<const float> expected(alone.data(), tokens * rows);
    for (runner* threads : {&one, &two}) {
      const std::string difference =
          first_difference(product<Isa, Activation>(*threads, weights.packed, left, tokens), expected);
      BOOST_TEST(difference == "", std::string_view(Isa::name)
                                       << ' ' << std::string_view(Format::name) << ", " << tokens
                                       << " tokens: " << difference);
    }
  }
}

}  // namespace tenon::conformance
