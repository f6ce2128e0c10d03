// Embedding rows, RMS norm and the preparing of activations.
#include <boost/test/unit_test.hpp>

#include "conformance/harness.hpp"
#include "support/json.hpp"

using namespace tenon;
using namespace tenon::conformance;
using test::json;

namespace {

constexpr std::size_t awkward_widths[] = {1, 31, 32, 33, 64, 96, 97, 576};

/// Rows of both forms: `values` tell what was computed, `quanta` are their int8.
template <class Isa, class Activation>
host::activations normed(std::span<const float> x, std::size_t tokens, std::span<const float> weight,
                         float epsilon, int threads = 1) {
  runner team(threads);
  host::activations out(tokens, weight.size(), true, true);
  team.run([&](host::op_context context) {
    host::norm<Isa, Activation>(context, x.data(), tokens, weight, epsilon, out);
  });
  return out;
}

/// The fp32 values without the padding, which must be zeros.
std::vector<float> unpadded(const host::activations& x, std::size_t tokens, std::size_t width) {
  std::vector<float> values;
  for (std::size_t token = 0; token < tokens; ++token) {
    const float* row = x.values.data() + token * x.stride;
    values.insert(values.end(), row, row + width);
    for (std::size_t i = width; i < x.stride; ++i) BOOST_TEST(row[i] == 0.0f);
  }
  return values;
}

/// Whether every group of int8 is a right quantisation of the fp32 values beside it, with its sums.
void check_quanta(const host::activations& x, std::size_t tokens) {
  for (std::size_t at = 0; at < tokens * x.groups(); ++at)
    BOOST_TEST(fault_of_int8(x, at, x.values.data() + at * host::group_size) == "");
}

}  // namespace

BOOST_AUTO_TEST_SUITE(norm)

