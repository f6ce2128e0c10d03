// Attention over a cache of fp32, in fp32 throughout and without tensor cores: what the others are held against, and for
// who wants it. One block a token and head; the softmax goes over chunks as everywhere.
#pragma once

#include "tenon/backend/cuda/kernel/attention_finish.cuh"
#include "tenon/backend/cuda/kernel/attention_softmax.cuh"

namespace tenon::cuda {

/// Grid [tokens of the longest span, heads, spans].
template <class Policy, class View>
__global__ void __launch_bounds__(attention_threads)
    attention_f32_kernel(const __grid_constant__ attention_parameters<View> p) {
  using namespace detail;
  constexpr int threads = attention_threads, chunk_size = threads,
                most_lanes = 2;  // of a head, for each thread
  __shared__ float query[most_lanes * threads], weights[chunk_size];
  __shared__ int rows[chunk_size];
  __shared__ float largest_of[threads / warp_lanes], sums_of[threads / warp_lanes];

  const attention_span span = p.spans[blockIdx.z];
  const int token = static_cast<int>(blockIdx.x), head = static_cast<int>(blockIdx.y);
  if (token >= span.count) return;
  const int row = span.first_row + token, position = span.first_position + token;
  const auto stride = p.cache.key_bytes / sizeof(float);
  const std::size_t first_value =
      static_cast<std::size_t>(head / (p.heads / p.kv_heads)) * p.cache.rows * stride;
  const float* keys = reinterpret_cast<const float*>(p.cache.keys) + first_value;
  const float* values = reinterpret_cast<const float*>(p.cache.values) + first_value;
  const View view = p.views[blockIdx.z];

  const int thread = static_cast<int>(threadIdx.x);
  for (int i = thread; i < p.head_dim; i += threads)
    query[i] = p.query_key_value[static_cast<std::size_t>(row) *
                                     static_cast<std::size_t>((p.heads + 2 * p.kv_heads) * p.head_dim) +
                                 static_cast<std::size_t>(head * p.head_dim + i)];
  float total[most_lanes] = {0, 0}, largest = -INFINITY, sum = 0;
  const int first_key = first_seen<Policy>(position);
  const seen_chunks<Policy, chunk_size> chunk_at(first_key, position + 1);
  for (int chunk = 0; chunk < chunk_at.count; ++chunk) {
    const int key = chunk_at[chunk] * chunk_size + thread;
    const bool is_seen = (key >= first_key || is_sink<Policy>(key)) && key <= position;
    rows[thread] = is_seen ? static_cast<int>(view.row(static_cast<std::size_t>(key))) : -1;
    __syncthreads();
    float score = -INFINITY;
    if (is_seen) {
      const auto* from =
          reinterpret_cast<const float4*>(keys + static_cast<std::size_t>(rows[thread]) * stride);
      float dot = 0;
      for (int i = 0; i < p.head_dim / 4; ++i) {
        const float4 four = __ldg(from + i);
        dot = __fmaf_rn(query[4 * i], four.x, dot);
        dot = __fmaf_rn(query[4 * i + 1], four.y, dot);
        dot = __fmaf_rn(query[4 * i + 2], four.z, dot);
        dot = __fmaf_rn(query[4 * i + 3], four.w, dot);
      }
      score = capped<Policy>(dot);
    }
    float of_chunk = score;
#pragma unroll
    for (int step = warp_lanes / 2; step > 0; step /= 2)
      of_chunk = fmaxf(of_chunk, __shfl_xor_sync(all_lanes, of_chunk, step));
    if (thread % warp_lanes == 0) largest_of[thread / warp_lanes] = of_chunk;
    __syncthreads();
#pragma unroll
    for (float each : largest_of) of_chunk = fmaxf(of_chunk, each);
    weights[thread] = weight(score, weight_base(of_chunk));
    const float sum_of_chunk =
        sum_over_block<threads>(weights[thread], sums_of);  // and all weights are there

    const fold_factors factors = fold_factors::of(largest, of_chunk);
    sum = factors.fold(sum, sum_of_chunk);
#pragma unroll
    for (int part = 0; part < most_lanes; ++part) {
      const int lane = part * threads + thread;
      if (lane >= p.head_dim) continue;
      float out = 0;
      for (int i = 0; i < chunk_size; ++i) {
        if (rows[i] >= 0)
          out = __fmaf_rn(weights[i], __ldg(values + static_cast<std::size_t>(rows[i]) * stride + lane), out);
      }
      total[part] = factors.fold(total[part], out);
    }
    __syncthreads();  // weights and rows are done with
  }
  const float factor = normaliser(sum);
#pragma unroll
  for (int part = 0; part < most_lanes; ++part) {
    const int lane = part * threads + thread;
    if (lane < p.head_dim)
      p.workspace.rows[static_cast<std::size_t>(row * p.heads + head) * static_cast<std::size_t>(p.head_dim) +
                       static_cast<std::size_t>(lane)] = __fmul_rn(total[part], factor);
  }
  finish_rows<threads>(p, row, 1, p.heads);
}

}  // namespace tenon::cuda
