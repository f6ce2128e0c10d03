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

/// What a value of a cache format may differ by from a number that is itself off by `error`: half a step, and
/// half the smallest step of an fp16 subnormal.
template <class Format>
double stored_tolerance(double error, float value) {
  double unit = 0;
  if (std::is_same_v<Format, f16>) unit = reference::unit_f16;
  if (std::is_same_v<Format, bf16>) unit = reference::unit_bf16;
  return error + unit * (std::fabs(static_cast<double>(value)) + error) + (unit > 0 ? 0x1p-25 : 0.0);
}

template <class Format>
float decoded(const std::uint8_t* at) {
  float value = 0;
  Format::decode(reinterpret_cast<const std::byte*>(at), &value);
  return value;
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
      const std::uint8_t* key = cache.keys(layer, head) + to * cache.key_stride();
      const std::uint8_t* value = cache.values(layer, head) + to * cache.value_stride();
      for (std::size_t i = 0; i < host::head_stride(shape.head_dim); ++i) {
        const std::size_t lane = queries + head * shape.head_dim + i;
        const bool padding = i >= shape.head_dim;
        const float seen_key = decoded<Key>(key + i * Key::block_bytes);
        const float seen_value = decoded<Value>(value + i * Value::block_bytes);
        if (padding) {
          faults += seen_key != 0.0f || seen_value != 0.0f;
        } else {
          const double difference = std::fabs(static_cast<double>(seen_key) - static_cast<double>(row[lane]));
          faults += !(difference <= stored_tolerance<Key>(error(lane), row[lane]));
          faults += seen_value != rounded_to<Value>(row[lane + keys]);
        }
      }
    }
  }
  BOOST_TEST(faults == 0u, std::string_view(Isa::name) << ", heads of " << shape.head_dim << ", rotated "
                                                       << shape.rotated << ": " << faults << " faults");
  std::size_t touched = 0;
  for (std::size_t l = 0; l < layers; ++l) {
    for (std::size_t head = 0; head < shape.kv_heads; ++head) {
      for (std::size_t row = 0; row < layout.rows(); ++row) {
        if (l == layer && written[row]) continue;
        touched += !std::isnan(decoded<Key>(cache.keys(l, head) + row * cache.key_stride()));
        touched += !std::isnan(decoded<Value>(cache.values(l, head) + row * cache.value_stride()));
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
  }
  check_append<Isa, f32, bf16>({8, 1, 18, 18}, 1);
  check_append<Isa, bf16, f32>({2, 2, 7, 2}, 1);
}

BOOST_AUTO_TEST_SUITE_END()
