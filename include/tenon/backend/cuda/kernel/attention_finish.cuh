// The end of attention: rows are written in the forms that the next product reads, by each block the heads that it has where
// a form takes no more, else by the last block that adds to some tokens' rows.
#pragma once

#include "tenon/backend/cuda/kernel/attention_chunk.cuh"
#include "tenon/backend/cuda/kernel/attention_parameters.cuh"
#include "tenon/backend/cuda/kernel/norm.cuh"

namespace tenon::cuda::detail {

/// Whether all `expected` blocks have arrived, this one as the last; then what they wrote before can be read (past the
/// first-level cache), and the counter is zero again. All threads call it together.
__device__ __forceinline__ bool is_last_to_arrive(unsigned* arrived, int expected) {
  __shared__ bool is_last;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    is_last = atomicAdd(arrived, 1u) == static_cast<unsigned>(expected) - 1;
    if (is_last) *arrived = 0;
  }
  __syncthreads();
  const bool last = is_last;
  __threadfence();
  __syncthreads();  // before another call writes it
  return last;
}

/// Called by the `blocks` blocks that write to workspace.rows of tokens [first, first + tokens) when they have done so.
template <int Threads, class View>
__device__ __forceinline__ void finish_rows(const attention_parameters<View>& p, int first, int tokens,
                                            int blocks) {
  if (!is_last_to_arrive(p.workspace.heads_arrived + first, blocks)) return;
  __shared__ float of_warps[Threads / warp_lanes];
  const int width = p.heads * p.head_dim;
  for (int token = first; token < first + tokens; ++token) {
    const float* row = p.workspace.rows + static_cast<std::size_t>(token) * static_cast<std::size_t>(width);
    const auto values = [&](int column) {
      return column < width ? __ldcg(reinterpret_cast<const float4*>(row + column)) : make_float4(0, 0, 0, 0);
    };
    prepare_row<Threads>(values, width, p.out, token, of_warps);
    __syncthreads();  // of_warps has been read
  }
}

/// Whether a block can write its heads without the rest of their rows, of which int8 takes the root mean square.
template <class View>
__device__ __forceinline__ bool heads_stand_alone(const attention_parameters<View>& p) {
  return p.out.quanta == nullptr && p.head_dim % static_cast<int>(group_size) == 0;
}

/// Writes a tile's heads, if they stand alone. `results` [tile.rows, Stride] are shared memory; all threads call it.
template <int Threads, int HeadSize, int Stride, class View>
__device__ __forceinline__ void store_heads(const attention_parameters<View>& p, const query_tile& tile,
                                            const float* results) {
  constexpr int quads = HeadSize / 4;
  for (int begin = 0; begin < tile.rows * quads; begin += Threads) {
    const int quad = begin + static_cast<int>(threadIdx.x), row = quad / quads, of_head = quad % quads * 4;
    const bool inside = row < tile.rows && of_head < p.head_dim;
    const float4 four =
        inside ? *reinterpret_cast<const float4*>(results + row * Stride + of_head) : make_float4(0, 0, 0, 0);
    const int column = (tile.first_head + row % tile.group) * p.head_dim + of_head;
    const float x[4] = {four.x, four.y, four.z, four.w};
    store_activations(p.out, tile.first_row + row / tile.group, inside ? column : p.out.stride, x, 0);
  }
}

}  // namespace tenon::cuda::detail
