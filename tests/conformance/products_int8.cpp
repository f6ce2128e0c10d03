// Products with int8 activations: every weight format and instruction set, over awkward shapes.
#include "conformance/products.hpp"

using namespace tenon;
using namespace tenon::conformance;

BOOST_AUTO_TEST_SUITE(products_int8)

BOOST_AUTO_TEST_CASE_TEMPLATE(products_are_within_the_bound_of_a_sum_in_any_order, Isa, instruction_sets) {
  check_shapes<Isa, q8_0, int8>();
  check_shapes<Isa, q4_0, int8>();
  check_shapes<Isa, q4_1, int8>();
}

BOOST_AUTO_TEST_CASE_TEMPLATE(products_of_whole_numbers_are_exact, Isa, instruction_sets) {
  check_whole_numbers<Isa, q8_0, int8>();
  check_whole_numbers<Isa, q4_0, int8>();
  check_whole_numbers<Isa, q4_1, int8>();
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_token_has_the_same_product_alone_and_in_any_batch, Isa, instruction_sets) {
  check_batch_invariance<Isa, q8_0, int8>(736);
  check_batch_invariance<Isa, q4_0, int8>(736);
  check_batch_invariance<Isa, q4_1, int8>(736);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(scalar_weights_are_multiplied_in_fp32_all_the_same, Isa, instruction_sets) {
  check_shapes<Isa, bf16, int8>();
}

BOOST_AUTO_TEST_CASE_TEMPLATE(quantising_costs_no_more_than_half_a_step_for_each_value, Isa,
                              instruction_sets) {
  // the whole way from fp32 activations, against the worst case of int8_dot_tolerance
  runner threads;
  constexpr std::size_t rows = 33, columns = 96, tokens = 5;
  const test_matrix weights = random_matrix<Isa, q4_1>(rows, columns, 21);
  const std::vector<float> x = reference::activation_values(tokens * columns, 22);
  const std::vector<float> seen =
      product<Isa, int8>(threads, weights.packed, prepared<Isa, q4_1, int8>(threads, x, tokens), tokens);
  std::vector<double> tolerance;
  for (std::size_t token = 0; token < tokens; ++token) {
    for (std::size_t row = 0; row < rows; ++row) {
      tolerance.push_back(reference::int8_dot_tolerance(
          std::span<const float>(weights.values).subspan(row * columns, columns),
          std::span<const float>(weights.terms).subspan(row * columns, columns),
          std::span<const float>(x).subspan(token * columns, columns)));
    }
  }
  BOOST_TEST(first_fault(seen, reference::matmul(x, weights.values, columns), tolerance) == "");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(the_largest_weights_and_activations_do_not_overflow, Isa, instruction_sets) {
  // -128 occurs in files though quantisers do not write it; 15 and 127 everywhere fill the 16-bit sums of
  // AVX2
  runner threads;
  constexpr std::size_t rows = 32, columns = 64;
  const auto packed = [&]<class Format>(std::byte quant) {
    std::vector<std::byte> file(rows * row_bytes<Format>(columns), quant);
    for (std::size_t block = 0; block < file.size(); block += Format::block_bytes) {
      const std::uint16_t halves[2] = {float_to_half(1.0f), float_to_half(-3.0f)};
      std::memcpy(file.data() + block, halves, std::is_same_v<Format, q4_1> ? 4 : 2);
    }
    host::matrix made = host::make_matrix<Isa, Format>(rows, columns);
    host::pack_panel<Isa, Format>(made, 0, file.data());
    return made;
  };
  const auto check = [&]<class Format>(std::byte quant, float weight) {
    const host::matrix weights = packed.template operator()<Format>(quant);
    for (const float sign : {1.0f, -1.0f}) {
      for (const std::size_t tokens : {1u, 2u, 7u}) {
        const std::vector<float> x(tokens * columns, sign * 127.0f);
        const std::vector<float> seen =
            product<Isa, int8>(threads, weights, prepared<Isa, Format, int8>(threads, x, tokens), tokens);
        const std::vector<float> expected(tokens * rows, sign * 127.0f * columns * weight);
        BOOST_TEST(first_difference(seen, expected) == "", std::string_view(Format::name)
                                                               << first_difference(seen, expected));
      }
    }
  };
  check.template operator()<q8_0>(std::byte{0x80}, -128.0f);
  check.template operator()<q8_0>(std::byte{0x7f}, 127.0f);
  check.template operator()<q4_0>(std::byte{0xff}, 7.0f);
  check.template operator()<q4_0>(std::byte{0x00}, -8.0f);
  check.template operator()<q4_1>(std::byte{0xff}, 12.0f);
  check.template operator()<q4_1>(std::byte{0x00}, -3.0f);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_token_with_nan_or_infinity_spoils_its_own_products_only, Isa,
                              instruction_sets) {
  runner threads;
  constexpr std::size_t rows = 33, columns = 96, tokens = 7;
  const auto check = [&]<class Format>() {
    const test_matrix weights = random_matrix<Isa, Format>(rows, columns, 31);
    for (const float broken : {std::nanf(""), HUGE_VALF, -HUGE_VALF}) {
      std::vector<float> x = reference::activation_values(tokens * columns, 32);
      const std::vector<float> good = product<Isa, int8>(
          threads, weights.packed, prepared<Isa, Format, int8>(threads, x, tokens), tokens);
      x[3 * columns + 40] = broken;
      const std::vector<float> seen = product<Isa, int8>(
          threads, weights.packed, prepared<Isa, Format, int8>(threads, x, tokens), tokens);
      for (std::size_t i = 0; i < seen.size(); ++i) {
        const bool right = i / rows == 3 ? !std::isfinite(seen[i]) : std::memcmp(&seen[i], &good[i], 4) == 0;
        BOOST_TEST(right, std::string_view(Format::name) << " value " << i << " is " << seen[i]);
      }
    }
  };
  check.template operator()<q8_0>();
  check.template operator()<q4_0>();
  check.template operator()<q4_1>();
  check.template operator()<f16>();
}

BOOST_AUTO_TEST_SUITE_END()
