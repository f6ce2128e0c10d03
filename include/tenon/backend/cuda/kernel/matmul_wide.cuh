// The product of many tokens on tensor cores: the weights go from memory to registers as they are packed, and are expanded
// there once for all tokens of the block; the activations come through shared memory, several steps ahead.
#pragma once

#include "tenon/backend/cuda/kernel/matmul.cuh"
#include "tenon/backend/cuda/launch.cuh"

namespace tenon::cuda {

/// One block for 32 rows a warp (in half as many warps of each of two matrices) and TokenTiles * 8 tokens. Blocks that
/// share weights follow each other.
template <class Format, class Form, class Epilogue, int Warps, int TokenTiles, int Stages>
__global__ void __launch_bounds__(Warps* warp_lanes, 1)
    matmul_wide_kernel(const __grid_constant__ matmul_parameters<Epilogue> p) {
  using layout = weight_layout<Format>;
  using multiplier = multiplier_of<Format, Form>;
  using shared_step = typename multiplier::template shared_step<TokenTiles * 8>;
  constexpr int tiles = Warps * 2, height = tiles / Epilogue::matrices * 16;
  constexpr int chunk_groups = 4 / layout::group_words;
  auto* stages = reinterpret_cast<shared_step*>(dynamic_shared_memory());
  const block_sums totals{reinterpret_cast<float*>(stages + Stages), 1, tiles, TokenTiles * 8};

  const detail::block_rows at = detail::rows_of(p, static_cast<int>(blockIdx.y), height);
  const int steps = p.weights[0].steps(), groups = p.weights[0].groups(), slices = slices_of(steps);
  const int token = static_cast<int>(blockIdx.x) * TokenTiles * 8;
  const int rows = min(p.weights[at.matrix].rows - at.row, height),
            tokens = min(p.tokens - token, TokenTiles * 8);
  const int warp = static_cast<int>(threadIdx.x) / warp_lanes;
  const int row = warp * 32 % height;  // of the block
  const matrix_view& weights = p.weights[at.matrix + warp * 32 / height];
  const std::byte* tile = detail::tile_of<Format>(weights, (at.row + row) / tile_rows);
  int ahead[4];  // bytes from the first of four tiles
#pragma unroll
  for (int i = 0; i < 4; ++i)
    ahead[i] = static_cast<int>(detail::tile_of<Format>(weights, (at.row + row) / tile_rows + i) - tile);

  uint4 words[4], next[4];
  step_scales<Format> scales[2][2], next_scales[2][2];
  const auto load = [&](int step, int chunk) {
#pragma unroll
    for (int i = 0; i < 4; ++i) next[i] = load_chunk<Format, false>(tile + ahead[i], step, chunk, groups);
    if (chunk == 0) {
#pragma unroll
      for (int i = 0; i < 4; ++i) next_scales[i / 2][i % 2].load(tile + ahead[i], step);
    }
  };
  const auto copy = [&](int step) {
    if (step < steps) stages[step % Stages].template copy<Warps * warp_lanes>(p.x, token, p.tokens, step);
    commit_copies();
  };
#pragma unroll
  for (int step = 0; step < Stages - 1; ++step) copy(step);
  load(0, 0);

  for (int slice = 0; slice < slices; ++slice) {
    typename multiplier::sums sums[2][TokenTiles] = {};
    const int last = first_step(steps, slices, slice + 1);
    for (int step = first_step(steps, slices, slice); step < last; ++step) {
      wait_for_copies<Stages - 2>();
      __syncthreads();  // what arrived is seen by all, and the step before is done with
      copy(step + Stages - 1);
      if (row >= rows) continue;
      const shared_step& x = stages[step % Stages];
      const std::uint32_t refined = x.refined();
#pragma unroll
      for (int chunk = 0; chunk < layout::step_chunks; ++chunk) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          words[i] = next[i];
          if (chunk == 0) scales[i / 2][i % 2] = next_scales[i / 2][i % 2];
        }
        if (chunk + 1 < layout::step_chunks) {
          load(step, chunk + 1);
        } else if (step + 1 < steps) {
          load(step + 1, 0);
        }
#pragma unroll
        for (int of = 0; of < chunk_groups; ++of) {
          const int group = chunk * chunk_groups + of;
          typename multiplier::left left[2];
#pragma unroll
          for (int m = 0; m < 2; ++m) {
            const uint4& a = words[2 * m];
            const uint4& b = words[2 * m + 1];
            const std::uint32_t upper[4] = {a.x, a.y, a.z, a.w}, lower[4] = {b.x, b.y, b.z, b.w};
            left[m] = multiplier::expand(upper + of * layout::group_words, lower + of * layout::group_words,
                                         scales[m], group);
          }
#pragma unroll
          for (int t = 0; t < TokenTiles; ++t) {
            if (8 * t >= tokens) break;
            const typename multiplier::right right = x.group(8 * t, group, refined);
#pragma unroll
            for (int m = 0; m < 2; ++m) multiplier::accumulate(left[m], right, sums[m][t]);
          }
        }
      }
    }
#pragma unroll
    for (int m = 0; m < 2; ++m) {
#pragma unroll
      for (int t = 0; t < TokenTiles; ++t) totals.put(0, 2 * warp + m, 8 * t, sums[m][t], slice != 0);
    }
  }
  __syncthreads();
  p.epilogue.finish(totals, {at.row, rows, at.column, token, tokens});
}

/// Any number of tokens.
template <class Format, class Form, class Epilogue, class Tuning>
void matmul_wide(const stream& on, const matmul_parameters<Epilogue>& p) {
  constexpr auto tuning = Tuning::products;
  constexpr int stages = std::is_same_v<Form, as_int8> ? tuning.int8_stages : tuning.half_stages;
  constexpr int tiles = tuning.wide_warps * 2, height = tiles / Epilogue::matrices * 16;
  static_assert(tuning.wide_tokens % 8 == 0 && stages >= 2 && height % 32 == 0);
  using shared_step = typename multiplier_of<Format, Form>::template shared_step<tuning.wide_tokens>;
  constexpr int shared =
      static_cast<int>(sizeof(shared_step)) * stages + block_sums::values(1, tiles, tuning.wide_tokens) * 4;
  const auto kernel =
      matmul_wide_kernel<Format, Form, Epilogue, tuning.wide_warps, tuning.wide_tokens / 8, stages>;
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared),
        "cudaFuncSetAttribute");
  launch(kernel, "matmul_wide_kernel",
         {dim3(static_cast<unsigned>((p.tokens + tuning.wide_tokens - 1) / tuning.wide_tokens),
               detail::row_blocks(p, height)),
          dim3(tuning.wide_warps * warp_lanes), shared},
         on, p);
}

}  // namespace tenon::cuda
