// Rotary position embedding (Su et al. 2021, arXiv 2104.09864) together with the append of keys and values to the cache.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tenon/backend/cuda/cache_append.cuh"
#include "tenon/backend/cuda/cache_view.hpp"
#include "tenon/backend/cuda/launch.cuh"

namespace tenon::cuda {

struct rope_angle_parameters {
  const int* positions;  // [tokens]
  float2* angles;        // [tokens, pairs], cosine and sine
  int pairs;
  double base;
};

/// Once a step. The angle is formed in fp64: in fp32 it would lose its fraction at long contexts.
template <int Threads>
__global__ void __launch_bounds__(Threads)
    rope_angle_kernel(const __grid_constant__ rope_angle_parameters p) {
  for (int pair = static_cast<int>(threadIdx.x); pair < p.pairs; pair += Threads) {
    const double frequency = pow(p.base, -static_cast<double>(pair) / p.pairs);
    double sine, cosine;
    sincos(p.positions[blockIdx.x] * frequency, &sine, &cosine);
    p.angles[static_cast<std::size_t>(blockIdx.x) * static_cast<std::size_t>(p.pairs) +
             static_cast<std::size_t>(pair)] =
        make_float2(static_cast<float>(cosine), static_cast<float>(sine));
  }
}

inline void rope_angles(const stream& on, const rope_angle_parameters& p, std::size_t tokens) {
  constexpr int threads = 64;
  launch(rope_angle_kernel<threads>, "rope_angle_kernel",
         {dim3(static_cast<unsigned>(tokens)), dim3(threads)}, on, p);
}

template <class View>
struct rope_append_parameters {
  float* query_key_value;  // [tokens, (heads + 2 kv_heads) * head_dim]
  const float2* angles;    // [tokens, rotated / 2]
  const int* positions;    // [tokens]
  const int* span_of;      // [tokens]; -1: of no sequence, nothing is done
  const View* views;       // [spans], where a sequence's rows lie in the cache
  cache_view cache;
  int heads;
  int kv_heads;
  int head_dim;  // even
  int rotated;   // leading values of a head that are rotated, in pairs (2i, 2i + 1)
  float scale;   // of the queries, 1 / sqrt(head_dim)
};

/// One block a token, one thread a pair of values at a time; for q8_0 heads are padded to whole blocks. Queries are rotated
/// and scaled in place; keys are rotated on their way to the cache, values go there as they are.
template <class Key, class Value, class View, int Threads>
__global__ void __launch_bounds__(Threads)
    rope_append_kernel(const __grid_constant__ rope_append_parameters<View> p) {
  const std::size_t token = blockIdx.x;
  if (p.span_of[token] < 0) return;
  constexpr bool has_blocks = cache_row<Key>::has_scales || cache_row<Value>::has_scales;
  constexpr int lanes = has_blocks ? append_lanes : 1;
  static_assert(Threads % lanes == 0);
  const int half = p.head_dim / 2, pairs = p.rotated / 2;
  const int padded = (half + lanes - 1) / lanes * lanes;
  const std::size_t row = p.views[p.span_of[token]].row(static_cast<std::size_t>(p.positions[token]));
  auto* values = reinterpret_cast<float2*>(
      p.query_key_value + token * static_cast<std::size_t>((p.heads + 2 * p.kv_heads) * p.head_dim));
  for (int at = static_cast<int>(threadIdx.x); at < (p.heads + 2 * p.kv_heads) * padded; at += Threads) {
    const int head = at / padded, pair = at % padded;
    const bool is_there = lanes == 1 || pair < half;
    float2* const here = values + (lanes == 1 ? at : head * half + pair);
    float2 x = is_there ? *here : make_float2(0, 0);
    if (pair < pairs && head < p.heads + p.kv_heads) {
      const float2 angle = p.angles[token * static_cast<std::size_t>(pairs) + static_cast<std::size_t>(pair)];
      x = make_float2(x.x * angle.x - x.y * angle.y, x.x * angle.y + x.y * angle.x);
    }
    if (head < p.heads) {
      if (is_there) *here = make_float2(x.x * p.scale, x.y * p.scale);
      continue;
    }
    const bool is_key = head < p.heads + p.kv_heads;
    const auto kv_head = static_cast<std::size_t>(head - p.heads - (is_key ? 0 : p.kv_heads));
    const std::size_t to = kv_head * p.cache.rows + row;
    if (is_key) {
      append_pair<Key>(p.cache.keys + to * p.cache.key_bytes, p.head_dim, pair, is_there, x);
    } else {
      append_pair<Value>(p.cache.values + to * p.cache.value_bytes, p.head_dim, pair, is_there, x);
    }
  }
}

template <class Key, class Value, class View>
void rope_append(const stream& on, const rope_append_parameters<View>& p, std::size_t tokens) {
  constexpr int threads = 128;
  launch(rope_append_kernel<Key, Value, View, threads>, "rope_append_kernel",
         {dim3(static_cast<unsigned>(tokens)), dim3(threads)}, on, p);
}

}  // namespace tenon::cuda
