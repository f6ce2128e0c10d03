// What is done with the sums of a product, whichever main loop made them. An epilogue has
// - matrices: how many matrices of one shape are multiplied together
// - row_tiles: tiles of 16 rows of each that a block of the thin product has
// - threads: that a block needs at least
// - most_tokens: that it takes
// - finish(sums, place): all threads of the block call it together, once
#pragma once

#include <cstddef>
#include <limits>

#include "tenon/backend/cuda/activations.cuh"
#include "tenon/backend/cuda/kernel/norm.cuh"
#include "tenon/backend/cuda/kernel/swiglu.cuh"

namespace tenon::cuda {

/// The sums of a block in shared memory: of each slice of k [tiles of 16 rows][tokens][16 rows], where the rows are
/// rotated so that neither the fragments that are written nor the rows that are read meet in a bank.
struct block_sums {
  float* memory;
  int slices;
  int tiles;
  int tokens;  // a multiple of 8

  static constexpr int values(int slices, int tiles, int tokens) { return slices * tiles * tokens * 16; }

  __device__ __forceinline__ float* at(int slice, int tile, int row, int token) const {
    return memory + ((slice * tiles + tile) * tokens + token / 2 * 2) * 16 +
           (token % 2 * 16 + row + token / 2 * 8 + tile * 16) % 32;
  }
  /// Adds a D fragment of 8 tokens, or makes it the first.
  __device__ __forceinline__ void put(int slice, int tile, int token, const float (&d)[4], bool add) const {
    const int lane = static_cast<int>(threadIdx.x) % warp_lanes;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      float* to = at(slice, tile, lane / 4 + i / 2 * 8, token + lane % 4 * 2 + i % 2);
      *to = (add ? *to : 0.0f) + d[i];
    }
  }
  __device__ __forceinline__ float one(int tile, int row, int token) const {
    float total = 0;
    for (int slice = 0; slice < slices; ++slice) total += *at(slice, tile, row, token);
    return total;
  }
  /// Of four rows, the first a multiple of 4.
  __device__ __forceinline__ float4 four(int tile, int row, int token) const {
    float4 total = make_float4(0, 0, 0, 0);
    for (int slice = 0; slice < slices; ++slice) {
      const float4 part = *reinterpret_cast<const float4*>(at(slice, tile, row, token));
      total.x += part.x, total.y += part.y, total.z += part.z, total.w += part.w;
    }
    return total;
  }
};

/// Which rows and tokens a block has.
struct block_place {
  int row;     // the first, of the matrix
  int rows;    // that exist
  int column;  // of the output
  int token;
  int tokens;
};

/// Rows side by side in the output: [tokens, stride], first the rows of the first matrix.
struct store_product {
  static constexpr int matrices = 1, row_tiles = 1, threads = warp_lanes;
  static constexpr int most_tokens = std::numeric_limits<int>::max();
  float* out;
  int stride;

  __device__ __forceinline__ void finish(const block_sums& sums, const block_place& place) const {
    const int width = sums.tiles * 16;
    for (int at = static_cast<int>(threadIdx.x); at < width * place.tokens;
         at += static_cast<int>(blockDim.x)) {
      const int row = at % width, token = at / width;
      if (row >= place.rows) continue;
      out[static_cast<std::size_t>(place.token + token) * static_cast<std::size_t>(stride) +
          static_cast<std::size_t>(place.column + row)] = sums.one(row / 16, row % 16, token);
    }
  }
};

/// Adds to the residual stream.
struct add_product {
  static constexpr int matrices = 1, row_tiles = 1, threads = warp_lanes;
  static constexpr int most_tokens = std::numeric_limits<int>::max();
  float* residual;  // [tokens, stride]
  int stride;

  __device__ __forceinline__ void finish(const block_sums& sums, const block_place& place) const {
    const int width = sums.tiles * 16;
    for (int at = static_cast<int>(threadIdx.x); at < width * place.tokens;
         at += static_cast<int>(blockDim.x)) {
      const int row = at % width, token = at / width;
      if (row >= place.rows) continue;
      residual[static_cast<std::size_t>(place.token + token) * static_cast<std::size_t>(stride) +
               static_cast<std::size_t>(place.column + row)] += sums.one(row / 16, row % 16, token);
    }
  }
};

/// Adds to the residual stream, and the last block to do so takes the norm of the finished rows: one launch less, for a
/// few tokens.
struct add_then_norm {
  static constexpr int matrices = 1, row_tiles = 1, threads = norm_threads, most_tokens = 8;
  add_product add;
  norm_parameters norm;  // of the residual stream, row by row
  unsigned* arrived;     // one, zero before and after

  __device__ __forceinline__ void finish(const block_sums& sums, const block_place& place) const {
    __shared__ bool is_last;
    __shared__ float of_warps[2][norm_threads / warp_lanes];
    add.finish(sums, place);
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) is_last = atomicAdd(arrived, 1u) == gridDim.x - 1;
    __syncthreads();
    if (!is_last) return;
    __threadfence();
    for (int token = 0; token < place.tokens; ++token) {
      norm_row(norm, token, token, of_warps);
      __syncthreads();
    }
    if (threadIdx.x == 0) *arrived = 0;
  }
};

/// SiLU(gate) * up, in the forms that the next product reads. 32 rows are a group of them.
struct gate_product {
  static constexpr int matrices = 2, row_tiles = 2, threads = warp_lanes;
  static constexpr int most_tokens = std::numeric_limits<int>::max();
  activation_view out;  // [tokens, rows padded]

  __device__ __forceinline__ void finish(const block_sums& sums, const block_place& place) const {
    const int groups = sums.tiles / 4, up = sums.tiles / 2;  // tiles of gate, then as many of up
    const int lane = static_cast<int>(threadIdx.x) % 8, each = static_cast<int>(blockDim.x) / 8;
    const int rounded = (place.tokens * groups + 3) / 4 * 4;  // whole warps store together
    for (int at = static_cast<int>(threadIdx.x) / 8; at < rounded; at += each) {
      const int token = at / groups, row = at % groups * group_size + 4 * lane;
      const bool there = token < place.tokens && row - 4 * lane < place.rows;
      float x[4] = {0, 0, 0, 0}, squares = 0;
      if (there) {
        const float4 gates = sums.four(row / 16, row % 16, token);
        const float4 ups = sums.four(up + row / 16, row % 16, token);
        const float g[4] = {gates.x, gates.y, gates.z, gates.w}, u[4] = {ups.x, ups.y, ups.z, ups.w};
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          if (row + i < place.rows) x[i] = gated(g[i], u[i]);
        }
      }
#pragma unroll
      for (int i = 0; i < 4; ++i) squares = __fmaf_rn(x[i], x[i], squares);
      squares = sum_over_lanes<8>(squares);
      const float limit = outlier_ratio * sqrtf(squares / group_size);
      store_activations(out, place.token + token, there ? place.row + row : out.stride, x, limit);
    }
  }
};

}  // namespace tenon::cuda
