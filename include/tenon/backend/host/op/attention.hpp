// Causal attention over a cache view, for spans of any length: one token of a decode and the chunk of a
// prompt take the same way. Queries of the heads that share a key-value head are packed into one tile, and
// the softmax is taken online (Milakov and Gimelshein 2018, arXiv 1805.02867; Dao et al. 2022, arXiv
// 2205.14135) over blocks of 32 positions counted from the sequence's start: a query's sums do not depend on
// what it shares a tile with, nor on the cache's layout. Over a view with a window it skips what is not seen.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <span>

#include "tenon/backend/host/activations.hpp"
#include "tenon/backend/host/context.hpp"
#include "tenon/backend/host/kernel/unrolled.hpp"
#include "tenon/backend/host/kv_store.hpp"
#include "tenon/backend/host/op/rope.hpp"
#include "tenon/backend/host/simd/math.hpp"
#include "tenon/policy/cache.hpp"
#include "tenon/schedule/step_plan.hpp"

namespace tenon::host {

/// Positions whose scores are formed together, and the most queries in a tile.
inline constexpr std::size_t position_block = 32;
inline constexpr std::size_t tile_queries = 24;

/// Tokens of a span that are taken together.
template <class Heads>
constexpr std::size_t tile_tokens(const Heads& shape) {
  return (std::max)(std::size_t{1}, tile_queries / (shape.heads / shape.kv_heads));
}

/// Floats of scratch that a thread needs.
template <class Heads>
constexpr std::size_t attention_scratch(const Heads& shape) {
  const std::size_t queries = tile_tokens(shape) * (shape.heads / shape.kv_heads);
  return (2 * queries + 2 * position_block) * head_stride(shape.head_dim) + queries * (position_block + 2);
}

namespace detail {

/// The positions of a block that a query sees: [0, sinks) and [first, end). Without sinks the former are none, and in
/// most blocks `first` is 0.
struct seen_part {
  std::size_t sinks, first, end;

  /// Of the block that begins at position `block`, where `seen` is all that is seen of the positions up to `end`.
  static seen_part of(std::size_t block, const cache::seen& seen, std::size_t end) {
    const auto inside = [&](std::size_t at) {
      return at < block ? std::size_t{0} : (std::min)(position_block, at - block);
    };
    const std::size_t last = inside(end), sinks = inside(seen.sinks);
    return inside(seen.first) < last ? seen_part{sinks, inside(seen.first), last}
                                     : seen_part{sinks, sinks, sinks};
  }
  bool is_empty() const { return end == 0; }
};

/// The online softmax of one tile: queries [queries, stride] against blocks of keys and values in fp32.
template <class Isa>
struct attention_tile {
  using v = simd<Isa>;
  static constexpr float nothing = -std::numeric_limits<float>::infinity();

  std::size_t queries;
  std::size_t stride;
  float* query;    // [queries, stride], scaled
  float* output;   // [queries, stride]
  float* keys;     // [position_block, stride]
  float* values;   // [position_block, stride]
  float* scores;   // [queries, position_block]
  float* largest;  // [queries]
  float* total;    // [queries]

  attention_tile(float* scratch, std::size_t query_count, std::size_t row_stride)
      : queries(query_count),
        stride(row_stride),
        query(scratch),
        output(query + queries * stride),
        keys(output + queries * stride),
        values(keys + position_block * stride),
        scores(values + position_block * stride),
        largest(scores + queries * position_block),
        total(largest + queries) {
    std::fill_n(output, queries * stride, 0.0f);
    std::fill_n(largest, queries, nothing);
    std::fill_n(total, queries, 0.0f);
  }

