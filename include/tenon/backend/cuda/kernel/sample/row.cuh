// A row of logits as blocks read it: each thread a few loads of four, which stay in its registers.
#pragma once

#include "tenon/backend/cuda/kernel/sample/ban.cuh"
#include "tenon/backend/cuda/kernel/sample/block.cuh"
#include "tenon/core/types.hpp"

namespace tenon::cuda::detail {

/// A row of logits as the model left it. Banned tokens count as -inf.
struct row_view {
  const float* logits;
  int vocabulary;
  const token_id* banned;
  int banned_count;

  /// Four logits, the first one's id a multiple of 4, all of the vocabulary.
  __device__ __forceinline__ void read_inside(int first, float (&values)[4]) const {
    const float4 four = *reinterpret_cast<const float4*>(logits + first);
    values[0] = four.x, values[1] = four.y, values[2] = four.z, values[3] = four.w;
  }
  /// The same with -inf for what is behind the vocabulary.
  __device__ __forceinline__ void read(int first, float (&values)[4]) const {
    if (first < vocabulary) read_inside(first, values);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (first + i >= vocabulary) values[i] = -INFINITY;
    }
  }
  /// Several loads of four, from first_of(load) on; `inside` says that all are of the vocabulary.
  template <int Loads, class FirstOf>
  __device__ __forceinline__ void read_all(bool inside, FirstOf first_of, float (&values)[Loads][4]) const {
    if (inside) {
#pragma unroll
      for (int load = 0; load < Loads; ++load) read_inside(first_of(load), values[load]);
    } else {
#pragma unroll
      for (int load = 0; load < Loads; ++load) read(first_of(load), values[load]);
    }
  }
  __device__ __forceinline__ void ban_in(int first, float (&values)[4]) const {
    ban(banned, banned_count, first, values);
  }
};

/// The highest of a thread's values and of `highest`; NaN when one is NaN.
template <int Loads>
__device__ __forceinline__ float highest_of(const float (&values)[Loads][4], float highest) {
#pragma unroll
  for (int load = 0; load < Loads; ++load) {
#pragma unroll
    for (int i = 0; i < 4; ++i) highest = larger(highest, values[load][i]);
  }
  return highest;
}

/// The lowest id of a thread's values that are `wanted`; loads are in ascending order of ids.
template <int Loads, class FirstOf>
__device__ __forceinline__ token_id first_with(float wanted, const float (&values)[Loads][4],
                                               FirstOf first_of) {
  token_id token = 0x7fffffff;
#pragma unroll
  for (int load = Loads - 1; load >= 0; --load) {
#pragma unroll
    for (int i = 3; i >= 0; --i) token = values[load][i] == wanted ? first_of(load) + i : token;
  }
  return token;
}

}  // namespace tenon::cuda::detail
