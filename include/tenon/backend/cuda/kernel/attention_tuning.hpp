// The shapes of the attention kernels. They depend on nothing but the head size, as they decide in which order a query's
// sums are taken: a token must come out the same in a decode, in a chunk of a prompt, and beside any others.
#pragma once

#include "tenon/core/host_device.hpp"

namespace tenon::cuda {

inline constexpr int attention_warps = 4;
inline constexpr int attention_threads = 32 * attention_warps;
/// Query rows of an mma tile: the heads of a group, token by token.
inline constexpr int attention_rows = 16;
/// Query rows of a block of the tile kernel, a tile for each warp; also the most heads that may share a key-value head.
inline constexpr int attention_block_rows = attention_rows * attention_warps;

/// The head size that the kernels are instantiated with for heads of `head_dim` values, or 0 where there is none.
TENON_HOST_DEVICE constexpr int attention_head_size(int head_dim) {
  if (head_dim < 8 || head_dim % 8 != 0) return 0;
  return head_dim <= 64    ? 64
         : head_dim <= 80  ? 80
         : head_dim <= 96  ? 96
         : head_dim <= 128 ? 128
         : head_dim <= 256 ? 256
                           : 0;
}

/// Whether the kernels can take these heads.
TENON_HOST_DEVICE constexpr bool attention_takes(int heads, int kv_heads, int head_dim) {
  return attention_head_size(head_dim) != 0 && kv_heads > 0 && heads > 0 && heads % kv_heads == 0 &&
         heads / kv_heads <= attention_block_rows;
}

/// Positions whose softmax is taken at once. Chunks begin at multiples of it, and are joined in ascending order.
TENON_HOST_DEVICE constexpr int attention_chunk(int head_size) { return head_size > 128 ? 64 : 128; }

/// Bytes from one row to the next in shared memory: an odd number of 16-byte units, so that eight rows of a matrix that
/// ldmatrix reads lie in all 32 banks.
TENON_HOST_DEVICE constexpr int attention_row_stride(int row_bytes) { return (row_bytes / 16 | 1) * 16; }

/// Whether a span of `count` tokens is split along its keys (a decode, a short check of drafted tokens) and not along its
/// queries.
TENON_HOST_DEVICE constexpr bool attention_splits(int count, int group) {
  return count == 1 || count * group <= attention_rows;
}

/// mma tiles of a span that is split along its keys, and the rows of each at most.
TENON_HOST_DEVICE constexpr int attention_split_tiles(int group) {
  return (group + attention_rows - 1) / attention_rows;
}
TENON_HOST_DEVICE constexpr int attention_split_rows(int group) {
  return group >= attention_rows ? attention_rows : attention_rows / group * group;
}

/// Tokens of a block of the tile kernel.
TENON_HOST_DEVICE constexpr int attention_block_tokens(int group) { return attention_block_rows / group; }

}  // namespace tenon::cuda
