// The product of few tokens, which is bound by reading the weights: warps share a tile of 16 rows and cut k between them,
// and each reads whole sectors in order, a step of 128 columns at a time.
#pragma once

#include "tenon/backend/cuda/kernel/matmul.cuh"
#include "tenon/backend/cuda/launch.cuh"

namespace tenon::cuda {

/// Warps of a block that cut k between them; a warp has several slices when there are more.
template <class Epilogue>
inline constexpr int slice_warps = Epilogue::matrices* Epilogue::row_tiles > 1 ? 4 : 8;
template <class Epilogue>
inline constexpr int thin_threads =
    Epilogue::matrices* Epilogue::row_tiles* slice_warps<Epilogue>* warp_lanes;

/// One block for Epilogue::row_tiles * 16 rows and TokenTiles * 8 tokens.
template <class Format, class Form, class Epilogue, int TokenTiles>
__global__ void __launch_bounds__(thin_threads<Epilogue>, 1)
    matmul_thin_kernel(const __grid_constant__ matmul_parameters<Epilogue> p) {
  using layout = weight_layout<Format>;
  using multiplier = multiplier_of<Format, Form>;
  constexpr int products = Epilogue::matrices * Epilogue::row_tiles;
  const detail::block_rows at = detail::rows_of(p, static_cast<int>(blockIdx.x), Epilogue::row_tiles * 16);
  const int steps = p.weights[0].steps(), groups = p.weights[0].groups(), slices = slices_of(steps);
  const block_sums sums{reinterpret_cast<float*>(dynamic_shared_memory()), slices, products, TokenTiles * 8};
  const int token = static_cast<int>(blockIdx.y) * TokenTiles * 8;

  const int warp = static_cast<int>(threadIdx.x) / warp_lanes, product = warp % products;
  const matrix_view& weights = p.weights[at.matrix + product / Epilogue::row_tiles];
  const int tile = at.row / tile_rows + product % Epilogue::row_tiles * 2;
  const std::byte* upper = detail::tile_of<Format>(weights, tile);
  const std::byte* lower = detail::tile_of<Format>(weights, tile + 1);
  for (int slice = warp / products; slice < slices;
       slice += static_cast<int>(blockDim.x) / warp_lanes / products) {
    typename multiplier::sums of_slice[TokenTiles] = {};
    const int last = first_step(steps, slices, slice + 1);
    for (int step = first_step(steps, slices, slice); step < last; ++step) {
      std::uint32_t words[2][layout::step_words];
      step_scales<Format> scales[2];
#pragma unroll
      for (int chunk = 0; chunk < layout::step_chunks; ++chunk) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          const uint4 four = load_chunk<Format, true>(i == 0 ? upper : lower, step, chunk, groups);
          words[i][4 * chunk] = four.x, words[i][4 * chunk + 1] = four.y;
          words[i][4 * chunk + 2] = four.z, words[i][4 * chunk + 3] = four.w;
        }
      }
      scales[0].load(upper, step), scales[1].load(lower, step);
#pragma unroll
      for (int t = 0; t < TokenTiles; ++t) {
        const typename multiplier::step_right x(p.x, token + 8 * t, p.tokens, step);
#pragma unroll
        for (int g = 0; g < step_groups; ++g) {
          multiplier::accumulate(multiplier::expand(words[0] + g * layout::group_words,
                                                    words[1] + g * layout::group_words, scales, g),
                                 x.group(g), of_slice[t]);
        }
      }
    }
#pragma unroll
    for (int t = 0; t < TokenTiles; ++t) {
      float d[4];
      multiplier::to_fragment(of_slice[t], d);
      sums.put(slice, product, 8 * t, d, false);
    }
  }
  __syncthreads();
  p.epilogue.finish(sums, {at.row, min(p.weights[at.matrix].rows - at.row, Epilogue::row_tiles * 16),
                           at.column, token, min(p.tokens - token, TokenTiles * 8)});
}

/// Any number of tokens, 8 or, on tensor cores, 16 a block.
template <class Format, class Form, class Epilogue>
void matmul_thin(const stream& on, const matmul_parameters<Epilogue>& p) {
  const auto start = [&]<int TokenTiles>() {
    constexpr int products = Epilogue::matrices * Epilogue::row_tiles;
    const int slices = slices_of(p.weights[0].steps());
    const int warps = products * (slices < slice_warps<Epilogue> ? slices : slice_warps<Epilogue>);
    const int threads = warps * warp_lanes < Epilogue::threads ? Epilogue::threads : warps * warp_lanes;
    const int shared = block_sums::values(slices, products, TokenTiles * 8) * 4;
    launch(matmul_thin_kernel<Format, Form, Epilogue, TokenTiles>, "matmul_thin_kernel",
           {dim3(detail::row_blocks(p, Epilogue::row_tiles * 16),
                 static_cast<unsigned>((p.tokens + TokenTiles * 8 - 1) / (TokenTiles * 8))),
            dim3(static_cast<unsigned>(threads)), static_cast<std::size_t>(shared)},
           on, p);
  };
  if constexpr (on_tensor_cores<Format, Form> && Epilogue::most_tokens > 8) {
    if (p.tokens > 8) return start.template operator()<2>();
  }
  start.template operator()<1>();
}

}  // namespace tenon::cuda
