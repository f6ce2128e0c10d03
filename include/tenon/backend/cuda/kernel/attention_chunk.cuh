// Pieces of the attention kernels on tensor cores: a chunk of the cache in shared memory, and what a warp does with a tile
// of 16 query rows and 16 of its keys.
#pragma once

#include "tenon/backend/cuda/kernel/attention_mma.cuh"
#include "tenon/backend/cuda/kernel/attention_softmax.cuh"

namespace tenon::cuda::detail {

/// Where a chunk lies in shared memory, in bytes.
template <class Key, class Value, int HeadSize>
struct chunk_layout {
  static constexpr int chunk = attention_chunk(HeadSize);
  static constexpr int key_stride = attention_row_stride(cache_row<Key>::bytes(HeadSize));
  static constexpr int value_stride = attention_row_stride(cache_row<Value>::bytes(HeadSize));
  static constexpr int values = chunk * key_stride;
  static constexpr int rows = values + chunk * value_stride;  // [2, chunk], row_entry
  static constexpr int bytes = rows + 2 * chunk * 8;          // what a kernel adds begins here
};

/// Where a position's keys and values are: the row of the cache, and all bits set where the position is wanted.
using row_entry = int2;

/// The rows of positions [base, base + Chunk) of a sequence; those outside of [first, end) are not wanted, but sinks are.
template <class Policy, int Chunk, class View>
__device__ __forceinline__ void find_rows(const View& view, int base, int first, int end, row_entry* rows) {
  for (int i = static_cast<int>(threadIdx.x); i < Chunk; i += attention_threads) {
    const int position = base + i;
    const bool is_wanted = (position >= first || is_sink<Policy>(position)) && position < end;
    rows[i] = is_wanted ? make_int2(static_cast<int>(view.row(static_cast<std::size_t>(position))), -1)
                        : make_int2(0, 0);
  }
}

/// Copies those rows of one head to where rows of HeadSize values would lie; rows not wanted, and what pads a row, become
/// zeros. A thread copies the same 16 bytes of every row that it has a part in.
template <class Format, int HeadSize, int Chunk>
__device__ __forceinline__ void copy_rows(std::uint32_t to, const std::byte* head, std::uint32_t stride,
                                          int head_dim, const row_entry* rows) {
  using layout = cache_row<Format>;
  constexpr int units = layout::bytes(HeadSize) / 16, keys_at_once = attention_threads / units;
  constexpr int row_stride = attention_row_stride(layout::bytes(HeadSize));
  const int first = static_cast<int>(threadIdx.x) / units, byte = static_cast<int>(threadIdx.x) % units * 16;
  if (keys_at_once * units == attention_threads || first < keys_at_once) {
    int bytes = max(0, min(16, head_dim * layout::value_bytes - byte));
    const std::byte* from = head + byte;
    if constexpr (layout::has_scales) {
      static_assert(layout::scales_at(HeadSize) + 16 == layout::bytes(HeadSize), "the scales are one copy");
      if (byte == layout::scales_at(HeadSize))
        bytes = layout::scale_bytes(head_dim), from = head + layout::scales_at(head_dim);
    }
    to += static_cast<std::uint32_t>(first * row_stride + byte);
    rows += first;
#pragma unroll
    for (int key = 0; key < Chunk; key += keys_at_once) {
      if (Chunk % keys_at_once != 0 && key + keys_at_once > Chunk && first + key >= Chunk) break;
      const row_entry row = rows[key];
      copy_async<16>(to + static_cast<std::uint32_t>(key * row_stride),
                     from + static_cast<std::size_t>(static_cast<std::uint32_t>(row.x)) * stride,
                     bytes & row.y);
    }
  }
  commit_copies();
}

/// The query rows of a block: the heads of one group, token by token.
struct query_tile {
  int first_row;       // row of its first token
  int first_position;  // and where that stands
  int first_head;      // of the group
  int group;
  int rows;  // tokens * group

