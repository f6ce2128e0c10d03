// Greedy sampling: the best token of each row of logits, without the logits leaving the device.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tenon/backend/cuda/kernel/sample/ban.cuh"
#include "tenon/backend/cuda/launch.cuh"
#include "tenon/backend/cuda/memory.hpp"
#include "tenon/backend/cuda/warp.cuh"
#include "tenon/core/types.hpp"
#include "tenon/sample/fault.hpp"

namespace tenon::cuda {

/// A token, or why there is none (then token is -1): sampling::result, as device code writes it.
struct chosen_token {
  token_id token;
  sampling::fault fault;
};

namespace detail {

/// The best of some logits: the largest, and of equals the one with the lowest id.
struct best_logit {
  float value;
  token_id token;
  int has_nan;

  __device__ __forceinline__ void take(const best_logit& other) {
    has_nan |= other.has_nan;
    if (other.value > value || (other.value == value && other.token < token))
      value = other.value, token = other.token;
  }
};

/// The best of all lanes, in lane 0.
__device__ __forceinline__ best_logit best_over_lanes(best_logit best) {
#pragma unroll
  for (int step = warp_lanes / 2; step > 0; step /= 2) {
    best.take({__shfl_down_sync(all_lanes, best.value, step), __shfl_down_sync(all_lanes, best.token, step),
               __shfl_down_sync(all_lanes, best.has_nan, step)});
  }
  return best;
}

}  // namespace detail

template <class Bans>
struct argmax_parameters {
  const float* logits;          // [rows, stride], 16-byte aligned
  int stride;                   // a multiple of 4
  int vocabulary;               // the logits behind are padding
  detail::best_logit* partial;  // [rows, blocks]
  unsigned* arrived;            // [rows], zeros before and after
  chosen_token* chosen;         // [rows]
  Bans bans;
};

/// Several blocks a row, so that one row keeps the device busy; the last to arrive joins what all have found. Any order
/// gives the same answer, as there is one best.
template <int Threads, int Loads, class Bans>
__global__ void __launch_bounds__(Threads) argmax_kernel(const __grid_constant__ argmax_parameters<Bans> p) {
  using detail::best_logit;
  __shared__ best_logit of_warps[Threads / warp_lanes];
  __shared__ bool is_last;
  const best_logit nothing{-INFINITY, 0x7fffffff, 0};
  const int warp = static_cast<int>(threadIdx.x) / warp_lanes,
            lane = static_cast<int>(threadIdx.x) % warp_lanes;
  const auto over_block = [&](best_logit best) {
    best = detail::best_over_lanes(best);
    if (lane == 0) of_warps[warp] = best;
    __syncthreads();
    return warp == 0 ? detail::best_over_lanes(lane < Threads / warp_lanes ? of_warps[lane] : nothing)
                     : nothing;
  };

  const float* row = p.logits + static_cast<std::size_t>(blockIdx.y) * static_cast<std::size_t>(p.stride);
  best_logit best = nothing;
#pragma unroll
  for (int load = 0; load < Loads; ++load) {
    const int first =
        ((static_cast<int>(blockIdx.x) * Loads + load) * Threads + static_cast<int>(threadIdx.x)) * 4;
    if (first >= p.vocabulary) continue;
    const float4 four = __ldcs(reinterpret_cast<const float4*>(row + first));
    const float values[4] = {four.x, four.y, four.z, four.w};
    float allowed[4] = {four.x, four.y, four.z, four.w};
    p.bans.apply(blockIdx.y, first, allowed);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (first + i < p.vocabulary) best.take({allowed[i], first + i, values[i] != values[i]});
    }
  }
  best = over_block(best);

  best_logit* partial = p.partial + static_cast<std::size_t>(blockIdx.y) * gridDim.x;
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = best;
    __threadfence();
    is_last = atomicAdd(p.arrived + blockIdx.y, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (!is_last) return;
  __threadfence();
  best = nothing;
  for (unsigned i = threadIdx.x; i < gridDim.x; i += Threads) {
    best.take({__ldcg(&partial[i].value), __ldcg(&partial[i].token), __ldcg(&partial[i].has_nan)});
  }
  best = over_block(best);
  if (threadIdx.x != 0) return;
  p.arrived[blockIdx.y] = 0;
  const bool possible = best.value > -INFINITY;
  const auto fault = best.has_nan ? sampling::fault::nan_logits
                     : possible   ? sampling::fault::none
                                  : sampling::fault::nothing_possible;
  p.chosen[blockIdx.y] = {fault == sampling::fault::none ? best.token : -1, fault};
}

/// The best token of each row, for up to `rows` rows of up to `vocabulary` logits. Owns the memory that the blocks meet in.
class argmax {
 public:
  argmax(std::size_t rows, std::size_t vocabulary, const stream& on)
      : partial_(rows * blocks_for(vocabulary)), arrived_(rows) {
    arrived_.zero(on);
  }

  /// chosen [rows]; logits [rows, stride] with stride a multiple of 4.
  void run(const stream& on, const float* logits, std::size_t stride, std::size_t rows,
           std::size_t vocabulary, chosen_token* chosen) {
    run_without(detail::no_bans{}, on, logits, stride, rows, vocabulary, chosen);
  }
  /// The same without the tokens that each row's request bans; requests [rows], in device memory.
  template <class Policy>
  void run(const stream& on, const float* logits, std::size_t stride, std::size_t rows,
           std::size_t vocabulary, const row_request<Policy>* requests, chosen_token* chosen) {
    run_without(detail::request_bans<Policy>{requests}, on, logits, stride, rows, vocabulary, chosen);
  }

  /// Bytes of device memory that one owns.
  static constexpr std::size_t bytes(std::size_t rows, std::size_t vocabulary) {
    return rows * (blocks_for(vocabulary) * sizeof(detail::best_logit) + sizeof(unsigned));
  }

 private:
  static constexpr int threads = 256, loads = 4;
  static constexpr std::size_t blocks_for(std::size_t vocabulary) {
    return (vocabulary + threads * loads * 4 - 1) / (threads * loads * 4);
  }

  template <class Bans>
  void run_without(const Bans& bans, const stream& on, const float* logits, std::size_t stride,
                   std::size_t rows, std::size_t vocabulary, chosen_token* chosen) {
    launch(argmax_kernel<threads, loads, Bans>, "argmax_kernel",
           {dim3(static_cast<unsigned>(blocks_for(vocabulary)), static_cast<unsigned>(rows)), dim3(threads)},
           on,
           {logits, static_cast<int>(stride), static_cast<int>(vocabulary), partial_.data(), arrived_.data(),
            chosen, bans});
  }

  device_buffer<detail::best_logit> partial_;
  device_buffer<unsigned> arrived_;
};

}  // namespace tenon::cuda
