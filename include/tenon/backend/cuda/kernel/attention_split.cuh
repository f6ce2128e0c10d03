// Attention of spans with few tokens (a decode), split along the keys: blocks take a chunk at a time, its four warps a
// quarter of the keys each for the scores and a quarter of the head for the sums.
#pragma once

#include "tenon/backend/cuda/kernel/attention_chunk.cuh"
#include "tenon/backend/cuda/kernel/attention_finish.cuh"

namespace tenon::cuda {

namespace detail {

template <class Key, class Value, int HeadSize>
struct split_layout : chunk_layout<Key, Value, HeadSize> {
  using base = chunk_layout<Key, Value, HeadSize>;
  static constexpr int weight_stride = attention_row_stride(base::chunk * 2);
  static constexpr int weights = base::bytes;  // [16, chunk], input type of the values
  static constexpr int largest = weights + attention_rows * weight_stride;     // [warps, 16], float
  static constexpr int sums = largest + attention_warps * attention_rows * 4;  // [warps, 16], float
  static constexpr int queries = sums + attention_warps * attention_rows * 4;  // fragments
  static constexpr int bytes = queries + attention_rows * HeadSize * 2;
};

/// Joins the chunks of one tile and writes its rows of the result.
template <class View>
__device__ __forceinline__ void join_chunks(const attention_parameters<View>& p, const query_tile& tile,
                                            int first, int rows, std::size_t partial, std::size_t step,
                                            int chunks) {
  const int quads = p.head_dim / 4;
  for (int at = static_cast<int>(threadIdx.x); at < rows * quads; at += attention_threads) {
    const int row = at / quads, column = at % quads * 4;
    float largest = -INFINITY, sum = 0;
    float4 total = make_float4(0, 0, 0, 0);
    const float2* statistics = p.workspace.statistics + partial + row;
    const float* values = p.workspace.partial +
                          (partial + static_cast<std::size_t>(row)) * static_cast<std::size_t>(p.head_dim) +
                          column;
#pragma unroll 4
    for (int chunk = 0; chunk < chunks; ++chunk) {
      const float2 s = __ldcg(statistics + static_cast<std::size_t>(chunk) * step);
      const float4 v = __ldcg(reinterpret_cast<const float4*>(
          values + static_cast<std::size_t>(chunk) * step * static_cast<std::size_t>(p.head_dim)));
      const fold_factors factors = fold_factors::of(largest, s.x);
      sum = factors.fold(sum, s.y);
      total.x = factors.fold(total.x, v.x);
      total.y = factors.fold(total.y, v.y);
      total.z = factors.fold(total.z, v.z);
      total.w = factors.fold(total.w, v.w);
    }
    const float factor = normaliser(sum);
    const int token = (first + row) / tile.group, head = tile.first_head + (first + row) % tile.group;
    *reinterpret_cast<float4*>(p.workspace.rows +
                               static_cast<std::size_t>((tile.first_row + token) * p.heads + head) *
                                   static_cast<std::size_t>(p.head_dim) +
                               column) = make_float4(__fmul_rn(total.x, factor), __fmul_rn(total.y, factor),
                                                     __fmul_rn(total.z, factor), __fmul_rn(total.w, factor));
  }
}

}  // namespace detail

/// Grid [splits, kv_heads * tiles of a group, spans].
template <class Key, class Value, int HeadSize, class Policy, class View>
__global__ void __launch_bounds__(attention_threads)
    attention_split_kernel(const __grid_constant__ attention_parameters<View> p) {
  using namespace detail;
  using layout = split_layout<Key, Value, HeadSize>;
  using value_input = mma_input<Value>;
  constexpr int chunk_size = layout::chunk, quarter = chunk_size / attention_warps;
  constexpr int columns = HeadSize / 16, warp_columns = (columns + attention_warps - 1) / attention_warps;
  unsigned char* memory = dynamic_shared_memory();

  const attention_span span = p.spans[blockIdx.z];
  const int first_key = first_seen<Policy>(span.first_position), end = span.first_position + span.count;
  const seen_chunks<Policy, chunk_size> chunk_at(first_key, end);
  const int chunks = chunk_at.count;
  const int blocks = max(1, min(static_cast<int>(gridDim.x), chunks));
  if (static_cast<int>(blockIdx.x) >= blocks || span.count == 0) return;

  const int group = p.heads / p.kv_heads;
  if (!attention_splits(span.count, group)) return;
  const int tiles = attention_split_tiles(group), tile_rows = attention_split_rows(group);
  const int kv_head = static_cast<int>(blockIdx.y) / tiles,
            first = static_cast<int>(blockIdx.y) % tiles * attention_rows;
  const query_tile tile{span.first_row, span.first_position, kv_head * group, group, span.count * group};
  const int rows = min(tile.rows - first, tile_rows);

  // of one chunk's results to the next
  const std::size_t step = static_cast<std::size_t>(gridDim.y) * static_cast<std::size_t>(tile_rows);
  const std::size_t partial = static_cast<std::size_t>(span.first_partial) * step +
                              static_cast<std::size_t>(blockIdx.y) * static_cast<std::size_t>(tile_rows);

  const int warp = static_cast<int>(threadIdx.x) / warp_lanes,
            lane = static_cast<int>(threadIdx.x) % warp_lanes;
  const std::uint32_t shared = shared_address(memory);
  auto* row_table = reinterpret_cast<row_entry*>(memory + layout::rows);
  auto* largest_of = reinterpret_cast<float*>(memory + layout::largest);
  auto* sums_of = reinterpret_cast<float*>(memory + layout::sums);
  const std::size_t first_of_head = static_cast<std::size_t>(kv_head) * p.cache.rows;
  const std::byte* keys = p.cache.keys + first_of_head * p.cache.key_bytes;
  const std::byte* values = p.cache.values + first_of_head * p.cache.value_bytes;
  const auto copy_keys = [&](const row_entry* table) {
    copy_rows<Key, HeadSize, chunk_size>(shared, keys, p.cache.key_bytes, p.head_dim, table);
  };
  const auto copy_values = [&](const row_entry* table) {
    copy_rows<Value, HeadSize, chunk_size>(shared + layout::values, values, p.cache.value_bytes, p.head_dim,
                                           table);
  };
  const View view = p.views[blockIdx.z];
  const auto find = [&](int chunk, row_entry* table) {
    if (chunk < chunks)
      find_rows<Policy, chunk_size>(view, chunk_at[chunk] * chunk_size, first_key, end, table);
  };

  int chunk = static_cast<int>(blockIdx.x);
  find(chunk, row_table);
  __syncthreads();
  if (chunk < chunks) copy_keys(row_table), copy_values(row_table);

  auto* fragments = reinterpret_cast<uint4*>(memory + layout::queries);
  store_queries<Key, HeadSize, attention_warps>(p, tile, first, warp, fragments);
  __syncthreads();
  std::uint32_t queries[HeadSize / 16][4];
#pragma unroll
  for (int k = 0; k < HeadSize / 16; ++k) load_query(fragments, k, queries[k]);
  const auto query = [&](int k, std::uint32_t(&a)[4]) {
#pragma unroll
    for (int i = 0; i < 4; ++i) a[i] = queries[k][i];
  };
  const seen_positions<Policy> seen(tile, first);

  for (int turn = 0; chunk < chunks; chunk += blocks, ++turn) {
    const int base = chunk_at[chunk] * chunk_size;
    row_entry* next_table = row_table + (turn + 1) % 2 * chunk_size;
    const bool has_next = chunk + blocks < chunks;
    wait_for_copies<1>();  // keys are there
    __syncthreads();

    float scores[quarter / 8][4];
#pragma unroll
    for (int part = 0; part < quarter / 16; ++part) {
      const int key = warp * quarter + 16 * part;
      score_keys<Key, HeadSize>(query,
                                shared + static_cast<std::uint32_t>(key * layout::key_stride) +
                                    mma_input<Key>::key_offset(layout::key_stride),
                                base + key, seen, *reinterpret_cast<float(*)[2][4]>(&scores[2 * part]));
    }
    float largest[2] = {-INFINITY, -INFINITY};
#pragma unroll
    for (int n = 0; n < quarter / 8; ++n) {
#pragma unroll
      for (int d = 0; d < 4; ++d) largest[d / 2] = fmaxf(largest[d / 2], scores[n][d]);
    }
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      largest[i] = max_of_row(largest[i]);
      if (lane % 4 == 0) largest_of[warp * attention_rows + lane / 4 + 8 * i] = largest[i];
    }
    find(chunk + blocks, next_table);
    __syncthreads();  // keys are done with
    if (has_next) {
      copy_keys(next_table);
    } else {
      commit_copies();
    }

    float base_of[2], sums[2];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const float* of_row = largest_of + lane / 4 + 8 * i;
      largest[i] = fmaxf(fmaxf(of_row[0], of_row[attention_rows]),
                         fmaxf(of_row[2 * attention_rows], of_row[3 * attention_rows]));
      base_of[i] = weight_base(largest[i]);
    }
    weigh<quarter / 8>(scores, base_of, sums);
#pragma unroll
    for (int n = 0; n < quarter / 8; ++n) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        *reinterpret_cast<std::uint32_t*>(memory + layout::weights +
                                          (lane / 4 + 8 * i) * layout::weight_stride +
                                          (warp * quarter + 8 * n + lane % 4 * 2) * 2) =
            value_input::pack(scores[n][2 * i], scores[n][2 * i + 1]);
      }
    }
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      if (lane % 4 == 0) sums_of[warp * attention_rows + lane / 4 + 8 * i] = sums[i];
    }
    wait_for_copies<1>();  // values are there
    __syncthreads();

    float out[warp_columns][2][4] = {};
    const std::uint32_t weight_at =
        shared +
        static_cast<std::uint32_t>(layout::weights + lane % 16 * layout::weight_stride + lane / 16 * 16);
    const std::uint32_t value_at = shared + layout::values + value_input::value_offset(layout::value_stride);