  /// One block for one query, which sees `visible` of it (at least one position).
  void add_block(std::size_t q, const seen_part& visible) {
    float* row = scores + q * position_block;
    for (std::size_t first = 0; first < position_block; first += v::lanes) {
      if (first >= visible.end) {
        v::store(row + first, v::set1(nothing));
      } else {
        v::store(row + first, dots(query + q * stride, keys + first * stride));
      }
    }
    for (std::size_t i = visible.end; i % v::lanes != 0; ++i) row[i] = nothing;
    for (std::size_t i = visible.sinks; i < visible.first; ++i) row[i] = nothing;

    auto most = v::load(row);
    for (std::size_t i = v::lanes; i < position_block; i += v::lanes)
      most = v::larger(most, v::load(row + i));
    const float before = largest[q];
    const float now = largest_of(before, most);
    auto sum = v::zero();
    for (std::size_t i = 0; i < position_block; i += v::lanes) {
      const auto weight = exp<Isa>(v::sub(v::load(row + i), v::set1(now)));
      v::store(row + i, weight);
      sum = v::add(sum, weight);
    }
    alignas(64) float correction[v::lanes];
    v::store(correction, exp<Isa>(v::set1(before - now)));
    largest[q] = now;
    total[q] = std::fma(total[q], correction[0], v::sum(sum));
    accumulate(q, visible, correction[0]);
  }

  void finish(std::size_t q, float* out, std::size_t head_dim) const {
    const float inverse = total[q] > 0.0f ? 1.0f / total[q] : 0.0f;  // a query that sees nothing gives zeros
    const bool broken = !(total[q] >= 0.0f);                         // NaN must not pass for "nothing"
    for (std::size_t i = 0; i < head_dim; ++i) out[i] = broken ? total[q] : output[q * stride + i] * inverse;
  }

 private:
  /// The dot products of a query with Isa::lanes keys.
  typename v::vec dots(const float* q, const float* block) const {
    typename v::vec sums[std::size_t{v::lanes}];
    unrolled<v::lanes>([&](auto i) { sums[i] = v::zero(); });
    for (std::size_t d = 0; d < stride; d += v::lanes) {
      const auto part = v::load(q + d);
      unrolled<v::lanes>([&](auto i) { sums[i] = v::fma(part, v::load(block + i * stride + d), sums[i]); });
    }
    return v::sums(sums);
  }

  static float largest_of(float before, typename v::vec most) {
    const float now = v::max_of(most);
    return now > before ? now : before;
  }

  /// output = output * correction + weights times values, over the visible positions in order.
  void accumulate(std::size_t q, const seen_part& visible, float correction) {
    constexpr std::size_t together = 4;  // vectors of the head that are summed in registers
    const float* weight = scores + q * position_block;
    float* out = output + q * stride;
    std::size_t d = 0;
    for (; d + together * v::lanes <= stride; d += together * v::lanes) {
      accumulate_vectors<together>(out + d, values + d, weight, visible, correction);
    }
    for (; d < stride; d += v::lanes) accumulate_vectors<1>(out + d, values + d, weight, visible, correction);
  }

