// Attention over a cache: against the reference within derived bounds, and against itself bit for bit however its queries
// are cut into steps. Rows of the cache are scattered, and all that no sequence has written hold NaN.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <type_traits>

#include "backend/cuda/attention_ops.hpp"
#include "backend/cuda/cache_rows.hpp"
#include "backend/cuda/forms.hpp"
#include "reference/inputs.hpp"
#include "reference/soft_cap.hpp"
#include "tenon/backend/cuda/kernel/attention_tuning.hpp"
#include "tenon/core/error.hpp"
#include "tenon/format/all.hpp"

// Plain attention, as attention_parameters.cuh has it.
namespace tenon::cuda {
struct full_attention;
}

using namespace tenon;

namespace {

struct plain {
  using policy = cuda::full_attention;
  static constexpr double soft_cap = 0;
  static constexpr std::size_t window = 0, sinks = 0;
};
template <class Policy>
struct with {
  using policy = Policy;
  static constexpr double soft_cap = static_cast<double>(Policy::soft_cap);
  static constexpr std::size_t window = Policy::window, sinks = Policy::sinks;
};

/// The unit roundoff of the queries and weights that meet keys and values of this format.
template <class Format>
constexpr double input_unit() {
  return std::is_same_v<Format, f32>    ? 0
         : std::is_same_v<Format, bf16> ? reference::unit_bf16
                                        : reference::unit_f16;
}

/// The same for a product of a weight and a value, which in q8_0 is rounded to f16 too: (1 + u)^2. A scale is a half and a
/// quant an integer, so that what becomes a subnormal is exact. (A key's scale multiplies an fp32 sum, with one rounding
/// more, which dot_tolerance has room for: a lane's product goes through no more sums than a block and the blocks are.)
template <class Format>
constexpr double weighted_unit() {
  constexpr double unit = input_unit<Format>();
  return std::is_same_v<Format, q8_0> ? unit * (2 + unit) : unit;
}

/// Some tokens of a sequence in a step.
struct part {
  std::size_t sequence, position, count;
};

/// Sequences of given lengths in a scattered cache, with a query for every position of every sequence.
template <int HeadSize, class Key, class Value, class Options = plain>
struct filled_cache {
  reference::attention_shape shape;
  std::vector<std::size_t> lengths;
  std::size_t room;                               // rows of a sequence
  std::vector<std::byte> key_bytes, value_bytes;  // [kv_heads, rows] of cuda::cache_row each
  std::vector<std::vector<float>> queries, keys,
      values;  // of a sequence: [length, heads or kv_heads, head_dim]

  filled_cache(std::size_t heads, std::size_t kv_heads, std::size_t head_dim,
               std::vector<std::size_t> of_lengths)
      : shape{heads, kv_heads, head_dim, head_dim}, lengths(std::move(of_lengths)) {
    room = *std::max_element(lengths.begin(), lengths.end()) + 2;
    room += room % 7 == 0;
    key_bytes.assign(kv_heads * rows() * row_bytes<Key>(), std::byte{0xff});
    value_bytes.assign(kv_heads * rows() * row_bytes<Value>(), std::byte{0xff});
    for (std::size_t s = 0; s < lengths.size(); ++s) {
      const double reach = 3 / std::sqrt(static_cast<double>(head_dim));
      queries.push_back(reference::uniform_values(lengths[s] * heads * head_dim, -reach, reach, 10 * s));
      for (float& q : queries[s]) q = std::fabs(q) < 0x1p-14f ? 0.0f : q;  // no subnormals of f16
      keys.push_back(reference::activation_values(lengths[s] * kv_heads * head_dim, 10 * s + 1));
      values.push_back(reference::activation_values(lengths[s] * kv_heads * head_dim, 10 * s + 2));
      write<Key>(s, keys[s], key_bytes);
      write<Value>(s, values[s], value_bytes);
    }
  }

  std::size_t rows() const { return lengths.size() * room; }
  template <class Format>
  std::size_t row_bytes() const {
    return test::cuda_row_bytes<Format>(static_cast<int>(shape.key_size));
  }
  test::scattered_view view(std::size_t sequence) const { return {sequence * room, room}; }