  __device__ __forceinline__ int position(int row) const {
    return first_position + min(row, rows - 1) / group;
  }
};

/// Fragments `first`, first + Step ... of 16 query rows from `row` on, rounded to the key's input type, to shared memory:
/// [HeadSize / 16, lanes].
template <class Key, int HeadSize, int Step, class View>
__device__ __forceinline__ void store_queries(const attention_parameters<View>& p, const query_tile& tile,
                                              int row, int first, uint4* to) {
  using input = mma_input<Key>;
  const int lane = static_cast<int>(threadIdx.x) % warp_lanes;
  const float* rows[2];
  int width[2];  // of the head; none of a row that is not there
#pragma unroll
  for (int lower = 0; lower < 2; ++lower) {
    const int at = row + lane / 4 + 8 * lower, there = min(at, tile.rows - 1);
    width[lower] = at < tile.rows ? p.head_dim : 0;
    rows[lower] = p.query_key_value +
                  static_cast<std::size_t>(tile.first_row + there / tile.group) *
                      static_cast<std::size_t>((p.heads + 2 * p.kv_heads) * p.head_dim) +
                  static_cast<std::size_t>((tile.first_head + there % tile.group) * p.head_dim);
  }
#pragma unroll
  for (int turn = 0; turn < (HeadSize / 16 + Step - 1) / Step; ++turn) {
    const int k = turn * Step + first;
    if (HeadSize / 16 % Step != 0 && k >= HeadSize / 16) break;
    std::uint32_t a[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int from = 16 * k + input::query_lane(i / 2);
      const float2 x = from < width[i % 2] ? __ldg(reinterpret_cast<const float2*>(rows[i % 2] + from))
                                           : make_float2(0, 0);
      a[i] = input::pack(x.x, x.y);
    }
    to[k * warp_lanes + lane] = make_uint4(a[0], a[1], a[2], a[3]);
  }
}

__device__ __forceinline__ void load_query(const uint4* fragments, int k, std::uint32_t (&a)[4]) {
  const uint4 four = fragments[k * warp_lanes + static_cast<int>(threadIdx.x) % warp_lanes];
  a[0] = four.x, a[1] = four.y, a[2] = four.z, a[3] = four.w;
}

/// The positions that 16 query rows see: the lane's two rows, all rows, and any row (first and last of each).
template <class Policy>
struct seen_positions {
  int from[2], to[2];
  int all_from, all_to, any_from, any_to;

  __device__ __forceinline__ seen_positions(const query_tile& tile, int row) {
    const int lane = static_cast<int>(threadIdx.x) % warp_lanes;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      to[i] = tile.position(row + lane / 4 + 8 * i);
      from[i] = first_seen<Policy>(to[i]);
    }
    all_to = tile.position(row), any_to = tile.position(row + attention_rows - 1);
    any_from = first_seen<Policy>(all_to), all_from = first_seen<Policy>(any_to);
  }
};

/// Scores of 16 rows and 16 keys, as two D fragments; -infinity of what a row does not see. `keys` is this thread's
/// key_offset() from the first key on, which stands at `position`; `query(k, a)` gives an A fragment.
template <class Key, int HeadSize, class Policy, class Query>
__device__ __forceinline__ void score_keys(const Query& query, std::uint32_t keys, int position,
                                           const seen_positions<Policy>& seen, float (&scores)[2][4]) {
  using input = mma_input<Key>;
  const typename input::scales scales(keys + cache_row<Key>::scales_at(HeadSize));
  float sums[2][4] = {};  // of a block that shares a scale
#pragma unroll
  for (int i = 0; i < 8; ++i) scores[i / 4][i % 4] = 0;
#pragma unroll
  for (int k = 0; k < HeadSize / 16; ++k) {
    auto& to = cache_row<Key>::has_scales ? sums : scores;
    std::uint32_t a[4], b[2][2];
    query(k, a);
    input::load_keys(b, keys + static_cast<std::uint32_t>(k * input::column_bytes));
    input::multiply(to[0], a, b[0]);
    input::multiply(to[1], a, b[1]);
    if constexpr (cache_row<Key>::has_scales) {
      if (k % 2 == 1 || k + 1 == HeadSize / 16) scales.of_block(k / 2).add_scaled(scores, sums);
    }
  }
#pragma unroll
  for (int i = 0; i < 8; ++i) scores[i / 4][i % 4] = capped<Policy>(scores[i / 4][i % 4]);
  if (position >= seen.all_from && position + 15 <= seen.all_to) return;
  position += static_cast<int>(threadIdx.x) % 4 * 2;
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const int at = position + 8 * (i / 4) + i % 2, row = i % 4 / 2;
    if ((at < seen.from[row] && !is_sink<Policy>(at)) || at > seen.to[row]) scores[i / 4][i % 4] = -INFINITY;
  }
}

/// The largest of a row, in the four lanes that share it.
__device__ __forceinline__ float max_of_row(float x) {
  x = fmaxf(x, __shfl_xor_sync(all_lanes, x, 2));
  return fmaxf(x, __shfl_xor_sync(all_lanes, x, 1));
}

/// Scores of Tiles * 8 keys become weights; returns their sums of the lane's two rows. Sums of a whole chunk are made of
/// the sums of its quarters, in ascending order.
template <int Tiles>
__device__ __forceinline__ void weigh(float (*scores)[4], const float (&base)[2], float (&sums)[2]) {
  sums[0] = sums[1] = 0;
#pragma unroll
  for (int n = 0; n < Tiles; ++n) {
#pragma unroll
    for (int d = 0; d < 4; ++d) {
      scores[n][d] = weight(scores[n][d], base[d / 2]);
      sums[d / 2] += scores[n][d];
    }
  }
  sums[0] = sum_over_lanes<4>(sums[0]);
  sums[1] = sum_over_lanes<4>(sums[1]);
}

}  // namespace tenon::cuda::detail
