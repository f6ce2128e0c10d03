// Rotary embedding of queries and keys, and the rows that keys and values are appended to.
#include <boost/test/unit_test.hpp>

#include <cmath>
#include <type_traits>

#include "backend/cuda/ops.hpp"
#include "reference/inputs.hpp"
#include "reference/ops.hpp"
#include "reference/tolerance.hpp"
#include "tenon/format/all.hpp"

using namespace tenon;

namespace {

template <class Format>
float decoded(std::span<const std::byte> cache, std::size_t i) {
  float value = 0;
  Format::decode(cache.data() + i * Format::block_bytes, &value);
  return value;
}

/// What a stored value may differ by from a number that is itself off by `error`: half a step, and half the smallest
/// step of a subnormal.
template <class Format>
double stored_tolerance(double error, float value) {
  if (std::is_same_v<Format, f32>) return error;
  const double unit = std::is_same_v<Format, f16>    ? reference::unit_f16
                      : std::is_same_v<Format, bf16> ? reference::unit_bf16
                                                     : 0x1p-4;
  const double subnormal = std::is_same_v<Format, e4m3> ? 0x1p-10 : 0x1p-25;
  return error + unit * (std::fabs(static_cast<double>(value)) + error) + subnormal;
}

/// Ragged spans at scattered rows: queries, keys, values, and that nothing else was written.
template <class Key, class Value>
void check(int heads, int kv_heads, int head_dim, int rotated) {
  test::rope_case c{.positions = {0, 1, 2, 3, 4, 17, 3, 4},
                    .span_of = {0, 0, 0, 0, 0, 1, 2, 2},
                    .views = {{80, 40}, {0, 40}, {40, 40}},
                    .cache_rows = 120,
                    .heads = heads,
                    .kv_heads = kv_heads,
                    .head_dim = head_dim,
                    .rotated = rotated,
                    .stride = (head_dim + 7) / 8 * 8,
                    .base = 10000.0};
  const auto size = [](int n) { return static_cast<std::size_t>(n); };
  const std::size_t tokens = c.positions.size(), width = size((heads + 2 * kv_heads) * head_dim);
  const std::size_t queries = size(heads * head_dim), keys = size(kv_heads * head_dim);
  const std::vector<float> before = reference::uniform_values(tokens * width, -3, 3, size(head_dim));
  const test::rope_result seen = test::cuda_rope_append<Key, Value>(c, before);

  const reference::rope_shape rope{.head_size = size(head_dim), .rotated = size(rotated), .base = c.base};
  const double scale = 1.0 / std::sqrt(static_cast<double>(head_dim));
  std::vector<bool> written(c.cache_rows, false);
  std::size_t faults = 0;
  for (std::size_t token = 0; token < tokens; ++token) {
    const auto position = size(c.positions[token]);
    std::vector<float> row(before.begin() + static_cast<std::ptrdiff_t>(token * width),
                           before.begin() + static_cast<std::ptrdiff_t>((token + 1) * width));
    reference::rope(std::span(row).first(queries + keys), rope, position);
    const auto error = [&](std::size_t lane) {  // of a rotated lane; those behind are copied
      const std::size_t of_head = lane % size(head_dim);
      if (of_head >= size(rotated)) return 0.0;
      const std::size_t pair = token * width + lane - of_head % 2;
      return reference::rope_tolerance(before[pair], before[pair + 1]);
    };
    for (std::size_t lane = 0; lane < queries; ++lane) {
      // the scale is rounded, and so is its root, and the product
      const double expected = static_cast<double>(row[lane]) * scale;
      const double tolerance = scale * error(lane) + 4 * reference::unit_f32 * std::fabs(expected);
      faults += !(std::fabs(static_cast<double>(seen.query_key_value[token * width + lane]) - expected) <=
                  tolerance);
    }
    const std::size_t to = c.views[size(c.span_of[token])].row(position);
    written[to] = true;
    for (std::size_t i = 0; i < keys; ++i) {
      const std::size_t at = (i / size(head_dim) * c.cache_rows + to) * size(c.stride) + i % size(head_dim);
      const float key = row[queries + i], value = row[queries + keys + i];
      const double off = static_cast<double>(decoded<Key>(seen.keys, at)) - static_cast<double>(key);
      faults += !(std::fabs(off) <= stored_tolerance<Key>(error(queries + i), key));
      const double value_off =
          static_cast<double>(decoded<Value>(seen.values, at)) - static_cast<double>(value);
      faults += !(std::fabs(value_off) <= stored_tolerance<Value>(0, value));
    }
  }
  BOOST_TEST(faults == 0u);
  std::size_t touched = 0;
  for (std::size_t at = 0; at < seen.keys.size() / Key::block_bytes; ++at) {
    const bool ours = written[at / size(c.stride) % c.cache_rows] && at % size(c.stride) < size(head_dim);
    touched += ours == std::isnan(decoded<Key>(seen.keys, at));
    touched += ours == std::isnan(decoded<Value>(seen.values, at));
  }
  BOOST_TEST(touched == 0u);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(rope)

BOOST_AUTO_TEST_CASE(keys_and_values_are_appended_where_the_view_says_and_queries_rotated_in_place) {
  check<f32, f32>(4, 2, 64, 64);
  check<f16, f16>(9, 3, 64, 64);
  check<f16, bf16>(7, 1, 80, 32);
  check<e4m3, e4m3>(4, 2, 80, 80);
  check<f16, f16>(3, 3, 18, 8);
  check<f32, f32>(2, 1, 128, 128);
  check<f16, bf16>(2, 2, 256, 256);
}

BOOST_AUTO_TEST_SUITE_END()