BOOST_AUTO_TEST_CASE_TEMPLATE(a_norm_is_within_its_bound_and_padded_with_zeros, Isa, instruction_sets) {
  constexpr std::size_t tokens = 3;
  for (const std::size_t width : awkward_widths) {
    for (const float epsilon : {1e-5f, 1e-1f}) {
      const std::vector<float> x = reference::activation_values(tokens * width, width);
      const std::vector<float> weight = reference::uniform_values(width, -2, 2, width + 1);
      std::vector<float> expected;
      std::vector<double> tolerance, tolerance_bf16;
      for (std::size_t token = 0; token < tokens; ++token) {
        for (const float value : reference::rms_norm(std::span(x).subspan(token * width, width), weight,
                                                     static_cast<double>(epsilon))) {
          expected.push_back(value);
          tolerance.push_back(reference::rms_norm_tolerance(width, value));
          // rounding a number that is off by t to bf16 adds at most its unit of the number
          tolerance_bf16.push_back(tolerance.back() +
                                   reference::unit_bf16 *
                                       (std::fabs(static_cast<double>(value)) + tolerance.back()));
        }
      }
      BOOST_TEST_CONTEXT(std::string_view(Isa::name) << ", width " << width) {
        const host::activations seen = normed<Isa, f32>(x, tokens, weight, epsilon);
        BOOST_TEST(first_fault(unpadded(seen, tokens, width), expected, tolerance) == "");
        check_quanta(seen, tokens);
        const host::activations rounded = normed<Isa, bf16>(x, tokens, weight, epsilon);
        BOOST_TEST(first_fault(unpadded(rounded, tokens, width), expected, tolerance_bf16) == "");
        for (std::size_t i = 0; i < tokens * rounded.stride; ++i)
          BOOST_TEST(bfloat_to_float(float_to_bfloat(rounded.values[i])) == rounded.values[i]);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(norms_give_the_listed_answers, Isa, instruction_sets) {
  const json file = test::load_json("vectors/rmsnorm.json");
  const double relative = file["tol_rel"].get<double>();
  for (const json& c : file["cases"]) {
    BOOST_TEST_CONTEXT(c["name"]) {
      const std::vector<float> x = test::numbers(c["x"]);
      const std::vector<float> weight(x.size(), 1.0f);
      const host::activations seen =
          normed<Isa, f32>(x, 1, weight, static_cast<float>(c["eps"].get<double>()));
      const double first = static_cast<double>(seen.values[0]);
      const double last = static_cast<double>(seen.values[x.size() - 1]);
      BOOST_TEST(std::fabs(first - c["first"].get<double>()) <=
                 relative * std::fabs(c["first"].get<double>()));
      BOOST_TEST(std::fabs(last - c["last"].get<double>()) <= relative * std::fabs(c["last"].get<double>()));
    }
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(norm_rows_picks_rows_in_any_order, Isa, instruction_sets) {
  constexpr std::size_t tokens = 5, width = 33;
  const std::vector<float> x = reference::activation_values(tokens * width, 1);
  const std::vector<float> weight = reference::uniform_values(width, -2, 2, 2);
  const host::activations all = normed<Isa, f32>(x, tokens, weight, 1e-5f);
  const std::size_t rows[] = {4, 0, 4};
  runner two(2);
  host::activations picked(3, width, true, false);
  two.run([&](host::op_context context) {
    host::norm_rows<Isa, f32>(context, x.data(), rows, weight, 1e-5f, picked);
  });
  for (std::size_t i = 0; i < 3; ++i) {
    const std::span seen(picked.values.data() + i * picked.stride, picked.stride);
    BOOST_TEST(first_difference(seen, std::span(all.values.data() + rows[i] * all.stride, all.stride)) == "");
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_row_of_nan_gives_nan_and_leaves_the_others_alone, Isa, instruction_sets) {
  constexpr std::size_t tokens = 3, width = 64;
  std::vector<float> x = reference::activation_values(tokens * width, 3);
  const std::vector<float> weight(width, 1.0f);
  const host::activations good = normed<Isa, f32>(x, tokens, weight, 1e-5f);
  x[width + 7] = std::nanf("");
  const host::activations seen = normed<Isa, f32>(x, tokens, weight, 1e-5f, 2);
  for (std::size_t i = 0; i < tokens * width; ++i)
    BOOST_TEST((i / width == 1 ? std::isnan(seen.values[i]) : seen.values[i] == good.values[i]));
  for (std::size_t at = 0; at < tokens * seen.groups(); ++at)
    BOOST_TEST(std::isnan(seen.scales[at]) == (at / seen.groups() == 1));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(preparing_keeps_fp32_and_rounds_16_bits_to_nearest, Isa, instruction_sets) {
  runner two(2);
  for (const std::size_t width : awkward_widths) {
    constexpr std::size_t tokens = 3;
    const std::vector<float> x = reference::awkward_values(tokens * width, width);
    host::activations kept(tokens, width, true, true), rounded(tokens, width, true, false),
        halves(tokens, width, true, false);
    two.run([&](host::op_context context) {
      host::prepare<Isa, f32>(context, x.data(), tokens, width, kept);
      host::prepare<Isa, bf16>(context, x.data(), tokens, width, rounded);
      host::prepare<Isa, f16>(context, x.data(), tokens, width, halves);
    });
    std::vector<float> nearest = x, nearest_half = x;
    for (float& value : nearest) value = bfloat_to_float(float_to_bfloat(value));
    for (float& value : nearest_half) value = half_to_float(float_to_half(value));
    BOOST_TEST(first_difference(unpadded(kept, tokens, width), x) == "");
    BOOST_TEST(first_difference(unpadded(rounded, tokens, width), nearest) == "");
    BOOST_TEST(first_difference(unpadded(halves, tokens, width), nearest_half) == "");
    check_quanta(kept, tokens);
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(embedded_rows_are_the_decoded_weights_to_the_bit, Isa, instruction_sets) {
  runner two(2);
  const auto check = [&]<class Format>() {
    for (const std::size_t columns : {32u, 96u, scalar_format<Format> ? 97u : 64u}) {
      constexpr std::size_t rows = 67;
      const test_matrix table = random_matrix<Isa, Format>(rows, columns, columns);
      const token_id tokens[] = {0, 31, 32, 66, 66, 1};
      std::vector<float> hidden(std::size(tokens) * columns, std::nanf(""));
      two.run([&](host::op_context context) {
        host::embed<Isa, precision::all_formats>(context, table.packed, tokens, hidden.data());
      });
      BOOST_TEST(first_difference(hidden, reference::embedding(tokens, table.values, columns)) == "");
    }
  };
  precision::all_formats::visit(f32::gguf_type, check);
  precision::all_formats::visit(f16::gguf_type, check);
  precision::all_formats::visit(bf16::gguf_type, check);
  precision::all_formats::visit(q8_0::gguf_type, check);
  precision::all_formats::visit(q4_0::gguf_type, check);
  precision::all_formats::visit(q4_1::gguf_type, check);
}

BOOST_AUTO_TEST_SUITE_END()