#pragma unroll
    for (int k = 0; k < chunk_size / 16; ++k) {
      std::uint32_t a[4], b[2][2];
      load_matrices(a, weight_at + static_cast<std::uint32_t>(32 * k));
      const std::uint32_t rows_at = value_at + static_cast<std::uint32_t>(16 * k * layout::value_stride);
      const typename value_input::scales scales(rows_at + cache_row<Value>::scales_at(HeadSize));
#pragma unroll
      for (int c = 0; c < warp_columns; ++c) {
        const int column = c * attention_warps + warp;
        if (columns % attention_warps != 0 && column >= columns) continue;
        value_input::load_values(b, rows_at + static_cast<std::uint32_t>(column * value_input::column_bytes),
                                 scales.of_block(column / 2));
        value_input::multiply(out[c][0], a, b[0]);
        value_input::multiply(out[c][1], a, b[1]);
      }
    }
    const std::size_t to = partial + static_cast<std::size_t>(chunk) * step;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int row = lane / 4 + 8 * i;
      if (row >= rows) continue;
      float* values_out =
          p.workspace.partial + (to + static_cast<std::size_t>(row)) * static_cast<std::size_t>(p.head_dim);
#pragma unroll
      for (int c = 0; c < warp_columns; ++c) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const int column = (c * attention_warps + warp) * 16 + value_input::out_lane(half);
          if (column < p.head_dim)
            *reinterpret_cast<float2*>(values_out + column) = value_input::out_pair(out[c], half, i);
        }
      }
      if (warp == 0 && lane % 4 == 0) {
        float sum = sums_of[row];
#pragma unroll
        for (int w = 1; w < attention_warps; ++w) sum += sums_of[w * attention_rows + row];
        p.workspace.statistics[to + static_cast<std::size_t>(row)] = make_float2(largest[i], sum);
      }
    }
    __syncthreads();  // values, weights and sums are done with
    if (has_next) copy_values(next_table);
  }

  const int tile_at = (span.first_row * static_cast<int>(gridDim.y)) + static_cast<int>(blockIdx.y);
  if (!is_last_to_arrive(p.workspace.chunks_arrived + tile_at, blocks)) return;
  join_chunks(p, tile, first, rows, partial, step, max(chunks, 0));
  finish_rows<attention_threads>(p, span.first_row, span.count, static_cast<int>(gridDim.y));
}

}  // namespace tenon::cuda