  test::attention_case step(const std::vector<part>& parts) const {
    const auto number = [](std::size_t n) { return static_cast<int>(n); };
    test::attention_case c{
        number(shape.heads), number(shape.kv_heads), number(shape.key_size), rows(), {}, {}, 0};
    for (const part& each : parts) {
      c.views.push_back(view(each.sequence));
      c.spans.push_back({each.sequence, c.tokens, each.position, each.count});
      c.tokens += each.count;
    }
    return c;
  }
  /// Queries of a step; what attention has no business with is NaN.
  std::vector<float> inputs(const std::vector<part>& parts) const {
    std::vector<float> all;
    const std::size_t width = shape.heads * shape.key_size;
    for (const part& each : parts) {
      for (std::size_t i = 0; i < each.count; ++i) {
        const auto from =
            queries[each.sequence].begin() + static_cast<std::ptrdiff_t>((each.position + i) * width);
        all.insert(all.end(), from, from + static_cast<std::ptrdiff_t>(width));
        all.insert(all.end(), 2 * shape.kv_heads * shape.key_size, std::nanf(""));
      }
    }
    return all;
  }
  test::cuda_activations attend(const test::attention_case& c, const std::vector<part>& parts) const {
    return test::cuda_attention<HeadSize, Key, Value, typename Options::policy>(c, inputs(parts), key_bytes,
                                                                                value_bytes);
  }
  /// The results [tokens, heads, head_dim].
  std::vector<float> attend(const std::vector<part>& parts, int splits = 5) const {
    test::attention_case c = step(parts);
    c.splits = splits;
    return narrow(attend(c, parts), c.tokens);
  }
  std::vector<float> narrow(const test::cuda_activations& wide, std::size_t tokens) const {
    std::vector<float> out;
    const std::size_t width = shape.heads * shape.key_size;
    for (std::size_t token = 0; token < tokens; ++token) {
      const auto from = wide.values.begin() + static_cast<std::ptrdiff_t>(token * wide.stride);
      out.insert(out.end(), from, from + static_cast<std::ptrdiff_t>(width));
    }
    return out;
  }

  /// Makes a position NaN in the cache.
  void break_row(std::size_t sequence, std::size_t position) {
    for (std::size_t head = 0; head < shape.kv_heads; ++head) {
      const std::size_t at = head * rows() + view(sequence).row(position);
      std::memset(key_bytes.data() + at * row_bytes<Key>(), 0xff, row_bytes<Key>());
      std::memset(value_bytes.data() + at * row_bytes<Value>(), 0xff, row_bytes<Value>());
    }
  }

  /// A step against the reference; "" or the first fault.
  std::string fault_of(const std::vector<part>& parts) const {
    const test::attention_case c = step(parts);
    const test::cuda_activations made = attend(c, parts);
    const std::string form = test::fault_of_forms(made, c.tokens, shape.heads * shape.key_size);
    if (!form.empty()) return form;
    const std::vector<float> seen = narrow(made, c.tokens);
    std::size_t at = 0;
    for (const part& each : parts) {
      for (std::size_t i = 0; i < each.count; ++i) {
        for (std::size_t head = 0; head < shape.heads; ++head, at += shape.value_size) {
          const std::string fault = fault_of_head(each.sequence, each.position + i, head, seen.data() + at);
          if (!fault.empty()) return fault;
        }
      }
    }
    return "";
  }

 private:
  template <class Format>
  void write(std::size_t s, std::vector<float>& from, std::vector<std::byte>& to) {
    const std::size_t head_dim = shape.key_size, kv_heads = shape.kv_heads;
    for (std::size_t i = 0; i < from.size() / head_dim; ++i) {
      const std::span<float> values_of_head = std::span(from).subspan(i * head_dim, head_dim);
      std::byte* row = to.data() + (i % kv_heads * rows() + view(s).row(i / kv_heads)) * row_bytes<Format>();
      test::write_row<Format>(values_of_head, row);
      std::ranges::copy(test::read_row<Format>(row, head_dim), values_of_head.begin());
    }
  }

