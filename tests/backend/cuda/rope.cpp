// Rotary embedding of queries and keys, and the rows that keys and values are appended to.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "backend/cuda/cache_rows.hpp"
#include "backend/cuda/ops.hpp"
#include "reference/inputs.hpp"
#include "reference/ops.hpp"
#include "reference/tolerance.hpp"
#include "tenon/format/all.hpp"

using namespace tenon;

namespace {

/// What the stored values of a head may differ by from numbers that are themselves off by `errors`: half a step, and half the
/// smallest step of a subnormal. In q8_0 a step is the scale of the block.
template <class Format>
std::vector<double> stored_tolerances(std::span<const float> head, std::span<const double> errors) {
  std::vector<double> tolerances(errors.begin(), errors.end());
  if (std::is_same_v<Format, f32>) return tolerances;
  const auto size_of = [&](std::size_t i) { return std::fabs(static_cast<double>(head[i])) + errors[i]; };
  const double unit = std::is_same_v<Format, f16>    ? reference::unit_f16
                      : std::is_same_v<Format, bf16> ? reference::unit_bf16
                                                     : reference::unit_e4m3;
  const double subnormal = std::is_same_v<Format, e4m3> ? 0x1p-10 : 0x1p-25;
  for (std::size_t i = 0; i < head.size(); ++i) {
    if (std::is_same_v<Format, q8_0>) {
      double largest = 0;
      for (std::size_t j = i / 32 * 32; j < std::min(head.size(), i / 32 * 32 + 32); ++j)
        largest = std::max(largest, size_of(j));
      const double scale = largest / 127 * (1 + reference::unit_f16) + subnormal;
      tolerances[i] += scale * reference::int8_step;
    } else {
      tolerances[i] += unit * size_of(i) + subnormal;
    }
  }
  return tolerances;
}

/// Faults in the row that a head became: a value too far off, or a byte of padding that is written.
template <class Format>
std::size_t faults_of_row(const std::byte* row, std::span<const float> head, std::span<const double> errors) {
  using layout = cuda::cache_row<Format>;
  const int head_dim = static_cast<int>(head.size());
  const std::vector<float> seen = test::read_row<Format>(row, head.size());
  const std::vector<double> tolerances = stored_tolerances<Format>(head, errors);
  std::size_t faults = 0;
  for (std::size_t i = 0; i < head.size(); ++i)
    faults += !(std::fabs(static_cast<double>(seen[i]) - static_cast<double>(head[i])) <= tolerances[i]);
  const auto written = [&](int from, int to) {
    return std::count_if(row + from, row + to, [](std::byte b) { return b != std::byte{0xff}; });
  };
  const auto padding =
      written(head_dim * layout::value_bytes, layout::scales_at(head_dim)) +
      written(layout::scales_at(head_dim) + layout::scale_bytes(head_dim), layout::bytes(head_dim));
  return faults + static_cast<std::size_t>(padding);
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
                    .base = 10000.0};
  const auto size = [](int n) { return static_cast<std::size_t>(n); };
  const std::size_t tokens = c.positions.size(), width = size((heads + 2 * kv_heads) * head_dim);
  const std::size_t queries = size(heads * head_dim), keys = size(kv_heads * head_dim);
  const std::size_t key_bytes = test::cuda_row_bytes<Key>(head_dim),
                    value_bytes = test::cuda_row_bytes<Value>(head_dim);
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
    std::vector<double> errors(keys);
    for (std::size_t i = 0; i < keys; ++i) errors[i] = error(queries + i);
    const std::vector<double> exact(size(head_dim), 0.0);
    for (std::size_t head = 0; head < size(kv_heads); ++head) {
      const std::size_t at = head * c.cache_rows + to, first = head * size(head_dim);
      faults += faults_of_row<Key>(seen.keys.data() + at * key_bytes,
                                   std::span(row).subspan(queries + first, size(head_dim)),
                                   std::span(errors).subspan(first, size(head_dim)));
      faults += faults_of_row<Value>(seen.values.data() + at * value_bytes,
                                     std::span(row).subspan(queries + keys + first, size(head_dim)), exact);
    }
  }
  BOOST_TEST(faults == 0u);
  std::size_t touched = 0;
  for (std::size_t at = 0; at < size(kv_heads) * c.cache_rows; ++at) {
    if (written[at % c.cache_rows]) continue;
    for (std::size_t i = 0; i < key_bytes; ++i) touched += seen.keys[at * key_bytes + i] != std::byte{0xff};
    for (std::size_t i = 0; i < value_bytes; ++i)
      touched += seen.values[at * value_bytes + i] != std::byte{0xff};
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
  check<q8_0, q8_0>(9, 3, 64, 64);
  check<q8_0, q8_0>(3, 1, 72, 24);
  check<q8_0, q8_0>(1, 1, 18, 8);
  check<f16, q8_0>(2, 2, 40, 40);
  check<f16, f16>(3, 3, 18, 8);
  check<f32, f32>(2, 1, 128, 128);
  check<f16, bf16>(2, 2, 256, 256);
}

