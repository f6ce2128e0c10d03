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
  static constexpr int key_bytes = HeadSize * static_cast<int>(Key::block_bytes);
  static constexpr int value_bytes = HeadSize * static_cast<int>(Value::block_bytes);
  static constexpr int key_stride = attention_row_stride(key_bytes);
  static constexpr int value_stride = attention_row_stride(value_bytes);
  static constexpr int values = chunk * key_stride;
  static constexpr int rows = values + chunk * value_stride;  // [2, chunk], int
  static constexpr int bytes =
      rows + 2 * chunk * static_cast<int>(sizeof(int));  // what a kernel adds begins here
};

/// The rows of the cache that hold positions [base, base + chunk) of a sequence, -1 outside of [first, end).
template <int Chunk, class View>
__device__ __forceinline__ void find_rows(const View& view, int base, int first, int end, int* rows) {
  for (int i = static_cast<int>(threadIdx.x); i < Chunk; i += attention_threads) {
    const int position = base + i;
    rows[i] = position >= first && position < end
                  ? static_cast<int>(view.row(static_cast<std::size_t>(position)))
                  : -1;
  }
}

/// Copies those rows of one head; what is outside, and the padding of a row, becomes zeros.
template <int Chunk, int RowBytes>
__device__ __forceinline__ void copy_rows(std::uint32_t to, const std::byte* head, std::size_t stride,
                                          int head_bytes, const int* rows) {
  constexpr int units = RowBytes / 16, turns = Chunk * units / attention_threads;
  static_assert(turns * attention_threads == Chunk * units);
#pragma unroll
  for (int turn = 0; turn < turns; ++turn) {
    const int at = turn * attention_threads + static_cast<int>(threadIdx.x);
    const int key = at / units, byte = at % units * 16;
    const int row = rows[key];
    copy_16(to + static_cast<std::uint32_t>(key * attention_row_stride(RowBytes) + byte),
            head + static_cast<std::size_t>(max(row, 0)) * stride + byte,
            row < 0 ? 0 : max(0, min(16, head_bytes - byte)));
  }
  end_copies();
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

/// A fragments of 16 query rows from `row` on, rounded to the key's input type: [HeadSize / 16][4].
template <class Key, int HeadSize, class View>
__device__ __forceinline__ void load_queries(const attention_parameters<View>& p, const query_tile& tile,
                                             int row, std::uint32_t (&a)[HeadSize / 16][4]) {
  using input = mma_input<Key>;
  const int lane = static_cast<int>(threadIdx.x) % warp_lanes;
#pragma unroll
  for (int lower = 0; lower < 2; ++lower) {
    const int at = row + lane / 4 + 8 * lower;
    const bool is_there = at < tile.rows;
    const int token = is_there ? at / tile.group : 0, head = is_there ? at % tile.group : 0;
    const float* query = p.query_key_value +
                         static_cast<std::size_t>(tile.first_row + token) *
                             static_cast<std::size_t>((p.heads + 2 * p.kv_heads) * p.head_dim) +
                         static_cast<std::size_t>((tile.first_head + head) * p.head_dim);
#pragma unroll
    for (int k = 0; k < HeadSize / 16; ++k) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int from = 16 * k + input::query_lane(half);
        const float2 x = is_there && from < p.head_dim ? __ldg(reinterpret_cast<const float2*>(query + from))
                                                       : make_float2(0, 0);
        a[k][2 * half + lower] = input::pack(x.x, x.y);
      }
    }
  }
}

/// Scores of 16 rows and 16 keys, as two D fragments; not those of what a row does not see, which are -infinity. `keys` is
/// this thread's key_offset() from the first key on, `query(k, a)` gives an A fragment; `seen` are the first and the last
/// key that the lane's two rows see, counted from the first key.
template <class Key, int HeadSize, class Policy, class Query>
__device__ __forceinline__ void score_keys(const Query& query, std::uint32_t keys, const int (&first)[2],
                                           const int (&last)[2], float (&scores)[2][4]) {
  using input = mma_input<Key>;
#pragma unroll
  for (int k = 0; k < HeadSize / 16; ++k) {
    std::uint32_t a[4], b[2][2];
    query(k, a);
    input::load_keys(b, keys + static_cast<std::uint32_t>(k * 16 * static_cast<int>(Key::block_bytes)));
    input::multiply(scores[0], a, b[0]);
    input::multiply(scores[1], a, b[1]);
  }
  const int key = static_cast<int>(threadIdx.x) % 4 * 2;
#pragma unroll
  for (int n = 0; n < 2; ++n) {
#pragma unroll
    for (int d = 0; d < 4; ++d) {
      const int at = key + 8 * n + d % 2;
      scores[n][d] = at >= first[d / 2] && at <= last[d / 2] ? capped<Policy>(scores[n][d]) : -INFINITY;
    }
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
