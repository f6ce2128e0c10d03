// What the steps of a model have to compute and to move, counted from their plans: the numerators of model FLOPs and
// bandwidth utilisation (MFU, MBU), and what a roofline is drawn with.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tenon/format/format.hpp"
#include "tenon/model/shape.hpp"
#include "tenon/policy/cache.hpp"
#include "tenon/schedule/step_plan.hpp"

namespace tenon::model {

/// Sums over steps. Differences of two are what was done in between.
struct step_counts {
  std::uint64_t steps = 0;
  std::uint64_t sampling_steps = 0;  // those with a sampled row
  std::uint64_t tokens = 0;          // rows of all steps
  std::uint64_t sampled = 0;         // rows whose logits were wanted
  std::uint64_t decodes = 0;         // spans of a single token
  std::uint64_t attended = 0;        // pairs of a row and a position that it sees
  std::uint64_t read = 0;            // positions that spans see: a span reads each once, for all of its rows

  /// Counts a step whose cache is looked at through `View`.
  template <cache::layout_view View>
  constexpr void add(const step_plan& plan) {
    ++steps;
    sampling_steps += plan.sampled_rows.empty() ? 0u : 1u;
    tokens += plan.tokens.size();
    sampled += plan.sampled_rows.size();
    for (const sequence_span& span : plan.spans) add_span<View>(span.first_position, span.count);
  }

  /// Counts a span of a step alone: `count` tokens from `first` on.
  template <cache::layout_view View>
  constexpr void add_span(std::size_t first, std::size_t count) {
    decodes += count == 1 ? 1u : 0u;
    const auto seen_by = [](std::size_t position) {
      const auto seen = cache::seen::of<View>(position);
      return seen.sinks + position + 1 - seen.first;
    };
    if constexpr (cache::windowed_view<View>) {
      for (std::size_t i = 0; i < count; ++i) attended += seen_by(first + i);
      const auto before = cache::seen::of<View>(first);
      const std::size_t end = first + count;
      read += (end <= View::window ? 0 : before.sinks) + end - before.first;
    } else {
      attended += count * first + count * (count + 1) / 2;
      read += seen_by(first + count - 1);
    }
  }

  friend constexpr step_counts operator-(const step_counts& later, const step_counts& earlier) {
    return {later.steps - earlier.steps,     later.sampling_steps - earlier.sampling_steps,
            later.tokens - earlier.tokens,   later.sampled - earlier.sampled,
            later.decodes - earlier.decodes, later.attended - earlier.attended,
            later.read - earlier.read};
  }
  friend constexpr bool operator==(const step_counts&, const step_counts&) = default;
};

/// Bytes that the parts of a model take.
struct model_bytes {
  double layers = 0;         // the matrices and norms of all layers
  double output = 0;         // the output matrix
  double embedding_row = 0;  // of a token
  double kv_token = 0;       // keys and values of a position, in all layers

  /// Of a model whose matrices are all in one format, with norms in fp32.
  template <weight_format Weight, weight_format Key, weight_format Value>
  static constexpr model_bytes of(const shape& s) {
    const std::size_t query = s.heads * s.head_dim, key_value = s.kv_heads * s.head_dim;
    const std::size_t layer =
        (query + 2 * key_value + 2 * s.feed_forward) * padded_row_bytes<Weight>(s.hidden) +
        s.hidden * (padded_row_bytes<Weight>(query) + padded_row_bytes<Weight>(s.feed_forward)) +
        2 * s.hidden * sizeof(float);
    const auto row = static_cast<double>(padded_row_bytes<Weight>(s.hidden));
    return {static_cast<double>(s.layers * layer), static_cast<double>(s.vocabulary) * row, row,
            static_cast<double>(s.kv_bytes_per_token<Key, Value>())};
  }
};

/// Floating point operations: two for each multiply-add of products and attention. Softmax, norms and rotary embedding,
/// a part in a hundred, are left out, as is usual.
constexpr double flops(const shape& s, const step_counts& done) {
  const std::size_t query = s.heads * s.head_dim, key_value = s.kv_heads * s.head_dim;
  const std::size_t layer = s.hidden * (2 * query + 2 * key_value + 3 * s.feed_forward);
  return 2.0 * static_cast<double>(s.layers * layer) * static_cast<double>(done.tokens) +
         2.0 * static_cast<double>(s.hidden * s.vocabulary) * static_cast<double>(done.sampled) +
         4.0 * static_cast<double>(s.layers * query) * static_cast<double>(done.attended);
}

/// Bytes that have to move: weights once a step, the cache once a span, and what is written into it. Activations, which
/// may stay on the chip, are left out.
constexpr double bytes(const model_bytes& model, const step_counts& done) {
  return model.layers * static_cast<double>(done.steps) +
         model.output * static_cast<double>(done.sampling_steps) +
         model.embedding_row * static_cast<double>(done.tokens) +
         model.kv_token * static_cast<double>(done.read + done.tokens);
}

}  // namespace tenon::model
