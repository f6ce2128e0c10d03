// Attention of spans with many tokens (a chunk of a prompt): a block takes 64 query rows through all chunks that they see,
// a warp 16 of them. A chunk's results are made and joined exactly as in attention_split.cuh.
#pragma once

#include <algorithm>

#include "tenon/backend/cuda/kernel/attention_chunk.cuh"
#include "tenon/backend/cuda/kernel/attention_finish.cuh"

namespace tenon::cuda {

namespace detail {

template <class Key, class Value, int HeadSize>
struct tile_layout : chunk_layout<Key, Value, HeadSize> {
  using base = chunk_layout<Key, Value, HeadSize>;
  static constexpr int queries = base::bytes;         // [warps], fragments
  static constexpr int result_stride = HeadSize + 8;  // floats, in the place of all else at the end
  static constexpr int bytes =
      std::max(queries + attention_block_rows * HeadSize * 2, attention_block_rows* result_stride * 4);
};

}  // namespace detail

/// Grid [blocks of the longest span, kv_heads, spans].
template <class Key, class Value, int HeadSize, class Policy, class View>
__global__ void __launch_bounds__(attention_threads)
    attention_tile_kernel(const __grid_constant__ attention_parameters<View> p) {
  using namespace detail;
  using layout = tile_layout<Key, Value, HeadSize>;
  using value_input = mma_input<Value>;
  constexpr int chunk_size = layout::chunk, quarter = chunk_size / attention_warps;
  constexpr int columns = HeadSize / 16, columns_at_once = 4;
  unsigned char* memory = dynamic_shared_memory();

  const attention_span span = p.spans[blockIdx.z];
  const int group = p.heads / p.kv_heads;
  if (attention_splits(span.count, group)) return;
  const int block_tokens = attention_block_tokens(group);
  const int block =
      (span.count + block_tokens - 1) / block_tokens - 1 - static_cast<int>(blockIdx.x);  // long ones first
  if (block < 0) return;
  const int kv_head = static_cast<int>(blockIdx.y);
  const int tokens = min(block_tokens, span.count - block * block_tokens);
  const query_tile tile{span.first_row + block * block_tokens, span.first_position + block * block_tokens,
                        kv_head * group, group, tokens * group};

  const int first_key = first_seen<Policy>(tile.first_position), end = tile.first_position + tokens;
  const seen_chunks<Policy, chunk_size> chunk_at(first_key, end);
  const int chunks = chunk_at.count;

  const int warp = static_cast<int>(threadIdx.x) / warp_lanes,
            lane = static_cast<int>(threadIdx.x) % warp_lanes;
  const std::uint32_t shared = shared_address(memory);
  auto* row_table = reinterpret_cast<row_entry*>(memory + layout::rows);
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
  find(0, row_table);
  __syncthreads();
  copy_keys(row_table), copy_values(row_table);

  const int first = warp * attention_rows;
  const bool has_rows = first < tile.rows;
  const seen_positions<Policy> seen(tile, first);
  uint4* fragments = reinterpret_cast<uint4*>(memory + layout::queries) + warp * (HeadSize / 16) * warp_lanes;
  store_queries<Key, HeadSize, 1>(p, tile, first, 0, fragments);
  __syncwarp();
  const auto query = [&](int k, std::uint32_t(&a)[4]) { load_query(fragments, k, a); };

  float total[columns][2][4] = {};
  float largest[2] = {-INFINITY, -INFINITY}, sum[2] = {0, 0};
  for (int chunk = 0; chunk < chunks; ++chunk) {
    const int base = chunk_at[chunk] * chunk_size;
    row_entry* next_table = row_table + (chunk + 1) % 2 * chunk_size;
    const auto is_seen = [&](int part) {  // 16 keys
      const int key = base + 16 * part;
      return has_rows && key <= seen.any_to && (key + 15 >= seen.any_from || is_sink<Policy>(key));
    };
    wait_for_copies<1>();  // keys are there
    __syncthreads();

    float scores[chunk_size / 8][4];
    float of_chunk[2] = {-INFINITY, -INFINITY};
#pragma unroll
    for (int part = 0; part < chunk_size / 16; ++part) {
      auto& s = *reinterpret_cast<float(*)[2][4]>(&scores[2 * part]);
      if (is_seen(part)) {
        score_keys<Key, HeadSize>(query,
                                  shared + static_cast<std::uint32_t>(16 * part * layout::key_stride) +
                                      mma_input<Key>::key_offset(layout::key_stride),
                                  base + 16 * part, seen, s);
      } else {
#pragma unroll
        for (int i = 0; i < 8; ++i) s[i / 4][i % 4] = -INFINITY;
      }
#pragma unroll
      for (int i = 0; i < 8; ++i) of_chunk[i % 4 / 2] = fmaxf(of_chunk[i % 4 / 2], s[i / 4][i % 4]);
    }
    find(chunk + 1, next_table);
    __syncthreads();  // keys are done with
    if (chunk + 1 < chunks) {
      copy_keys(next_table);
    } else {
      commit_copies();
    }

    float base_of[2];
    fold_factors factors[2];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      of_chunk[i] = max_of_row(of_chunk[i]);
      base_of[i] = weight_base(of_chunk[i]);
      factors[i] = fold_factors::of(largest[i], of_chunk[i]);
    }
    float sum_of_chunk[2];
    weigh<quarter / 8>(scores, base_of, sum_of_chunk);
#pragma unroll
    for (int q = 1; q < attention_warps; ++q) {
      float more[2];
      weigh<quarter / 8>(scores + q * (quarter / 8), base_of, more);
      sum_of_chunk[0] += more[0], sum_of_chunk[1] += more[1];
    }
#pragma unroll
    for (int i = 0; i < 2; ++i) sum[i] = factors[i].fold(sum[i], sum_of_chunk[i]);
    std::uint32_t weights[chunk_size / 16][4];
#pragma unroll
    for (int part = 0; part < chunk_size / 16; ++part) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float* pair = &scores[2 * part + i / 2][i % 2 * 2];
        weights[part][i] = value_input::pack(pair[0], pair[1]);
      }
    }
    wait_for_copies<1>();  // values are there
    __syncthreads();

    const std::uint32_t value_at = shared + layout::values + value_input::value_offset(layout::value_stride);
