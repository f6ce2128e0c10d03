// Rotary position embedding, and the append of keys and values to the cache.
#pragma once

#include <cmath>
#include <cstddef>
#include <span>

#include "tenon/backend/host/context.hpp"
#include "tenon/backend/host/kv_store.hpp"
#include "tenon/schedule/step_plan.hpp"

namespace tenon::host {

/// The heads of one layer, as an op needs them, known at run time. Ops take any type with these members.
struct head_shape {
  std::size_t heads = 0;
  std::size_t kv_heads = 0;
  std::size_t head_dim = 0;
  std::size_t rotated = 0;  // leading values of a head that are rotated, in pairs (2i, 2i + 1)

  /// Values of a token's query, key and value side by side.
  std::size_t width() const { return (heads + 2 * kv_heads) * head_dim; }
};

/// The same, known at build time.
template <std::size_t Heads, std::size_t KvHeads, std::size_t HeadDim, std::size_t Rotated>
struct fixed_head_shape {
  static constexpr std::size_t heads = Heads;
  static constexpr std::size_t kv_heads = KvHeads;
  static constexpr std::size_t head_dim = HeadDim;
  static constexpr std::size_t rotated = Rotated;
  static constexpr std::size_t width() { return (heads + 2 * kv_heads) * head_dim; }
};

/// cosines and sines [tokens, rotated / 2] of position * base^(-2i / rotated) (Su et al. 2021, arXiv
/// 2104.09864). The angle is formed in fp64: in fp32 it would lose its fraction at long contexts.
inline void rope_angles(op_context context, std::span<const std::size_t> positions, std::size_t rotated,
                        double base, float* cosines, float* sines) {
  const std::size_t pairs = rotated / 2;
  context.member.for_each(positions.size(), [&](std::size_t t) {
    for (std::size_t i = 0; i < pairs; ++i) {
      const double frequency = std::pow(base, -2.0 * static_cast<double>(i) / static_cast<double>(rotated));
      const double angle = static_cast<double>(positions[t]) * frequency;
      cosines[t * pairs + i] = static_cast<float>(std::cos(angle));
      sines[t * pairs + i] = static_cast<float>(std::sin(angle));
    }
  });
}

/// Rotates the pairs of one head in place and multiplies by `scale`.
template <class Heads>
void rotate(float* head, const float* cosines, const float* sines, const Heads& shape, float scale) {
  for (std::size_t i = 0; i < shape.rotated / 2; ++i) {
    const float a = head[2 * i], b = head[2 * i + 1];
    head[2 * i] = (a * cosines[i] - b * sines[i]) * scale;
    head[2 * i + 1] = (a * sines[i] + b * cosines[i]) * scale;
  }
  for (std::size_t i = shape.rotated; i < shape.head_dim; ++i) head[i] *= scale;
}

/// Rotates the queries of qkv [tokens, width] in place, scaled by 1 / sqrt(head_dim), and writes the rotated
/// keys and the values to the rows that `views` give each span.
template <class Isa, class Key, class Value, class View, class Heads>
void rope_and_append(op_context context, const step_plan& plan, std::span<const View> views,
                     const Heads& shape, const float* cosines, const float* sines, std::size_t layer,
                     float* qkv, kv_store<Key, Value>& cache) {
  const float scale = 1.0f / std::sqrt(static_cast<float>(shape.head_dim));
  const std::size_t pairs = shape.rotated / 2;
  context.member.for_each(plan.tokens.size(), [&](std::size_t token) {
    const std::size_t row = views[plan.span_of(token)].row(plan.positions[token]);
    const float* c = cosines + token * pairs;
    const float* n = sines + token * pairs;
    float* head = qkv + token * shape.width();
    for (std::size_t h = 0; h < shape.heads; ++h, head += shape.head_dim) rotate(head, c, n, shape, scale);
    for (std::size_t h = 0; h < shape.kv_heads; ++h, head += shape.head_dim) rotate(head, c, n, shape, 1.0f);
    const float* key = qkv + token * shape.width() + shape.heads * shape.head_dim;
    const float* value = key + shape.kv_heads * shape.head_dim;
    for (std::size_t h = 0; h < shape.kv_heads; ++h) {
      std::uint8_t* to_key = cache.keys(layer, h) + row * cache.key_stride();
      std::uint8_t* to_value = cache.values(layer, h) + row * cache.value_stride();
      store_cache_row<Isa, Key>(key + h * shape.head_dim, shape.head_dim, to_key);
      store_cache_row<Isa, Value>(value + h * shape.head_dim, shape.head_dim, to_value);
    }
  });
}

}  // namespace tenon::host
