// Rotary embedding of queries and keys, and the rows that keys and values are appended to.
#include <boost/test/unit_test.hpp>

#include "conformance/sequences.hpp"
#include "support/json.hpp"

using namespace tenon;
using namespace tenon::conformance;
using test::json;

namespace {

/// cosines, then sines, of one position.
std::vector<float> angles(std::size_t position, std::size_t rotated, double base) {
  runner one;
  std::vector<float> both(rotated);
  one.run([&](host::op_context context) {
    host::rope_angles(context, std::span(&position, 1), rotated, base, both.data(),
                      both.data() + rotated / 2);
  });
  return both;
}

/// What a value of a cache format may differ by from a number that is itself off by `error`, in a head whose largest
/// magnitude is `largest`: half a step, where subnormals of fp16 and fp8 have steps of their own, and q8_0 a scale that
/// is rounded to fp16.
template <class Format>
double stored_tolerance(double error, float value, double largest) {
  const double magnitude = std::fabs(static_cast<double>(value)) + error;
  if (std::is_same_v<Format, f16>) return error + reference::unit_f16 * magnitude + 0x1p-25;
  if (std::is_same_v<Format, bf16>) return error + reference::unit_bf16 * magnitude;
  if (std::is_same_v<Format, e4m3>) return error + reference::unit_e4m3 * magnitude + 0x1p-10;
  if (std::is_same_v<Format, q8_0>)
    return error + (largest + error) * (1.0 / 127 / 2 + 2 * reference::unit_f16);
  return error;
}

double largest_of(std::span<const float> values) {
  double largest = 0;
  for (const float value : values) largest = (std::max)(largest, std::fabs(static_cast<double>(value)));
  return largest;
}

/// All values of a row in the cache, those that pad it too.
template <class Format>
std::vector<float> decoded(const std::uint8_t* row, std::size_t bytes) {
  return reference::decoded<Format>(std::as_bytes(std::span(row, bytes)));
}

/// Appends some ragged spans and checks queries, keys, values, and that nothing else was written.
template <class Isa, class Key, class Value>
void check_append(const host::head_shape& shape, int threads) {
  const double base = 10000.0;
  const steps step({{.position = 0, .count = 5}, {.position = 17, .count = 1}, {.position = 3, .count = 2}});
  const std::size_t tokens = step.plan().tokens.size();
  constexpr std::size_t layers = 2, layer = 1;
  scattered_rows layout(3, 40, 7);
  host::kv_store<Key, Value> cache(layers, shape.kv_heads, layout.rows(), shape.head_dim);
  fill_with_nan(cache, layers, shape, layout.rows());
  const std::vector<float> before = reference::uniform_values(tokens * shape.width(), -3, 3, shape.head_dim);
  std::vector<float> qkv = before, cosines(tokens * shape.rotated / 2), sines(cosines.size());
  runner team(threads);
  team.run([&](host::op_context context) {
    host::rope_angles(context, step.plan().positions, shape.rotated, base, cosines.data(), sines.data());
    host::rope_and_append<Isa>(context, step.plan(), std::span<const scattered_view>(layout.views()), shape,
                               cosines.data(), sines.data(), layer, qkv.data(), cache);
  });

  const reference::rope_shape rope{.head_size = shape.head_dim, .rotated = shape.rotated, .base = base};
  const double scale = 1.0 / std::sqrt(static_cast<double>(shape.head_dim));
  std::vector<bool> written(layout.rows(), false);
  std::size_t faults = 0;
  for (std::size_t token = 0; token < tokens; ++token) {
    const std::size_t position = step.plan().positions[token];
    std::vector<float> row(before.begin() + static_cast<std::ptrdiff_t>(token * shape.width()),
                           before.begin() + static_cast<std::ptrdiff_t>((token + 1) * shape.width()));
    const std::size_t queries = shape.heads * shape.head_dim, keys = shape.kv_heads * shape.head_dim;
    reference::rope(std::span(row).first(queries + keys), rope, position);
    const auto error = [&](std::size_t lane) {  // of a rotated lane; those behind are copied
      if (lane % shape.head_dim >= shape.rotated) return 0.0;
      const std::size_t of_head = lane % shape.head_dim;
      const std::size_t pair = token * shape.width() + lane - of_head % 2;
      return reference::rope_tolerance(before[pair], before[pair + 1]);
    };
    for (std::size_t lane = 0; lane < queries; ++lane) {
      // the scale is rounded, and so is its root, and the product
      const double expected = static_cast<double>(row[lane]) * scale;
      const double tolerance = scale * error(lane) + 4 * reference::unit_f32 * std::fabs(expected);
      faults += !(std::fabs(static_cast<double>(qkv[token * shape.width() + lane]) - expected) <= tolerance);
    }
    const std::size_t to = layout.views()[step.plan().span_of(token)].row(position);
    written[to] = true;
    for (std::size_t head = 0; head < shape.kv_heads; ++head) {
      const auto key = decoded<Key>(cache.keys(layer, head) + to * cache.key_stride(), cache.key_stride());
      const auto value =
          decoded<Value>(cache.values(layer, head) + to * cache.value_stride(), cache.value_stride());
      const std::size_t first = queries + head * shape.head_dim;
      const auto of_head = std::span<const float>(row).subspan(first, shape.head_dim);
      const auto of_value = std::span<const float>(row).subspan(first + keys, shape.head_dim);
      const std::vector<float> rounded = reference::rounded_head<Value>(of_value);
      const auto off = [](float seen, float expected) {
        return std::fabs(static_cast<double>(seen) - static_cast<double>(expected));
      };
      for (std::size_t i = 0; i < shape.head_dim; ++i) {
        faults += !(off(key[i], of_head[i]) <=
                    stored_tolerance<Key>(error(first + i), of_head[i], largest_of(of_head)));
        // copied, not computed; a quotient that is nearly a tie may go either way
        faults += scalar_format<Value> ? value[i] != rounded[i]
                                       : !(off(value[i], of_value[i]) <=
                                           stored_tolerance<Value>(0, of_value[i], largest_of(of_value)));
      }
      const auto is_zero = [](float padding) { return padding == 0.0f; };
      faults += !std::all_of(key.begin() + static_cast<std::ptrdiff_t>(shape.head_dim), key.end(), is_zero);
      faults +=
          !std::all_of(value.begin() + static_cast<std::ptrdiff_t>(shape.head_dim), value.end(), is_zero);
    }
  }
  BOOST_TEST(faults == 0u, std::string_view(Isa::name) << ", heads of " << shape.head_dim << ", rotated "
                                                       << shape.rotated << ": " << faults << " faults");
  std::size_t touched = 0;
  for (std::size_t l = 0; l < layers; ++l) {
    for (std::size_t head = 0; head < shape.kv_heads; ++head) {
      for (std::size_t row = 0; row < layout.rows(); ++row) {
        if (l == layer && written[row]) continue;
        const auto is_nan = [](float value) { return std::isnan(value); };
        const auto key = decoded<Key>(cache.keys(l, head) + row * cache.key_stride(), cache.key_stride());
        const auto value =
            decoded<Value>(cache.values(l, head) + row * cache.value_stride(), cache.value_stride());
        touched +=
            !std::all_of(key.begin(), key.end(), is_nan) || !std::all_of(value.begin(), value.end(), is_nan);
      }
    }
  }
  BOOST_TEST(touched == 0u);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(rope)

BOOST_AUTO_TEST_CASE(angles_give_the_listed_answers_at_positions_that_16_bits_cannot_hold) {
  for (const json& c : test::load_cases("vectors/rope.json")) {
    const std::size_t rotated = c["n_rot"].get<std::size_t>(), position = c["pos"].get<std::size_t>();
    const std::vector<float> seen = angles(position, rotated, c["base"].get<double>());
    const std::vector<std::size_t> pairs = test::numbers<std::size_t>(c["pair"]);
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      // Angles are formed in fp64, so that the results are off by no more than a rounding to fp32, and by the
      // angle's own rounding: far below the listed tolerance, which lets angles be formed in fp32.
      const double bound = 2 * reference::unit_f32 + static_cast<double>(position) * 0x1p-50;
      BOOST_TEST(bound <= c["tol_abs"][i].get<double>());
      BOOST_TEST(std::fabs(static_cast<double>(seen[pairs[i]]) - c["cos"][i].get<double>()) <= bound);
      BOOST_TEST(std::fabs(static_cast<double>(seen[rotated / 2 + pairs[i]]) - c["sin"][i].get<double>()) <=
                 bound);
    }
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(queries_turn_in_place_and_keys_and_values_go_to_their_rows, Isa,
                              instruction_sets) {
  for (const std::size_t head_dim : {8u, 32u, 64u, 80u, 96u, 128u}) {
    check_append<Isa, f32, f32>({6, 2, head_dim, head_dim}, 1);
    check_append<Isa, f16, f16>({9, 3, head_dim, head_dim}, 2);
    check_append<Isa, bf16, f16>({7, 1, head_dim, head_dim / 4 * 2}, 2);
    check_append<Isa, f16, bf16>({1, 1, head_dim, head_dim}, 1);
    check_append<Isa, e4m3, q8_0>({4, 2, head_dim, head_dim}, 1);
    check_append<Isa, q8_0, e4m3>({4, 2, head_dim, head_dim}, 1);
  }
  check_append<Isa, f32, bf16>({8, 1, 18, 18}, 1);
  check_append<Isa, bf16, f32>({2, 2, 7, 2}, 1);
}

BOOST_AUTO_TEST_SUITE_END()