#pragma unroll
    for (int from = 0; from < columns; from += columns_at_once) {
      float out[columns_at_once][2][4] = {};
#pragma unroll
      for (int part = 0; part < chunk_size / 16; ++part) {
        if (!is_seen(part)) continue;  // the weights are zeros
        const std::uint32_t rows_at = value_at + static_cast<std::uint32_t>(16 * part * layout::value_stride);
        const typename value_input::scales scales(rows_at + cache_row<Value>::scales_at(HeadSize));
        typename value_input::scales::of_rows block;
#pragma unroll
        for (int c = 0; c < columns_at_once; ++c) {
          if (from + c >= columns) continue;
          if (c % 2 == 0) block = scales.of_block((from + c) / 2);
          std::uint32_t b[2][2];
          value_input::load_values(
              b, rows_at + static_cast<std::uint32_t>((from + c) * value_input::column_bytes), block);
          value_input::multiply(out[c][0], weights[part], b[0]);
          value_input::multiply(out[c][1], weights[part], b[1]);
        }
      }
#pragma unroll
      for (int c = 0; c < columns_at_once; ++c) {
        if (from + c >= columns) continue;
#pragma unroll
        for (int i = 0; i < 8; ++i) {
          float& so_far = total[from + c][i / 4][i % 4];
          so_far = factors[i % 4 / 2].fold(so_far, out[c][i / 4][i % 4]);
        }
      }
    }
    __syncthreads();  // values are done with
    if (chunk + 1 < chunks) copy_values(next_table);
  }

  const bool alone = heads_stand_alone(p);
  float* results = reinterpret_cast<float*>(memory);
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const int row = first + lane / 4 + 8 * i;
    if (row >= tile.rows) continue;
    const float factor = normaliser(sum[i]);
    float* to = alone ? results + row * layout::result_stride
                      : p.workspace.rows + static_cast<std::size_t>((tile.first_row + row / group) * p.heads +
                                                                    tile.first_head + row % group) *
                                               static_cast<std::size_t>(p.head_dim);
#pragma unroll
    for (int c = 0; c < columns; ++c) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int column = 16 * c + value_input::out_lane(half);
        const float2 pair = value_input::out_pair(total[c], half, i);
        if (column < p.head_dim)
          *reinterpret_cast<float2*>(to + column) =
              make_float2(__fmul_rn(pair.x, factor), __fmul_rn(pair.y, factor));
      }
    }
  }
  if (!alone) return finish_rows<attention_threads>(p, tile.first_row, tokens, p.kv_heads);
  __syncthreads();
  store_heads<attention_threads, HeadSize, layout::result_stride>(p, tile, results);
}

}  // namespace tenon::cuda
