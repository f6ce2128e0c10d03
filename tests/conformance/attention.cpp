// Attention over a cache: against the reference within derived bounds, and against itself bit for bit however
// its queries are cut into steps. All rows of the cache that no sequence has written hold NaN.
#include <boost/test/unit_test.hpp>

#include "conformance/sequences.hpp"
#include "support/json.hpp"
#include "tenon/cache/contiguous.hpp"

using namespace tenon;
using namespace tenon::conformance;
using test::json;

namespace {

/// Sequences of given lengths in a scattered cache, with a query for every position of every sequence.
template <class Key, class Value>
struct filled_cache {
  host::head_shape shape;
  std::vector<std::size_t> lengths;
  scattered_rows layout;
  host::kv_store<Key, Value> cache;
  std::vector<std::vector<float>> queries;       // of a sequence: [length, heads, head_dim], scaled
  std::vector<std::vector<float>> keys, values;  // [length, kv_heads, head_dim], as the cache rounds them

  filled_cache(const host::head_shape& heads, std::vector<std::size_t> of_length, std::uint64_t seed,
               std::size_t room = 0)
      : shape(heads),
        lengths(std::move(of_length)),
        layout(lengths.size(), *std::max_element(lengths.begin(), lengths.end()) + room, seed),
        cache(1, heads.kv_heads, layout.rows(), heads.head_dim) {
    fill_with_nan(cache, 1, heads, layout.rows());
    for (std::size_t s = 0; s < lengths.size(); ++s) {
      const double scale = 1.0 / std::sqrt(static_cast<double>(heads.head_dim));
      queries.push_back(reference::uniform_values(lengths[s] * heads.heads * heads.head_dim, -3 * scale,
                                                  3 * scale, seed + 10 * s));
      keys.push_back(
          reference::activation_values(lengths[s] * heads.kv_heads * heads.head_dim, seed + 10 * s + 1));
      values.push_back(reference::activation_values(keys[s].size(), seed + 10 * s + 2));
      write(s);
    }
  }

  /// Rounds a sequence's keys and values and writes them to its rows, padded with zeros.
  void write(std::size_t s) {
    for (std::size_t position = 0; position < lengths[s]; ++position) {
      for (std::size_t head = 0; head < shape.kv_heads; ++head) {
        const std::size_t row = layout.views()[s].row(position),
                          at = (position * shape.kv_heads + head) * shape.head_dim;
        put<Key>(cache.keys(0, head) + row * cache.key_stride(), cache.key_stride(),
                 std::span(&keys[s][at], shape.head_dim));
        put<Value>(cache.values(0, head) + row * cache.value_stride(), cache.value_stride(),
                   std::span(&values[s][at], shape.head_dim));
      }
    }
  }

  /// The results [rows, heads, head_dim] of a step whose span i is of sequence i. Values of qkv that
  /// attention has no business with are NaN.
  template <class Isa, class View = scattered_view, class Heads>
  std::vector<float> attend(const Heads& heads, const std::vector<part>& parts, int threads = 1) {
    const steps step(parts);
    const std::size_t width = heads.heads * heads.head_dim;
    std::vector<float> qkv(step.plan().tokens.size() * heads.width(), std::nanf(""));
    std::vector<float> out(step.plan().tokens.size() * width, std::nanf(""));
    for (const sequence_span& span : step.plan().spans) {
      for (std::size_t i = 0; i < span.count; ++i) {
        std::copy_n(queries[span.slot].data() + (span.first_position + i) * width, width,
                    qkv.data() + (span.first_row + i) * heads.width());
      }
    }
    std::vector<View> views;
    for (const scattered_view& each : layout.views()) views.push_back(View{each});
    runner team(threads, host::attention_scratch(heads));
    team.run([&](host::op_context context) {
      host::attention<Isa>(context, step.plan(), std::span<const View>(views), heads, 0, qkv.data(), cache,
                           out.data());
    });
    return out;
  }
  template <class Isa, class View = scattered_view>
  std::vector<float> attend(const std::vector<part>& parts, int threads = 1) {
    return attend<Isa, View>(shape, parts, threads);
  }

