// What products do besides multiplying: several matrices side by side, the residual, the gated feed-forward.
#include "conformance/products.hpp"
#include "support/json.hpp"

using namespace tenon;
using namespace tenon::conformance;
using test::json;

namespace {

/// SiLU(x gate) * (x up) for weights [rows, columns] of a format, in fp32 and int8 form.
template <class Isa, class Activation>
host::activations gated(runner& threads, const host::matrix& gate, const host::matrix& up,
                        const host::activations& x, std::size_t tokens) {
  host::activations out(tokens, gate.rows, true, true);
  threads.run([&](host::op_context context) {
    products_of<Isa, Activation>::swiglu(context, gate, up, x, tokens, out);
  });
  return out;
}

/// A matrix of one column: its product with x = 1 are its values.
template <class Isa>
host::matrix column(std::span<const float> values) {
  return make_test_matrix<Isa, f32>(values, values.size(), 1).packed;
}

/// gate and up as they are, through the op.
template <class Isa>
std::vector<float> gated_values(std::span<const float> gate, std::span<const float> up) {
  runner one;
  const float x[] = {1.0f};
  const host::activations out =
      gated<Isa, f32>(one, column<Isa>(gate), column<Isa>(up), prepared<Isa, f32, f32>(one, x, 1), 1);
  return {out.values.data(), out.values.data() + gate.size()};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(fused_products)

BOOST_AUTO_TEST_CASE_TEMPLATE(matrices_side_by_side_are_each_matrix_alone, Isa, instruction_sets) {
  // query, key and value of different heights and formats, in rows with a gap behind them
  runner one, two(2);
  constexpr std::size_t columns = 64, stride = 33 + 97 + 31 + 5;
  const test_matrix parts[] = {random_matrix<Isa, q4_1>(33, columns, 1),
                               random_matrix<Isa, q8_0>(97, columns, 2),
                               random_matrix<Isa, q4_0>(31, columns, 3)};
  for (const std::size_t tokens : {1u, 2u, 7u, 65u}) {
    const std::vector<float> x = reference::activation_values(tokens * columns, tokens);
    const host::activations left = prepared<Isa, q4_1, int8>(one, x, tokens);
    std::vector<float> seen(tokens * stride, 77.0f), expected = seen;
    two.run([&](host::op_context context) {
      products_of<Isa, int8>::store(context, std::array{&parts[0].packed, &parts[1].packed, &parts[2].packed},
                                    left, tokens, seen.data(), stride);
    });
    std::size_t at = 0;
    for (const test_matrix& part : parts) {
      const std::vector<float> alone = product<Isa, int8>(one, part.packed, left, tokens);
      for (std::size_t token = 0; token < tokens; ++token)
        std::copy_n(alone.data() + token * part.packed.rows, part.packed.rows,
                    expected.data() + token * stride + at);
      at += part.packed.rows;
    }
    BOOST_TEST(first_difference(seen, expected) == "");
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(add_adds_the_product_to_the_residual_with_one_rounding, Isa, instruction_sets) {
  runner one, two(2);
  constexpr std::size_t rows = 97, columns = 96;
  const test_matrix weights = random_matrix<Isa, q4_1>(rows, columns, 4);
  for (const std::size_t tokens : {1u, 3u, 65u}) {
    const std::vector<float> x = reference::activation_values(tokens * columns, tokens);
    const host::activations left = prepared<Isa, q4_1, int8>(one, x, tokens);
    const std::vector<float> before = reference::activation_values(tokens * rows, 5);
    std::vector<float> expected = product<Isa, int8>(one, weights.packed, left, tokens);
    for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += before[i];
    for (runner* threads : {&one, &two}) {
      std::vector<float> seen = before;
      threads->run([&](host::op_context context) {
        products_of<Isa, int8>::add(context, weights.packed, left, tokens, seen.data());
      });
      BOOST_TEST(first_difference(seen, expected) == "");
    }
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(gating_is_within_its_bound_and_padded_with_zeros, Isa, instruction_sets) {
  runner one;
  constexpr std::size_t columns = 96;
  for (const std::size_t rows : {31u, 33u, 64u}) {
    for (const std::size_t tokens : {1u, 5u, 65u}) {
      const test_matrix gate = random_matrix<Isa, q4_1>(rows, columns, rows),
                        up = random_matrix<Isa, q8_0>(rows, columns, 7);
      const std::vector<float> x = reference::activation_values(tokens * columns, tokens);
      const host::activations left = prepared<Isa, q4_1, int8>(one, x, tokens);
      // The products' own errors are tested elsewhere; here the gating of exactly these fp32 numbers.
      const std::vector<float> gates = product<Isa, int8>(one, gate.packed, left, tokens);
      const std::vector<float> ups = product<Isa, int8>(one, up.packed, left, tokens);
      const std::vector<float> expected = reference::swiglu(gates, ups);
      const host::activations seen = gated<Isa, int8>(one, gate.packed, up.packed, left, tokens);
      std::vector<double> tolerance;
      for (std::size_t i = 0; i < expected.size(); ++i)
        tolerance.push_back(reference::swiglu_tolerance(gates[i], ups[i], expected[i]));
      std::vector<float> values;
      for (std::size_t token = 0; token < tokens; ++token) {
        const float* row = seen.values.data() + token * seen.stride;
        values.insert(values.end(), row, row + rows);
        for (std::size_t i = rows; i < seen.stride; ++i) BOOST_TEST(row[i] == 0.0f);
      }
      BOOST_TEST(first_fault(values, expected, tolerance) == "");
      for (std::size_t at = 0; at < tokens * seen.groups(); ++at)
        BOOST_TEST(fault_of_int8(seen, at, seen.values.data() + at * host::group_size) == "");
    }
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_token_is_gated_the_same_alone_and_in_any_batch, Isa, instruction_sets) {
  runner one, two(2);
  constexpr std::size_t rows = 33, columns = 64, tokens = 67;
  const test_matrix gate = random_matrix<Isa, q4_1>(rows, columns, 8),
                    up = random_matrix<Isa, q4_1>(rows, columns, 9);
  const std::vector<float> x = reference::activation_values(tokens * columns, 10);
  const host::activations together =
      gated<Isa, int8>(two, gate.packed, up.packed, prepared<Isa, q4_1, int8>(one, x, tokens), tokens);
  for (std::size_t token = 0; token < tokens; ++token) {
    const std::span row(x.data() + token * columns, columns);
    const host::activations alone =
        gated<Isa, int8>(one, gate.packed, up.packed, prepared<Isa, q4_1, int8>(one, row, 1), 1);
    BOOST_TEST(first_difference(std::span(together.values.data() + token * together.stride, together.stride),
                                std::span(alone.values.data(), alone.stride)) == "");
    BOOST_TEST(std::memcmp(together.quanta.data() + token * together.stride, alone.quanta.data(),
                           alone.stride) == 0);
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(gating_gives_the_listed_answers, Isa, instruction_sets) {
  const json file = test::load_json("vectors/swiglu.json");
  for (const json& c : file["cases"]) {
    BOOST_TEST_CONTEXT(c["name"]) {
      const std::vector<float> gate(1, c["gate"].get<float>()), up(1, c["up"].get<float>());
      const double expected = c["act"].get<double>();
      const double seen = static_cast<double>(gated_values<Isa>(gate, up)[0]);
      // far below zero the answer is smaller than fp32 can tell from zero: see swiglu_tolerance
      const double edge = reference::swiglu_tolerance(gate[0], up[0], 0.0f);
      BOOST_TEST(std::fabs(seen - expected) <= file["tol_rel"].get<double>() * std::fabs(expected) + edge);
    }
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(gating_is_finite_over_the_whole_range_of_gates, Isa, instruction_sets) {
  std::vector<float> gate;
  for (float g = 1e-30f; g < 1e30f; g *= 3) gate.push_back(g), gate.push_back(-g);
  for (float g = -110.0f; g < 110.0f; g += 0.37f) gate.push_back(g);
  const std::vector<float> up(gate.size(), 1.0f);
  const std::vector<float> expected = reference::swiglu(gate, up);
  std::vector<double> tolerance;
  for (std::size_t i = 0; i < gate.size(); ++i)
    tolerance.push_back(reference::swiglu_tolerance(gate[i], up[i], expected[i]));
  BOOST_TEST(first_fault(gated_values<Isa>(gate, up), expected, tolerance) == "");
}

BOOST_AUTO_TEST_SUITE_END()