  std::string fault_of_head(std::size_t s, std::size_t position, std::size_t head, const float* seen) const {
    const std::size_t head_dim = shape.key_size;
    const auto query =
        std::span<const float>(queries[s]).subspan((position * shape.heads + head) * head_dim, head_dim);
    const std::size_t width = shape.kv_heads * head_dim;
    const std::vector<float> k =
        reference::seen_rows(keys[s], width, position, Options::window, Options::sinks);
    const std::vector<float> v =
        reference::seen_rows(values[s], width, position, Options::window, Options::sinks);
    const std::size_t visible = k.size() / width;
    std::vector<float> expected;
    std::vector<double> tolerance;
    if (Options::soft_cap > 0) {
      reference::capped_attention_head capped(query, k, v, shape, head, visible, Options::soft_cap,
                                              input_unit<Key>(), weighted_unit<Value>());
      expected = capped.result, tolerance = capped.tolerance;
    } else {
      expected = reference::attention_head(query, k, v, shape, head, visible, 1.0);
      tolerance = reference::attention_tolerance(query, k, v, shape, head, visible, 1.0, input_unit<Key>(),
                                                 weighted_unit<Value>());
    }
    for (std::size_t lane = 0; lane < head_dim; ++lane) {
      // A weight is rounded relative to the largest of its chunk, which is 1. Below 2^-14 that is a subnormal of f16, off
      // by up to 2^-25 of the largest, however small it is itself.
      double subnormal = 0;
      if (input_unit<Value>() == reference::unit_f16) {
        for (std::size_t i = 0; i < visible; ++i)
          subnormal +=
              0x1p-25 * (1 + weighted_unit<Value>()) *
              std::fabs(static_cast<double>(
                  v[(i * shape.kv_heads + head / (shape.heads / shape.kv_heads)) * head_dim + lane]));
      }
      const double off = std::fabs(static_cast<double>(seen[lane]) - static_cast<double>(expected[lane]));
      if (!(off <= tolerance[lane] + subnormal))
        return "position " + std::to_string(position) + " head " + std::to_string(head) + " lane " +
               std::to_string(lane) + ": " + std::to_string(seen[lane]) + " for " +
               std::to_string(expected[lane]) + ", bound " + std::to_string(tolerance[lane] + subnormal);
    }
    return "";
  }
};

/// Decodes, chunks of prompts, and both.
template <int HeadSize, class Key, class Value, class Options = plain>
void check(std::size_t heads, std::size_t kv_heads, std::size_t head_dim) {
  const filled_cache<HeadSize, Key, Value, Options> filled(heads, kv_heads, head_dim, {150, 40});
  for (const std::vector<part>& parts :
       {std::vector<part>{{0, 149, 1}, {1, 0, 1}, {0, 127, 1}, {1, 39, 1}}, std::vector<part>{{1, 0, 40}},
        std::vector<part>{{0, 120, 23}, {1, 12, 1}, {1, 37, 2}}}) {
    const std::string fault = filled.fault_of(parts);
    BOOST_TEST(fault == "", heads << '/' << kv_heads << " heads of " << head_dim << ", " << Key::name.view()
                                  << ' ' << Value::name.view() << ": " << fault);
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(attention)

BOOST_AUTO_TEST_CASE(every_head_size_and_ratio_of_heads_is_within_its_bounds) {
  check<64, f16, f16>(9, 3, 64);
  check<64, f16, f16>(7, 1, 8);
  check<80, f16, f16>(2, 2, 80);
  check<96, f16, f16>(16, 2, 88);
  check<128, f16, f16>(8, 2, 128);
  check<256, f16, f16>(9, 1, 256);
  check<64, f16, f16>(25, 1, 40);
}

BOOST_AUTO_TEST_CASE(the_borders_of_chunks_are_within_their_bounds) {
  constexpr std::size_t chunk = cuda::attention_chunk(64);
  const filled_cache<64, f16, f16> filled(4, 2, 64, {2 * chunk + 2});
  std::vector<part> decodes;
  for (const std::size_t position : {chunk - 2, chunk - 1, chunk, chunk + 1, 2 * chunk - 1, 2 * chunk})
    decodes.push_back({0, position, 1});
  BOOST_TEST(filled.fault_of(decodes) == "");
  BOOST_TEST(filled.fault_of({{0, chunk - 20, 19}, {0, chunk - 20, 20}, {0, chunk - 20, 21}}) == "");
  BOOST_TEST(filled.fault_of({{0, 2 * chunk - 9, 11}}) == "");
}

BOOST_AUTO_TEST_CASE(every_cache_format_is_within_its_bounds) {
  check<64, bf16, f16>(3, 1, 64);
  check<128, bf16, bf16>(4, 2, 128);
  check<80, e4m3, e4m3>(6, 2, 80);
  check<80, e4m3, e4m3>(3, 1, 72);
  check<128, e4m3, f16>(8, 1, 128);
  check<64, q8_0, q8_0>(9, 3, 64);
  check<64, q8_0, q8_0>(7, 1, 8);
  check<80, q8_0, q8_0>(6, 2, 80);
  check<80, q8_0, q8_0>(3, 1, 72);
  check<96, f16, q8_0>(4, 2, 96);
  check<128, q8_0, q8_0>(8, 2, 128);
  check<256, f32, f32>(4, 2, 200);
  check<64, f32, f32>(9, 3, 64);
}

BOOST_AUTO_TEST_CASE(soft_caps_and_windows_are_within_their_bounds) {
  check<64, f16, f16, with<test::capped_attention>>(6, 2, 64);
  check<64, f16, f16, with<test::windowed_attention>>(6, 2, 64);
  check<64, f16, f16, with<test::capped_window_attention>>(4, 1, 48);
  check<64, f32, f32, with<test::capped_window_attention>>(4, 1, 48);
  check<64, f16, f16, with<test::windowed_cache>>(6, 2, 64);
}

BOOST_AUTO_TEST_CASE(what_lies_between_the_sinks_and_the_window_is_not_seen) {
  const auto check_gap = []<class Format>(Format) {
    filled_cache<64, Format, Format, with<test::capped_window_attention>> filled(2, 1, 64, {430});
    // positions that none of these sees: 10 to 319 lie behind the window of 420
    for (std::size_t position = 10; position < 320; ++position) filled.break_row(0, position);
    for (const std::vector<part>& parts :
         {std::vector<part>{{0, 429, 1}, {0, 420, 2}}, std::vector<part>{{0, 420, 10}}})
      BOOST_TEST(filled.fault_of(parts) == "");
  };
  check_gap(f16{});
  check_gap(f32{});
}

namespace {

/// Every position's result in one chunk of a prompt; in decodes, with chunks shared by few and many blocks; in chunks of
/// many sizes; and beside other sequences.
template <int HeadSize, class Key, class Value, class Options = plain>
void check_bits(std::size_t heads, std::size_t kv_heads, std::size_t head_dim) {
  constexpr std::size_t length = 263;
  const filled_cache<HeadSize, Key, Value, Options> filled(heads, kv_heads, head_dim, {length, 40, 9});
  const std::size_t width = heads * head_dim;
  const std::vector<float> whole = filled.attend({{0, 0, length}});
  const auto same = [&](std::span<const float> seen, std::size_t position, std::size_t count) {
    return std::memcmp(seen.data(), whole.data() + position * width, count * width * sizeof(float)) == 0;
  };
  std::vector<part> decodes;
  for (const std::size_t position : {0u, 1u, 62u, 63u, 64u, 126u, 127u, 128u, 129u, 255u, 256u, 262u})
    decodes.push_back({0, position, 1});
  for (const int splits : {1, 2, 40}) {
    const std::vector<float> seen = filled.attend(decodes, splits);
    for (std::size_t i = 0; i < decodes.size(); ++i)
      BOOST_TEST(same(std::span(seen).subspan(i * width), decodes[i].position, 1),
                 "decode of " << decodes[i].position << " over " << splits << " blocks");
  }
  for (const std::size_t chunk : {2u, 17u, 64u, 129u}) {
    std::vector<part> parts;
    for (std::size_t first = chunk == 2 ? 200 : 0; first < length; first += chunk)
      parts.push_back({0, first, std::min(chunk, length - first)});
    parts.insert(parts.begin(), {1, 0, 40});
    parts.push_back({2, 8, 1});
    const std::vector<float> seen = filled.attend(parts);
    BOOST_TEST(same(std::span(seen).subspan(40 * width), parts[1].position, length - parts[1].position),
               "chunks of " << chunk);
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_token_has_the_same_bits_in_a_decode_in_any_chunk_and_in_any_company) {
  check_bits<64, f16, f16>(9, 3, 64);
  check_bits<80, e4m3, e4m3>(7, 1, 80);
  check_bits<80, q8_0, q8_0>(7, 1, 72);
  check_bits<128, bf16, bf16>(4, 1, 104);
  check_bits<256, f16, f16>(2, 1, 256);
  check_bits<64, f16, f16>(17, 1, 24);
  check_bits<64, f32, f32>(2, 1, 64);
  check_bits<64, f16, f16, with<test::capped_window_attention>>(4, 2, 64);
  check_bits<64, f16, f16, with<test::windowed_attention>>(4, 2, 64);
}

BOOST_AUTO_TEST_CASE(a_span_that_sees_nothing_gives_zeros_and_one_without_tokens_nothing) {
  const auto check_empty = []<class Format>(Format) {
    const filled_cache<64, Format, Format> filled(9, 3, 64, {150});
    const std::vector<part> parts = {{0, 149, 1}, {0, 0, 1}, {0, 3, 1}};
    test::attention_case c = filled.step(parts);
    c.spans[1].first_position = static_cast<std::size_t>(-1);
    c.spans[2].count = 0;
    const test::cuda_activations wide = filled.attend(c, parts);
    const std::vector<float> seen = filled.narrow(wide, 3), alone = filled.attend({{0, 149, 1}});
    BOOST_TEST(std::equal(alone.begin(), alone.end(), seen.begin()));
    BOOST_TEST(std::count(seen.begin() + 9 * 64, seen.end(), 0.0f) == 2 * 9 * 64);
  };
  check_empty(f16{});
  check_empty(f32{});
}

BOOST_AUTO_TEST_CASE(nan_in_the_cache_does_not_pass_for_nothing) {
  const auto check_nan = []<class Format>(Format) {
    filled_cache<64, Format, Format> filled(2, 2, 64, {140});
    const auto whole = filled;
    // all of the first head's rows: every key is NaN, then every value
    for (auto* rows : {&filled.key_bytes, &filled.value_bytes}) {
      std::fill_n(rows->begin(), rows->size() / 2, std::byte{0xff});
      for (const std::vector<part>& parts :
           {std::vector<part>{{0, 139, 1}}, std::vector<part>{{0, 100, 40}}}) {
        const std::vector<float> seen = filled.attend(parts);
        for (std::size_t at = 0; at < seen.size(); ++at) {
          if (std::isnan(seen[at]) != (at / 64 % 2 == 0))
            BOOST_TEST_REQUIRE(at == seen.size(), "lane " << at);
        }
      }
      filled = whole;
    }
    BOOST_TEST(filled.fault_of({{0, 139, 1}}) == "");
  };
  check_nan(f16{});
  check_nan(q8_0{});
}

BOOST_AUTO_TEST_CASE(scores_far_over_the_range_of_fp16_stay_finite) {
  filled_cache<64, f16, f16> filled(1, 1, 64, {140});
  for (float& q : filled.queries[0]) q = q < 0 ? -900.0f : 900.0f;
  for (const float x : filled.attend({{0, 139, 1}, {0, 0, 139}})) BOOST_TEST_REQUIRE(std::isfinite(x));
}

BOOST_AUTO_TEST_CASE(the_memory_that_blocks_meet_in_serves_again) {
  const filled_cache<64, f16, f16> filled(9, 3, 64, {200, 50});
  const std::vector<part> parts = {{0, 199, 1}, {1, 10, 40}, {0, 150, 1}};
  test::attention_case c = filled.step(parts);
  c.times = 3;
  BOOST_TEST((filled.narrow(filled.attend(c, parts), c.tokens) == filled.attend(parts)));
}

BOOST_AUTO_TEST_CASE(one_captured_launch_serves_all_contexts) {
  const filled_cache<64, f16, f16> filled(9, 3, 64, {300, 50});
  const std::vector<part> parts = {{0, 299, 1}, {1, 49, 1}}, shorter = {{0, 3, 1}, {1, 0, 1}};
  const test::attention_case c = filled.step(parts), before = filled.step(shorter);
  const test::cuda_activations seen = test::cuda_attention_graph<64, f16, f16, cuda::full_attention>(
      c, before.spans, filled.inputs(parts), filled.key_bytes, filled.value_bytes);
  BOOST_TEST((filled.narrow(seen, c.tokens) == filled.attend(parts)));
}

BOOST_AUTO_TEST_CASE(heads_that_no_kernel_takes_are_refused) {
  static_assert(cuda::attention_head_size(64) == 64 && cuda::attention_head_size(72) == 80 &&
                cuda::attention_head_size(136) == 256 && cuda::attention_head_size(8) == 64);
  static_assert(cuda::attention_head_size(264) == 0 && cuda::attention_head_size(12) == 0 &&
                cuda::attention_head_size(0) == 0);
  static_assert(cuda::attention_takes(64, 1, 128) && !cuda::attention_takes(65, 1, 128) &&
                !cuda::attention_takes(9, 2, 64));
  const filled_cache<80, e4m3, e4m3> filled(2, 2, 72, {8});
  const std::vector<part> parts = {{0, 7, 1}};
  const auto refuses = [&](auto change) {
    test::attention_case c = filled.step(parts);
    change(c);
    BOOST_CHECK_THROW(filled.attend(c, parts), tenon::error);
  };
  refuses([](test::attention_case& c) { c.head_dim = 64; });  // of another instantiation
  refuses([](test::attention_case& c) { c.heads = 3; });      // on two key-value heads
}

BOOST_AUTO_TEST_SUITE_END()
