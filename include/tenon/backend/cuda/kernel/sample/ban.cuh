// Tokens that a row must not choose, taken out of its logits as they are read.
#pragma once

#include "tenon/backend/cuda/kernel/sample/request.hpp"
#include "tenon/core/types.hpp"

namespace tenon::cuda::detail {

/// Makes -inf of those of four logits, the first one's id `first`, that are banned.
__device__ __forceinline__ void ban(const token_id* banned, int count, int first, float (&values)[4]) {
  for (int b = 0; b < count; ++b) {
    const int offset = banned[b] - first;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (offset == i) values[i] = -INFINITY;
    }
  }
}

/// No row has banned tokens.
struct no_bans {
  __device__ __forceinline__ bool any(unsigned) const { return false; }
  __device__ __forceinline__ void apply(unsigned, int, float (&)[4]) const {}
};

/// The banned tokens of each row's request.
template <class Policy>
struct request_bans {
  const row_request<Policy>* requests;  // [rows]

  __device__ __forceinline__ bool any(unsigned row) const { return requests[row].banned_count > 0; }
  __device__ __forceinline__ void apply(unsigned row, int first, float (&values)[4]) const {
    ban(requests[row].banned, requests[row].banned_count, first, values);
  }
};

}  // namespace tenon::cuda::detail