 private:
  template <class Format>
  static void put(std::uint8_t* row, std::size_t bytes, std::span<float> head) {
    const std::vector<std::byte> encoded = reference::encoded_head<Format>(head);
    std::memset(row, 0, bytes);
    std::memcpy(row, encoded.data(), encoded.size());
    const std::vector<float> rounded = reference::decoded<Format>(encoded);
    std::copy_n(rounded.begin(), head.size(), head.begin());
  }
};

/// The same rows, where a position does not see all before it.
template <std::size_t Window, std::size_t Sinks>
struct windowed : scattered_view {
  static constexpr std::size_t window = Window, sinks = Sinks;
};

/// A step against the reference: the bounds of attention_tolerance over what the cache holds. Queries stay
/// fp32.
template <class Isa, class View = scattered_view, class Key, class Value>
std::string fault_of(filled_cache<Key, Value>& filled, const std::vector<part>& parts, int threads) {
  const host::head_shape& heads = filled.shape;
  const reference::attention_shape shape{heads.heads, heads.kv_heads, heads.head_dim, heads.head_dim};
  std::vector<float> expected;
  std::vector<double> tolerance;
  std::size_t window = 0, sinks = 0;
  if constexpr (cache::windowed_view<View>) window = View::window, sinks = View::sinks;
  const std::size_t width = heads.kv_heads * heads.head_dim;
  for (std::size_t s = 0; s < parts.size(); ++s) {
    for (std::size_t i = 0; i < parts[s].count; ++i) {
      const std::size_t position = parts[s].position + i;
      const auto keys = reference::seen_rows(filled.keys[s], width, position, window, sinks);
      const auto values = reference::seen_rows(filled.values[s], width, position, window, sinks);
      for (std::size_t head = 0; head < heads.heads; ++head) {
        const auto query = std::span<const float>(filled.queries[s])
                               .subspan((position * heads.heads + head) * heads.head_dim, heads.head_dim);
        const std::size_t visible = keys.size() / width;
        const auto result = reference::attention_head(query, keys, values, shape, head, visible, 1.0);
        const auto bounds = reference::attention_tolerance(query, keys, values, shape, head, visible, 1.0);
        expected.insert(expected.end(), result.begin(), result.end());
        tolerance.insert(tolerance.end(), bounds.begin(), bounds.end());
      }
    }
  }
  return first_fault(filled.template attend<Isa, View>(parts, threads), expected, tolerance);
}

template <class Isa, class Key, class Value>
void check_shapes() {
  // every head size with some ratio of heads, every ratio with some head size
  const host::head_shape shapes[] = {{3, 1, 8, 8},   {7, 1, 32, 32},   {6, 2, 64, 64}, {2, 2, 80, 80},
                                     {8, 1, 96, 96}, {4, 2, 128, 128}, {1, 1, 7, 6},   {25, 1, 16, 16}};
  for (const host::head_shape& shape : shapes) {
    filled_cache<Key, Value> filled(shape, {70, 1, 33, 64}, shape.head_dim, 3);
    // decodes, chunks of prompts, and both
    for (const std::vector<part>& parts :
         {std::vector<part>{{69, 1}, {0, 1}, {32, 1}, {63, 1}}, std::vector<part>{{0, 70}},
          std::vector<part>{{31, 34}, {0, 1}, {0, 33}, {40, 7}}}) {
      const std::string fault = fault_of<Isa>(filled, parts, 1);
      BOOST_TEST(fault == "", std::string_view(Isa::name) << ", " << shape.heads << '/' << shape.kv_heads
                                                          << " heads of " << shape.head_dim << ": " << fault);
    }
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(attention)

BOOST_AUTO_TEST_CASE_TEMPLATE(ragged_steps_are_within_their_bounds_with_fp32_rows, Isa, instruction_sets) {
  check_shapes<Isa, f32, f32>();
}

BOOST_AUTO_TEST_CASE_TEMPLATE(ragged_steps_are_within_their_bounds_with_fp16_rows, Isa, instruction_sets) {
  check_shapes<Isa, f16, f16>();
}

BOOST_AUTO_TEST_CASE_TEMPLATE(ragged_steps_are_within_their_bounds_with_rows_of_two_formats, Isa,
                              instruction_sets) {
  check_shapes<Isa, bf16, f16>();
}

BOOST_AUTO_TEST_CASE_TEMPLATE(ragged_steps_are_within_their_bounds_with_rows_of_8_bits, Isa,
                              instruction_sets) {
  check_shapes<Isa, e4m3, q8_0>();
  check_shapes<Isa, q8_0, e4m3>();
}

BOOST_AUTO_TEST_CASE_TEMPLATE(windows_and_sinks_are_within_their_bounds_and_hide_what_lies_between, Isa,
                              instruction_sets) {
  const auto check = [&]<class View>(View) {
    filled_cache<f16, f16> filled({9, 3, 64, 64}, {150, 1, 40, 64}, 12, 3);
    const std::vector<part> steps[] = {
        {{149, 1}, {0, 1}, {32, 1}, {63, 1}}, {{0, 150}}, {{90, 60}, {0, 1}, {5, 20}}};
    for (const std::vector<part>& parts : steps) {
      const std::string fault = fault_of<Isa, View>(filled, parts, 1);
      BOOST_TEST(fault == "", std::string_view(Isa::name) << ", window " << View::window << ", sinks "
                                                          << View::sinks << ": " << fault);
    }
    // in a chunk or alone: the same bits, and neither reads what has left the window
    const std::vector<float> whole = filled.template attend<Isa, View>({{130, 20}});
    for (std::size_t position = View::sinks; position < 150 - View::window; ++position)
      for (auto* rows : {&filled.keys[0], &filled.values[0]})
        std::fill_n(rows->begin() + static_cast<std::ptrdiff_t>(position * 3 * 64), 3 * 64, std::nanf(""));
    filled.write(0);
    const std::vector<float> alone = filled.template attend<Isa, View>({{149, 1}});
    BOOST_TEST(first_difference(alone, std::span(whole).last(9 * 64)) == "");
  };
  check(windowed<1, 0>{});
  check(windowed<37, 3>{});
  check(windowed<64, 70>{});
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_query_has_the_same_result_alone_in_any_chunk_and_in_any_batch, Isa,
                              instruction_sets) {
  for (const host::head_shape& shape : {host::head_shape{9, 3, 64, 64}, host::head_shape{7, 1, 80, 80}}) {
    constexpr std::size_t length = 75;
    filled_cache<f16, f16> filled(shape, {length, 40, 9}, 5, 2);
    const std::size_t width = shape.heads * shape.head_dim;
    std::vector<float> alone;
    for (std::size_t position = 0; position < length; ++position) {
      const std::vector<float> result = filled.attend<Isa>({{position, 1}});
      alone.insert(alone.end(), result.begin(), result.end());
    }
    for (const std::size_t chunk : {2u, 3u, 5u, 16u, 31u, 32u, 33u, 64u, 74u, 75u}) {
      for (std::size_t first = 0; first < length; first += chunk) {
        const std::size_t count = (std::min)(chunk, length - first);
        // the other sequences' parts make different tasks for two threads
        const std::vector<float> seen = filled.attend<Isa>({{first, count}, {first % 40, 1}, {0, 9}}, 2);
        const std::string difference = first_difference(
            std::span(seen).first(count * width), std::span(alone).subspan(first * width, count * width));
        BOOST_TEST(difference == "", std::string_view(Isa::name)
                                         << ", chunk of " << chunk << " at " << first << ": " << difference);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(the_layout_of_the_cache_does_not_reach_the_results, Isa, instruction_sets) {
  const host::head_shape shape{6, 2, 32, 32};
  constexpr std::size_t length = 70, context = 80;
  filled_cache<bf16, f32> filled(shape, {length}, 6, context - length);
  const std::vector<float> scattered = filled.attend<Isa>({{0, length}});

  // the same rows, one behind the other, in the middle of a larger cache of NaN
  host::kv_store<bf16, f32> cache(1, shape.kv_heads, 3 * context, shape.head_dim);
  fill_with_nan(cache, 1, shape, 3 * context);
  const cache::contiguous::view view{context, context};
  for (std::size_t head = 0; head < shape.kv_heads; ++head) {
    for (std::size_t position = 0; position < length; ++position) {
      const std::size_t from = filled.layout.views()[0].row(position), to = view.row(position);
      std::memcpy(cache.keys(0, head) + to * cache.key_stride(),
                  filled.cache.keys(0, head) + from * cache.key_stride(), cache.key_stride());
      std::memcpy(cache.values(0, head) + to * cache.value_stride(),
                  filled.cache.values(0, head) + from * cache.value_stride(), cache.value_stride());
    }
  }
  const steps step({{0, length}});
  std::vector<float> qkv(length * shape.width(), std::nanf("")), seen(scattered.size());
  const std::size_t width = shape.heads * shape.head_dim;
  for (std::size_t token = 0; token < length; ++token)
    std::copy_n(filled.queries[0].data() + token * width, width, qkv.data() + token * shape.width());
  runner one(1, host::attention_scratch(shape));
  one.run([&](host::op_context context_of_op) {
    host::attention<Isa>(context_of_op, step.plan(), std::span(&view, 1), shape, 0, qkv.data(), cache,
                         seen.data());
  });
  BOOST_TEST(first_difference(seen, scattered) == "");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_shape_known_at_build_time_gives_the_same_bits, Isa, instruction_sets) {
  filled_cache<f16, f16> filled({9, 3, 64, 64}, {45, 20}, 7);
  const std::vector<part> parts = {{0, 45}, {19, 1}};
  BOOST_TEST(first_difference(filled.attend<Isa>(host::fixed_head_shape<9, 3, 64, 64>{}, parts),
                              filled.attend<Isa>(parts)) == "");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(what_lies_behind_a_sequence_or_ahead_of_a_query_never_leaks, Isa,
                              instruction_sets) {
  // Rows behind the end are NaN in every test here. Rows of the same step ahead of a query may hold NaN too.
  const host::head_shape shape{4, 2, 32, 32};
  filled_cache<f16, f16> good(shape, {50}, 8), bad(shape, {50}, 8);
  const std::size_t broken = 37, row = shape.kv_heads * shape.head_dim, width = shape.heads * shape.head_dim;
  std::fill_n(bad.keys[0].begin() + static_cast<std::ptrdiff_t>(broken * row), row, std::nanf(""));
  std::fill_n(bad.values[0].begin() + static_cast<std::ptrdiff_t>(broken * row), row, std::nanf(""));
  bad.write(0);
  const std::vector<float> seen = bad.attend<Isa>({{0, 50}}), expected = good.attend<Isa>({{0, 50}});
  BOOST_TEST(first_difference(std::span(seen).first(broken * width),
                              std::span(expected).first(broken * width)) == "");
  BOOST_TEST(std::all_of(seen.begin() + static_cast<std::ptrdiff_t>(broken * width), seen.end(),
                         [](float value) { return std::isnan(value); }));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(attention_gives_the_listed_answers, Isa, instruction_sets) {
  for (const json& c : test::load_cases("vectors/attention.json")) {
    const std::vector<int> mask = test::numbers<int>(c["mask"]);
    const auto visible = static_cast<std::size_t>(std::accumulate(mask.begin(), mask.end(), 0));
    if (visible == 0) continue;  // a causal step always sees its own position
    BOOST_TEST_CONTEXT(c["name"]) {
      const std::vector<float> q = test::numbers(c["q"]), k = test::rows(c["k"]), v = test::rows(c["v"]);
      const std::size_t positions = mask.size(), head_dim = q.size(), listed = v.size() / positions;
      filled_cache<f32, f32> filled({1, 1, head_dim, 0}, {positions}, 9);
      filled.keys[0] = k;
      std::fill(filled.values[0].begin(), filled.values[0].end(), 0.0f);
      for (std::size_t i = 0; i < v.size(); ++i) filled.values[0][i / listed * head_dim + i % listed] = v[i];
      filled.write(0);
      for (std::size_t i = 0; i < head_dim; ++i)
        filled.queries[0][(visible - 1) * head_dim + i] = q[i] * c["scale"].get<float>();
      const std::vector<float> seen = filled.attend<Isa>({{visible - 1, 1}});
      const std::vector<double> expected = test::numbers<double>(c["out"]);
      for (std::size_t i = 0; i < expected.size(); ++i) {
        // a listed answer far below the largest one is held to the tolerance of that one
        const double bound = c["tol_rel"].get<double>() * (std::max)(std::fabs(expected[i]), 1.0);
        BOOST_TEST(std::fabs(static_cast<double>(seen[i]) - expected[i]) <= bound, seen[i]);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(scores_far_over_the_range_of_fp16_stay_finite, Isa, instruction_sets) {
  // products near 300000 in 64 lanes: sums are fp32 whatever the rows' format
  filled_cache<f16, f16> filled({1, 1, 64, 64}, {40}, 10);
  filled.keys[0] = reference::uniform_values(filled.keys[0].size(), 69, 71, 11);
  filled.queries[0] = reference::uniform_values(filled.queries[0].size(), 69, 71, 12);
  filled.write(0);
  BOOST_TEST(fault_of<Isa>(filled, {{0, 40}}, 1) == "");
}

BOOST_AUTO_TEST_SUITE_END()
