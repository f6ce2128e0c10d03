// What the products of few and of many tokens share: their parameters, how k is cut, and which multiplier serves a weight
// format and a form of activations.
//
// A row's product with a token is always taken in one order, whatever the number of tokens: k is cut into slices that the
// matrix's shape alone decides, each is summed group by group, and the slices are added in order. So a token's result does
// not depend on the tokens beside it, and both main loops give the same bits.
#pragma once

#include <type_traits>

#include "tenon/backend/cuda/kernel/epilogue.cuh"
#include "tenon/backend/cuda/kernel/multiply_float.cuh"
#include "tenon/backend/cuda/kernel/multiply_half.cuh"
#include "tenon/backend/cuda/kernel/multiply_int8.cuh"

namespace tenon::cuda {

inline constexpr int most_matrices = 3;

/// Matrices of one format and width. Epilogue::matrices of them are multiplied together; an epilogue of one takes up to
/// three side by side.
template <class Epilogue>
struct matmul_parameters {
  matrix_view weights[most_matrices];
  int count;
  activation_view x;
  int tokens;
  Epilogue epilogue;
};

/// The slices of k that a matrix's sums are made of.
TENON_HOST_DEVICE constexpr int slices_of(int steps) { return steps >= 16 ? 8 : steps >= 4 ? 4 : 1; }
TENON_HOST_DEVICE constexpr int first_step(int steps, int slices, int slice) {
  return steps * slice / slices;
}

/// The numbers of `Half`, multiplied in fp32.
template <scalar_format Half>
struct as_half_values {};

namespace detail {

template <class Format, class Form>
struct multiplier;
template <class Format>
struct multiplier<Format, as_float> {
  using type = float_multiplier<Format, read_values>;
};
template <class Format, class Half>
struct multiplier<Format, as_half_values<Half>> {
  using type = float_multiplier<Format, read_halves<Half>>;
};
template <class Format, class Half>
struct multiplier<Format, as_half<Half>> {
  using type = half_multiplier<Format, Half>;
};
template <class Format>
struct multiplier<Format, as_int8> {
  using type = int8_multiplier<Format>;
};

/// Which of the matrices side by side a block works on, and on which rows of it.
struct block_rows {
  int matrix;
  int row;
  int column;  // of the output
};
template <class Epilogue>
__device__ __forceinline__ block_rows rows_of(const matmul_parameters<Epilogue>& p, int block, int height) {
  block_rows at{0, 0, 0};
  if constexpr (Epilogue::matrices == 1) {
    for (; at.matrix + 1 < p.count; ++at.matrix) {
      const int rows = p.weights[at.matrix].rows, blocks = (rows + height - 1) / height;
      if (block < blocks) break;
      block -= blocks;
      at.column += rows;
    }
  }
  at.row = block * height;
  at.column += at.row;
  return at;
}
template <class Epilogue>
unsigned row_blocks(const matmul_parameters<Epilogue>& p, int height) {
  int blocks = 0;
  for (int i = 0; i < (Epilogue::matrices == 1 ? p.count : 1); ++i)
    blocks += (p.weights[i].rows + height - 1) / height;
  return static_cast<unsigned>(blocks);
}

/// The first byte of a tile of 8 rows; the last tile's for those that a matrix does not have, whose sums nobody reads.
template <class Format>
__device__ __forceinline__ const std::byte* tile_of(const matrix_view& weights, int tile) {
  const int last = (weights.rows - 1) / tile_rows;
  return weights.records +
         static_cast<std::size_t>(min(tile, last)) *
             static_cast<std::size_t>(records_of<Format>(static_cast<std::size_t>(weights.columns))) *
             weight_layout<Format>::record_bytes;
}

}  // namespace detail

/// A multiplier joins a weight format with a form of activations, for 16 rows times 8 tokens:
///   sums                                       what a lane accumulates, an array of float
///   left, expand(upper, lower, scales, group)  the weights of a group, from the words of two tiles of 8 rows
///   right, step_right(x, token, tokens, step).group(g)   the activations of a group
///   accumulate(left, right, sums)
///   to_fragment(sums, d)                       as a D fragment of mma
///   shared_step<Tokens>                        the right side in shared memory, where tensor cores do the work
template <class Format, class Form>
using multiplier_of = typename detail::multiplier<Format, Form>::type;

template <class Format, class Form>
inline constexpr bool on_tensor_cores = requires {
  typename multiplier_of<Format, Form>::template shared_step<8>;
};

}  // namespace tenon::cuda
