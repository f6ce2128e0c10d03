// What the attention kernels are given: the spans of a step, the memory that blocks meet in, and the options of a layer.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include "tenon/backend/cuda/activations.hpp"
#include "tenon/backend/cuda/kernel/attention_tuning.hpp"
#include "tenon/backend/cuda/kernel/rope.cuh"
#include "tenon/backend/cuda/memory.hpp"
#include "tenon/policy/cache.hpp"
#include "tenon/schedule/step_plan.hpp"

namespace tenon::cuda {

/// Options of a layer, fixed at build time.
///   soft_cap  scores become soft_cap * tanh(score / soft_cap) (Gemma 2, arXiv 2408.00118); 0: as they are
///   window    a position sees itself and the window - 1 before it (Mistral, arXiv 2310.06825); 0: all before it
///   sinks     with a window: and the first `sinks` of all (Xiao et al. 2023, arXiv 2309.17453)
template <class P>
concept attention_policy = requires {
  { P::soft_cap } -> std::convertible_to<float>;
  { P::window } -> std::convertible_to<int>;
  { P::sinks } -> std::convertible_to<int>;
};

struct full_attention {
  static constexpr float soft_cap = 0;
  static constexpr int window = 0;
  static constexpr int sinks = 0;
};

/// A layer over a cache that keeps no more than a window.
template <class Policy, cache::windowed_view View>
struct attention_in_window : Policy {
  static constexpr int window = static_cast<int>(View::window);
  static constexpr int sinks = static_cast<int>(View::sinks);
};

/// Tokens of a sequence at consecutive positions, as kernels read them. A span without tokens does nothing, so that a
/// captured launch can serve fewer; one at position -1 sees nothing, and its result is zeros.
struct attention_span {
  int first_row;       // of query_key_value and out
  int first_position;  // of that token
  int count;           // tokens
  int first_partial;   // where the results of its chunks begin, in chunks
};

/// Memory of a step. Counters are zeros before and after.
struct attention_workspace {
  float* rows;     // [tokens, heads * head_dim], the results before they are prepared
  float* partial;  // [partials, kv_heads, tiles, rows of a tile, head_dim], not normalised
  float2*
      statistics;  // [partials, kv_heads, tiles, rows of a tile], the largest score and the sum of weights
  unsigned* chunks_arrived;  // [tokens, kv_heads, tiles]
  unsigned* heads_arrived;   // [tokens]
};

template <class View>
struct attention_parameters {
  const float* query_key_value;  // [tokens, (heads + 2 kv_heads) * head_dim], queries rotated and scaled
  const attention_span* spans;   // [spans]
  const View* views;             // [spans], where a sequence's rows lie in the cache
  cache_view cache;
  attention_workspace workspace;
  activation_view out;  // [tokens, heads * head_dim padded]
  int heads;
  int kv_heads;
  int head_dim;
};

/// What the launch has to know of a step; a captured launch serves all steps of which it is true.
struct attention_extent {
  int spans = 0;            // of the array
  int longest = 0;          // tokens of the longest
  bool has_split = false;   // whether a span is attention_splits()
  bool has_blocks = false;  // whether one is not
  int splits = 1;           // blocks that share the chunks of a span and key-value head
};

/// Fills `spans` [at least plan.spans.size()] for a step; what is behind becomes empty.
inline attention_extent plan_attention(const step_plan& plan, int heads, int kv_heads, int head_dim,
                                       std::span<attention_span> spans) {
  attention_extent extent{.spans = static_cast<int>(spans.size())};
  const int chunk = attention_chunk(attention_head_size(head_dim));
  int partials = 0;
  for (std::size_t i = 0; i < spans.size(); ++i) {
    spans[i] = {};
    if (i >= plan.spans.size()) continue;
    const sequence_span& from = plan.spans[i];
    const int count = static_cast<int>(from.count);
    spans[i] = {static_cast<int>(from.first_row), static_cast<int>(from.first_position), count, partials};
    extent.longest = count > extent.longest ? count : extent.longest;
    const bool is_split = attention_splits(count, heads / kv_heads);
    (is_split ? extent.has_split : extent.has_blocks) = true;
    if (is_split) partials += (spans[i].first_position + count + chunk - 1) / chunk;
  }
  return extent;
}

/// How many blocks share a span's chunks: enough to fill the device several times over, whatever the contexts are.
constexpr int attention_split_blocks(int spans, int kv_heads, int multiprocessors) {
  const int each = spans * kv_heads;
  return each == 0 ? 1 : (4 * multiprocessors + each - 1) / each;
}

/// Sizes of the workspace, in elements.
struct attention_sizes {
  std::size_t rows, partial, statistics, chunks_arrived, heads_arrived;

  /// For steps of up to `tokens` tokens in `spans` sequences that together hold `positions` positions.
  static constexpr attention_sizes of(std::size_t tokens, std::size_t spans, std::size_t positions, int heads,
                                      int kv_heads, int head_dim) {
    const int group = heads / kv_heads;
    const auto chunk = static_cast<std::size_t>(attention_chunk(attention_head_size(head_dim)));
    const auto tiles = static_cast<std::size_t>(kv_heads * attention_split_tiles(group));
    const std::size_t rows =
        (positions / chunk + spans) * tiles * static_cast<std::size_t>(attention_split_rows(group));
    const auto width = static_cast<std::size_t>(head_dim);
    return {tokens * static_cast<std::size_t>(heads) * width, rows * width, rows, tokens * tiles, tokens};
  }
  constexpr std::size_t bytes() const {
    return (rows + partial) * sizeof(float) + statistics * sizeof(float2) +
           (chunks_arrived + heads_arrived) * sizeof(unsigned);
  }
};

/// Owns the workspace; one serves all layers that run one after the other.
class attention_memory {
 public:
  attention_memory() = default;
  attention_memory(const attention_sizes& sizes, const stream& on)
      : rows_(sizes.rows),
        partial_(sizes.partial),
        statistics_(sizes.statistics),
        chunks_arrived_(sizes.chunks_arrived),
        heads_arrived_(sizes.heads_arrived) {
    chunks_arrived_.zero(on);
    heads_arrived_.zero(on);
  }

  attention_workspace view() {
    return {rows_.data(), partial_.data(), statistics_.data(), chunks_arrived_.data(), heads_arrived_.data()};
  }

 private:
  device_buffer<float> rows_, partial_;
  device_buffer<float2> statistics_;
  device_buffer<unsigned> chunks_arrived_, heads_arrived_;
};

}  // namespace tenon::cuda