  template <std::size_t Vectors>
  void accumulate_vectors(float* out, const float* value, const float* weight, const seen_part& visible,
                          float correction) const {
    typename v::vec sum[Vectors];
    unrolled<Vectors>([&](auto i) { sum[i] = v::mul(v::load(out + i * v::lanes), v::set1(correction)); });
    const auto add = [&](std::size_t from, std::size_t to) {
      for (std::size_t p = from; p < to; ++p) {
        const auto w = v::set1(weight[p]);
        unrolled<Vectors>(
            [&](auto i) { sum[i] = v::fma(w, v::load(value + p * stride + i * v::lanes), sum[i]); });
      }
    };
    add(0, visible.sinks);
    add(visible.first, visible.end);
    unrolled<Vectors>([&](auto i) { v::store(out + i * v::lanes, sum[i]); });
  }
};

/// Decodes the rows [first, end) of the cache that hold positions from `position` on to fp32 rows of `stride` values.
template <class Isa, class Format, class View>
void load_rows(const std::uint8_t* base, std::size_t row_bytes, const View& view, std::size_t position,
               std::size_t first, std::size_t end, std::size_t stride, float* out) {
  for (std::size_t done = first; done < end;) {
    const std::size_t run = (std::min)(end - done, static_cast<std::size_t>(view.run(position + done)));
    const std::uint8_t* row = base + static_cast<std::size_t>(view.row(position + done)) * row_bytes;
    for (std::size_t i = 0; i < run; ++i, row += row_bytes)
      load_cache_row<Isa, Format>(row, stride, out + (done + i) * stride);
    done += run;
  }
}

/// A block of the cache from position `block` on: what a tile sees, and zeros elsewhere, so that what lies in the cache
/// there cannot reach a product.
template <class Isa, class Format, class View>
void load_block(const std::uint8_t* base, std::size_t row_bytes, const View& view, std::size_t block,
                const seen_part& part, std::size_t stride, float* out) {
  load_rows<Isa, Format>(base, row_bytes, view, block, 0, part.sinks, stride, out);
  std::fill(out + part.sinks * stride, out + part.first * stride, 0.0f);
  load_rows<Isa, Format>(base, row_bytes, view, block, part.first, part.end, stride, out);
  std::fill(out + part.end * stride, out + position_block * stride, 0.0f);
}

}  // namespace detail

/// out[tokens, heads * head_dim] = softmax(q k^T) v of each span over its sequence's cache, where qkv
/// [tokens, width] holds rotated and scaled queries, and the cache the keys and values up to the span's last
/// position.
template <class Isa, class Key, class Value, cache::layout_view View, class Heads>
void attention(op_context context, const step_plan& plan, std::span<const View> views, const Heads& shape,
               std::size_t layer, const float* qkv, kv_store<Key, Value>& cache, float* out) {
  const std::size_t group = shape.heads / shape.kv_heads, tokens_in_tile = tile_tokens(shape);
  const std::size_t stride = head_stride(shape.head_dim);
  std::size_t tiles = 0;
  for (const sequence_span& span : plan.spans) tiles += (span.count + tokens_in_tile - 1) / tokens_in_tile;

  context.member.for_each(tiles * shape.kv_heads, [&](std::size_t task) {
    // The tiles that see most positions come first, so that no thread is left with a long one at the end.
    const std::size_t kv_head = task % shape.kv_heads;
    std::size_t tile = tiles - 1 - task / shape.kv_heads, s = 0;
    for (;; ++s) {
      const std::size_t of_span = (plan.spans[s].count + tokens_in_tile - 1) / tokens_in_tile;
      if (tile < of_span) break;
      tile -= of_span;
    }
    const sequence_span& span = plan.spans[s];
    const std::size_t first = tile * tokens_in_tile, tokens = (std::min)(tokens_in_tile, span.count - first);
    const std::size_t position = span.first_position + first;  // of the tile's first token

    detail::attention_tile<Isa> work(context.scratch.attention.data(), tokens * group, stride);
    for (std::size_t q = 0; q < tokens * group; ++q) {
      const float* from = qkv + (span.first_row + first + q / group) * shape.width() +
                          (kv_head * group + q % group) * shape.head_dim;
      std::copy_n(from, shape.head_dim, work.query + q * stride);
      std::fill(work.query + q * stride + shape.head_dim, work.query + (q + 1) * stride, 0.0f);
    }
    const std::size_t end = position + tokens;
    const cache::seen of_tile =
        cache::seen::of<View>(position);  // the later ones see no more of what is before
    const std::size_t first_of_window = of_tile.first / position_block * position_block;
    for (std::size_t block = 0; block < end; block += position_block) {
      if (block >= of_tile.sinks) block = (std::max)(block, first_of_window);
      const auto part = detail::seen_part::of(block, of_tile, end);
      detail::load_block<Isa, Key>(cache.keys(layer, kv_head), cache.key_stride(), views[s], block, part,
                                   stride, work.keys);
      detail::load_block<Isa, Value>(cache.values(layer, kv_head), cache.value_stride(), views[s], block,
                                     part, stride, work.values);
      for (std::size_t q = 0; q < tokens * group; ++q) {
        const std::size_t at = position + q / group;
        const auto visible = detail::seen_part::of(block, cache::seen::of<View>(at), at + 1);
        if (!visible.is_empty()) work.add_block(q, visible);
      }
    }
    for (std::size_t q = 0; q < tokens * group; ++q) {
      float* to = out + ((span.first_row + first + q / group) * shape.heads + kv_head * group + q % group) *
                            shape.head_dim;
      work.finish(q, to, shape.head_dim);
    }
  });
}

}  // namespace tenon::host
