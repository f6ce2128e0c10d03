// Values of the cache on their way through tensor cores: copies to shared memory, matrices from there, and products.
// Formats of two bytes enter as they are; e4m3 and the quants of q8_0 become f16 in registers, exactly. A scale of q8_0
// multiplies the fp32 sums of a key's block, and each value, which is then rounded to f16. See mma.cuh for who holds what.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "tenon/backend/cuda/async_copy.cuh"
#include "tenon/backend/cuda/byte_pairs.cuh"
#include "tenon/backend/cuda/cache_row.hpp"
#include "tenon/backend/cuda/warp.cuh"
#include "tenon/format/all.hpp"

namespace tenon::cuda::detail {

__device__ __forceinline__ void load_matrices(std::uint32_t (&r)[4], std::uint32_t row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(row)
               : "memory");
}
__device__ __forceinline__ void load_matrices(std::uint32_t (&r)[2], std::uint32_t row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
               : "=r"(r[0]), "=r"(r[1])
               : "r"(row)
               : "memory");
}
__device__ __forceinline__ void load_transposed(std::uint32_t (&r)[4], std::uint32_t row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(row)
               : "memory");
}
__device__ __forceinline__ void load_transposed(std::uint32_t (&r)[2], std::uint32_t row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
               : "=r"(r[0]), "=r"(r[1])
               : "r"(row)
               : "memory");
}

/// Products of two f16.
__device__ __forceinline__ std::uint32_t multiply_pairs(std::uint32_t a, std::uint32_t b) {
  std::uint32_t products;
  asm("mul.f16x2 %0, %1, %2;" : "=r"(products) : "r"(a), "r"(b));
  return products;
}

/// Two e4m3 numbers, in the upper byte of each half of `pair`, as f16.
__device__ __forceinline__ std::uint32_t e4m3_pair(std::uint32_t pair) {
  // f16 has one bit of exponent more: moved there, a number is 2^-8 of its value (subnormals too), and NaN, which is
  // 480 * 2^-8, the only one that is 0x3f80.
  std::uint32_t half = (pair & 0x7f007f00u) >> 1;
  half |= (half + 0x00800080u) & 0x40004000u;
  half |= pair & 0x80008000u;
  return multiply_pairs(half, 0x5c005c00u);
}
/// Bytes `First` and `Second` of a word.
template <int First, int Second>
__device__ __forceinline__ std::uint32_t e4m3_pair_of(std::uint32_t word) {
#if __CUDA_ARCH__ >= 890
  const std::uint32_t bytes = __byte_perm(word, 0, First | Second << 4);
  std::uint32_t pair;
  asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(pair) : "h"(static_cast<unsigned short>(bytes)));
  return pair;
#else
  return e4m3_pair(__byte_perm(word, 0, 0x0404 | First << 4 | Second << 12));
#endif
}

/// One block's scales of 16 rows: two rows to a word, 2 (l % 4) and the next in lane l, of rows 0-7 and of rows 8-15. They
/// are the columns that the lane holds of two D fragments, and the neighbours along k that it holds of a B fragment.
struct block_scales {
  std::uint32_t pairs[2];

  /// Adds the scaled sums of a block to the scores of 16 keys, and begins the next block's sums.
  __device__ __forceinline__ void add_scaled(float (&scores)[2][4], float (&sums)[2][4]) const {
#pragma unroll
    for (int n = 0; n < 2; ++n) {
      const float2 scale = __half22float2(reinterpret_cast<const __half2&>(pairs[n]));
#pragma unroll
      for (int d = 0; d < 4; ++d) {
        scores[n][d] = __fmaf_rn(sums[n][d], d % 2 == 0 ? scale.x : scale.y, scores[n][d]);
        sums[n][d] = 0;
      }
    }
  }
};

/// The scales of 16 rows in q8_0; `row` is where those of row l % 16 lie in shared memory, 16 bytes for up to eight blocks.
struct row_scales {
  using of_rows = block_scales;
  std::uint32_t words[2];  // block l / 4 of block_scales' rows

  __device__ __forceinline__ explicit row_scales(std::uint32_t row) { load_transposed(words, row); }

  __device__ __forceinline__ block_scales of_block(int block) const {
    const int lane = 4 * block + static_cast<int>(threadIdx.x) % 4;
    return {{__shfl_sync(all_lanes, words[0], lane), __shfl_sync(all_lanes, words[1], lane)}};
  }
};

/// Of formats that have none.
struct no_scales {
  struct of_rows {};
  __device__ __forceinline__ explicit no_scales(std::uint32_t) {}
  __device__ __forceinline__ of_rows of_block(int) const { return {}; }
};

