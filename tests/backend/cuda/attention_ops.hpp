// Attention on the device as a function over host memory; see ops.hpp.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "backend/cuda/ops.hpp"
#include "tenon/schedule/step_plan.hpp"

namespace tenon::test {

/// Options that tests attend with, beside cuda::full_attention.
struct capped_attention {
  static constexpr float soft_cap = 2.5f;
  static constexpr int window = 0;
  static constexpr int sinks = 0;
};
struct windowed_attention {
  static constexpr float soft_cap = 0;
  static constexpr int window = 37;
  static constexpr int sinks = 0;
};
struct capped_window_attention {
  static constexpr float soft_cap = 2.5f;
  static constexpr int window = 101;
  static constexpr int sinks = 5;
};

/// Nothing of the layer, but a cache that keeps a window and sinks.
struct windowed_cache {
  static constexpr float soft_cap = 0;
  static constexpr int window = 29;
  static constexpr int sinks = 3;
};

struct windowed_view : scattered_view {
  static constexpr std::size_t window = windowed_cache::window, sinks = windowed_cache::sinks;
};

struct attention_case {
  int heads, kv_heads, head_dim;
  std::size_t cache_rows;
  std::vector<scattered_view> views;  // [spans]
  std::vector<sequence_span> spans;
  std::size_t tokens;
  int splits = 5;  // blocks that share a span's chunks
  int times = 1;   // with the same memory
};

/// The result [tokens, heads * head_dim] in all forms; keys and values are [kv_heads, cache_rows] of cuda::cache_row each.
template <int HeadSize, class Key, class Value, class Policy>
cuda_activations cuda_attention(const attention_case& c, std::span<const float> query_key_value,
                                std::span<const std::byte> keys, std::span<const std::byte> values);

/// The same, captured into a graph with the spans `first` and replayed with the spans of the case.
template <int HeadSize, class Key, class Value, class Policy>
cuda_activations cuda_attention_graph(const attention_case& c, std::span<const sequence_span> first,
                                      std::span<const float> query_key_value, std::span<const std::byte> keys,
                                      std::span<const std::byte> values);

}  // namespace tenon::test
