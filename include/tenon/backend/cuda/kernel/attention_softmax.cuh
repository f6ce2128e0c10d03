// The arithmetic of the softmax over chunks, written once: every kernel takes a chunk's weights relative to the chunk's
// largest score and joins the chunks in ascending order with fold() (Milakov and Gimelshein 2018, arXiv 1805.02867; Dao et
// al. 2022, arXiv 2205.14135). Contraction is spelled out, so that the compiler cannot round one kernel unlike another.
#pragma once

#include <numbers>

#include "tenon/backend/cuda/kernel/attention_parameters.cuh"

namespace tenon::cuda::detail {

/// 2^x; zero for -infinity.
__device__ __forceinline__ float power_of_2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/// A score as the layer's options have it. What is not seen is -infinity.
template <attention_policy Policy>
__device__ __forceinline__ float capped(float score) {
  if constexpr (Policy::soft_cap > 0) {
    return __fmul_rn(Policy::soft_cap, tanhf(__fdiv_rn(score, Policy::soft_cap)));
  } else {
    return score;
  }
}

/// The first position that the token at `position` sees behind the sinks. It sees all from there up to its own.
template <attention_policy Policy>
__device__ __forceinline__ int first_seen(int position) {
  if constexpr (Policy::window > 0) {
    return max(0, position - Policy::window + 1);
  } else {
    return 0;
  }
}

/// Whether a position is one of the sinks, which every later token sees.
template <attention_policy Policy>
__device__ __forceinline__ bool is_sink(int position) {
  return Policy::sinks > 0 && position < Policy::sinks;
}

/// The chunks of a sequence in which something is seen of the positions [first, end): those of the sinks, and those.
template <attention_policy Policy, int Chunk>
struct seen_chunks {
  int of_sinks, first, count;

  __device__ __forceinline__ seen_chunks(int first_position, int end)
      : of_sinks(min((Policy::sinks + Chunk - 1) / Chunk, first_position / Chunk)),
        first(first_position / Chunk - of_sinks),
        count((end + Chunk - 1) / Chunk - first) {}

  __device__ __forceinline__ int operator[](int i) const { return i < of_sinks ? i : first + i; }
};

/// What weights are relative to, for a chunk whose largest score that is.
__device__ __forceinline__ float weight_base(float largest) {
  return largest == -INFINITY ? 0.0f : __fmul_rn(largest, std::numbers::log2e_v<float>);
}
__device__ __forceinline__ float weight(float score, float base) {
  return power_of_2(__fmaf_rn(score, std::numbers::log2e_v<float>, -base));
}

/// What has been seen, and a chunk more.
struct fold_factors {
  float before, chunk;
  /// Takes a chunk's largest score into the largest of all. A chunk of which nothing is seen adds zeros (or NaN).
  static __device__ __forceinline__ fold_factors of(float& largest, float of_chunk) {
    if (of_chunk == -INFINITY) return {1.0f, 1.0f};
    const float before = largest;
    largest = fmaxf(before, of_chunk);
    return {power_of_2(__fmul_rn(__fsub_rn(before, largest), std::numbers::log2e_v<float>)),
            power_of_2(__fmul_rn(__fsub_rn(of_chunk, largest), std::numbers::log2e_v<float>))};
  }
  __device__ __forceinline__ float fold(float so_far, float of_chunk) const {
    return __fmaf_rn(of_chunk, chunk, __fmul_rn(so_far, before));
  }
};

/// The factor that makes sums of weighted values the result: zero for a query that sees nothing, NaN for NaN.
__device__ __forceinline__ float normaliser(float sum) { return sum == 0.0f ? 0.0f : __fdiv_rn(1.0f, sum); }

}  // namespace tenon::cuda::detail