/// How values of a format take part in mma.m16n8k16.
template <weight_format Format>
struct mma_input {
  using scales = std::conditional_t<cache_row<Format>::has_scales, row_scales, no_scales>;
  static constexpr bool is_bf16 = std::is_same_v<Format, bf16>;
  static constexpr bool is_byte = cache_row<Format>::value_bytes == 1;
  static constexpr int column_bytes = 16 * cache_row<Format>::value_bytes;  // of 16 lanes of the head
  static_assert(is_bf16 || is_byte || std::is_same_v<Format, f16>);

  /// Two values rounded to the input type.
  static __device__ __forceinline__ std::uint32_t pack(float first, float second) {
    if constexpr (is_bf16) {
      const __nv_bfloat162 pair = __floats2bfloat162_rn(first, second);
      return *reinterpret_cast<const std::uint32_t*>(&pair);
    } else {
      const __half2 pair = __floats2half2_rn(first, second);
      return *reinterpret_cast<const std::uint32_t*>(&pair);
    }
  }

  static __device__ __forceinline__ void multiply(float (&d)[4], const std::uint32_t (&a)[4],
                                                  const std::uint32_t (&b)[2]) {
    if constexpr (is_bf16) {
      asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
          "{%0, %1, %2, %3};"
          : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
          : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    } else {
      asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
          "{%0, %1, %2, %3};"
          : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
          : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    }
  }

  /// Bytes `First` and `Second` of a word as f16; quants without their scale.
  template <int First, int Second>
  static __device__ __forceinline__ std::uint32_t pair_of(std::uint32_t word) {
    if constexpr (cache_row<Format>::has_scales) {
      return pair_of_signed<First, Second>(word ^ 0x80808080u);
    } else {
      return e4m3_pair_of<First, Second>(word);
    }
  }

  /// The B fragments of 16 keys and 16 of their lanes, without their scales. Which lane of the head stands where along k
  /// is free as long as the queries agree: query_lane().
  static __device__ __forceinline__ std::uint32_t key_offset(int stride) {
    const int lane = static_cast<int>(threadIdx.x) % warp_lanes;
    return static_cast<std::uint32_t>(is_byte ? lane % 16 * stride
                                              : (lane / 16 * 8 + lane % 8) * stride + lane / 8 % 2 * 16);
  }
  static __device__ __forceinline__ void load_keys(std::uint32_t (&b)[2][2], std::uint32_t row) {
    if constexpr (is_byte) {
      std::uint32_t words[2];
      load_matrices(words, row);
#pragma unroll
      for (int n = 0; n < 2; ++n) {
        b[n][0] = pair_of<0, 1>(words[n]);
        b[n][1] = pair_of<2, 3>(words[n]);
      }
    } else {
      std::uint32_t words[4];
      load_matrices(words, row);
      b[0][0] = words[0], b[0][1] = words[1], b[1][0] = words[2], b[1][1] = words[3];
    }
  }
  /// The lanes of the head that this thread's A fragment holds: query_lane(0) and the next, query_lane(1) and the next.
  static __device__ __forceinline__ int query_lane(int half) {
    const int quarter = static_cast<int>(threadIdx.x) % 4;
    return is_byte ? 4 * quarter + 2 * half : 2 * quarter + 8 * half;
  }

  /// The B fragments of 16 values' lanes for 16 keys; which lane of the head is which column: out_lane().
  static __device__ __forceinline__ std::uint32_t value_offset(int stride) {
    const int lane = static_cast<int>(threadIdx.x) % warp_lanes;
    return static_cast<std::uint32_t>(lane % 16 * stride + (is_byte ? 0 : lane / 16 * 16));
  }
  static __device__ __forceinline__ void load_values(std::uint32_t (&b)[2][2], std::uint32_t row,
                                                     const typename scales::of_rows& block) {
    if constexpr (is_byte) {
      std::uint32_t words[2];
      load_transposed(words, row);
#pragma unroll
      for (int k = 0; k < 2; ++k) {
        b[0][k] = pair_of<0, 2>(words[k]);
        b[1][k] = pair_of<1, 3>(words[k]);
        if constexpr (cache_row<Format>::has_scales)
          b[0][k] = multiply_pairs(b[0][k], block.pairs[k]),
          b[1][k] = multiply_pairs(b[1][k], block.pairs[k]);
      }
    } else {
      std::uint32_t words[4];
      load_transposed(words, row);
      b[0][0] = words[0], b[0][1] = words[1], b[1][0] = words[2], b[1][1] = words[3];
    }
  }
  /// Neighbouring lanes of a head in two D fragments: `half` of row lane / 4 + 8 * lower, from out_lane(half) on.
  static __device__ __forceinline__ int out_lane(int half) { return query_lane(half); }
  static __device__ __forceinline__ float2 out_pair(const float (&d)[2][4], int half, int lower) {
    return is_byte ? make_float2(d[0][2 * lower + half], d[1][2 * lower + half])
                   : make_float2(d[half][2 * lower], d[half][2 * lower + 1]);
  }
};

}  // namespace tenon::cuda::detail
