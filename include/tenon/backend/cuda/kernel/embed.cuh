// The gather of embedding rows, decoded to fp32.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tenon/backend/cuda/fragment.cuh"
#include "tenon/backend/cuda/launch.cuh"
#include "tenon/core/types.hpp"

namespace tenon::cuda {

struct embed_parameters {
  const std::byte* table;  // records of [vocabulary, columns]
  const token_id* tokens;  // [tokens]
  float* hidden;           // [tokens, columns]
  int columns;
  int records;  // of a row
};

/// One block a token; a thread takes 16 bytes at a time, which are a lane's words of some groups.
template <class Format, int Threads>
__global__ void __launch_bounds__(Threads) embed_kernel(const __grid_constant__ embed_parameters p) {
  using layout = weight_layout<Format>;
  const token_id token = p.tokens[blockIdx.x];
  const int row = token % tile_rows;
  const std::byte* tile = p.table + static_cast<std::size_t>(token / tile_rows) *
                                        static_cast<std::size_t>(p.records) * layout::record_bytes;
  float* out = p.hidden + static_cast<std::size_t>(blockIdx.x) * static_cast<std::size_t>(p.columns);
  for (int at = static_cast<int>(threadIdx.x); at < p.records * layout::chunks * row_lanes; at += Threads) {
    const int lane = at % row_lanes, chunk = at / row_lanes % layout::chunks,
              index = at / row_lanes / layout::chunks;
    const std::byte* record = tile + static_cast<std::size_t>(index) * layout::record_bytes;
    const uint4 four = *reinterpret_cast<const uint4*>(
        record + ((chunk * tile_rows + row) * row_lanes + lane) * chunk_bytes);
    const std::uint32_t words[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
    for (int w = 0; w < 4; ++w) {
      const int group = (chunk * 4 + w) / layout::group_words, word = (chunk * 4 + w) % layout::group_words;
      const block_scale block = load_scale<Format>(record, row, group);
      const int first = (index * layout::record_groups + group) * group_size;
#pragma unroll
      for (int i = 0; i < layout::word_values; ++i) {
        const int k = first + layout::fragment_k(lane, word, i);
        if (k < p.columns) out[k] = word_value<Format>(words[w], i, block);
      }
    }
  }
}

/// hidden [tokens, columns] = the tokens' rows of a matrix [vocabulary, columns].
template <class Format>
void embed(const stream& on, const std::byte* table, const token_id* tokens, std::size_t count,
           std::size_t columns, float* hidden) {
  constexpr int threads = 128;
  launch(embed_kernel<Format, threads>, "embed_kernel", {dim3(static_cast<unsigned>(count)), dim3(threads)},
         on,
         {table, tokens, hidden, static_cast<int>(columns), static_cast<int>(records_of<Format>(columns))});
}

}  // namespace tenon::cuda