BOOST_AUTO_TEST_CASE(rows_begin_at_whole_16_bytes) {
  static_assert(cuda::cache_row<f32>::bytes(8) == 64 && cuda::cache_row<f16>::bytes(64) == 128);
  static_assert(cuda::cache_row<e4m3>::bytes(72) == 80 && cuda::cache_row<e4m3>::bytes(128) == 128);
  static_assert(cuda::cache_row<q8_0>::bytes(64) == 64 + 16 && cuda::cache_row<q8_0>::bytes(72) == 80 + 16);
  static_assert(cuda::cache_row<q8_0>::bytes(256) == 256 + 16 &&
                cuda::cache_row<q8_0>::bytes(257) == 272 + 32);
}

/// Blocks of ordinary values, of zeros, of values below and above what the scale can be, and of what is no number.
BOOST_AUTO_TEST_CASE(a_block_of_q8_0_is_the_host_s_to_the_bit) {
  constexpr std::size_t head_dim = 72, blocks = 3;
  constexpr float infinity = std::numeric_limits<float>::infinity(),
                  nan = std::numeric_limits<float>::quiet_NaN();
  const test::rope_case c{.positions = {2, 5},
                          .span_of = {0, 1},
                          .views = {{0, 8}, {8, 8}},
                          .cache_rows = 16,
                          .heads = 4,
                          .kv_heads = 4,
                          .head_dim = head_dim,
                          .rotated = 0,
                          .base = 10000.0};
  std::vector<float> x = reference::uniform_values(2 * 12 * head_dim, -3, 3, 7);
  const auto value = [&](std::size_t token, std::size_t head, std::size_t i) -> float& {
    return x[(token * 12 + 8 + head) * head_dim + i];
  };
  value(0, 1, 40) = nan, value(0, 2, 0) = -nan, value(0, 3, 71) = infinity;
  value(1, 0, 31) = 1e7f, value(1, 0, 32) = 127 * 65504.0f, value(1, 0, 71) = -8e6f;
  for (std::size_t i = 0; i < 32; ++i) {
    value(1, 1, i) = -0.0f;
    value(1, 1, 32 + i) *= 1e-7f;  // a scale that is a subnormal
    value(1, 2, i) *= 1e-9f;       // too small for one
    value(1, 3, i) = std::numeric_limits<float>::denorm_min();
  }
  const test::rope_result seen = test::cuda_rope_append<q8_0, q8_0>(c, x);
  for (std::size_t token = 0; token < 2; ++token) {
    const auto at = c.views[token].row(static_cast<std::size_t>(c.positions[token]));
    for (std::size_t head = 0; head < 4; ++head) {
      const std::byte* row =
          seen.values.data() + (head * c.cache_rows + at) * test::cuda_row_bytes<q8_0>(head_dim);
      for (std::size_t block = 0; block < blocks; ++block) {
        const std::size_t first = 32 * block, count = std::min<std::size_t>(32, head_dim - first);
        float values[32] = {};
        for (std::size_t i = 0; i < count; ++i) values[i] = value(token, head, first + i);
        std::byte expected[34];
        q8_0::encode(values, expected);
        std::uint16_t scale, host_scale;
        std::memcpy(&scale, row + cuda::cache_row<q8_0>::scales_at(head_dim) + 2 * block, 2);
        std::memcpy(&host_scale, expected, 2);
        const bool is_same = scale == host_scale ||
                             (std::isnan(half_to_float(scale)) && std::isnan(half_to_float(host_scale)));
        BOOST_TEST(is_same, "token " << token << " head " << head << " block " << block << ": scale " << scale
                                     << " for " << host_scale);
        BOOST_TEST(std::memcmp(row + first, expected + 2, count) == 0,
                   "token " << token << " head " << head << " block " << block);
      }
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
