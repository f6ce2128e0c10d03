// Greedy sampling: the best token of each row of logits, without the logits leaving the device.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tenon/backend/cuda/kernel/sample/ban.cuh"
#include "tenon/backend/cuda/kernel/sample/block.cuh"
#include "tenon/backend/cuda/kernel/sample/row.cuh"
#include "tenon/backend/cuda/launch.cuh"
#include "tenon/backend/cuda/memory.hpp"
#include "tenon/core/types.hpp"
#include "tenon/sample/fault.hpp"

namespace tenon::cuda {

/// A token, or why there is none (then token is -1): sampling::result, as device code writes it.
struct chosen_token {
  token_id token;
  sampling::fault fault;
};

namespace detail {

/// The best of some logits: the largest, NaN when there is one, and of equals the one with the lowest id.
struct best_logit {
  float value;
  token_id token;
};

/// The best of a block's threads: of the highest values that they have, and the tokens that they then find with the best.
template <int Threads, class FindToken>
__device__ __forceinline__ best_logit best_over_block(block<Threads>& all, float highest,
                                                      FindToken first_with) {
  const float best = all.max(highest);
  return {best, all.min(highest == best ? first_with(best) : 0x7fffffff)};
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
  __shared__ typename detail::block<Threads>::memory of_warps;
  __shared__ bool is_last;
  detail::block<Threads> all(of_warps);

  const detail::row_view row{
      p.logits + static_cast<std::size_t>(blockIdx.y) * static_cast<std::size_t>(p.stride), p.vocabulary,
      nullptr, 0};
  const int begin = static_cast<int>(blockIdx.x) * Loads * Threads * 4;
  const auto first_of = [&](int load) {
    return begin + (load * Threads + static_cast<int>(threadIdx.x)) * 4;
  };
  float values[Loads][4];
  row.read_all(begin + Loads * Threads * 4 <= p.vocabulary, first_of, values);
  float highest = detail::highest_of(values, -INFINITY);
  if (p.bans.any(blockIdx.y)) {  // a NaN counts before bans, as on the host
#pragma unroll
    for (int load = 0; load < Loads; ++load) p.bans.apply(blockIdx.y, first_of(load), values[load]);
    highest = detail::highest_of(values, highest != highest ? highest : -INFINITY);
  }
  best_logit best = detail::best_over_block(
      all, highest, [&](float wanted) { return detail::first_with(wanted, values, first_of); });

  best_logit* partial = p.partial + static_cast<std::size_t>(blockIdx.y) * gridDim.x;
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = best;
    __threadfence();
    is_last = atomicAdd(p.arrived + blockIdx.y, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (!is_last) return;
  __threadfence();
  highest = -INFINITY;
  for (unsigned i = threadIdx.x; i < gridDim.x; i += Threads) {
    highest = detail::larger(highest, __ldcg(&partial[i].value));
  }
  best = detail::best_over_block(all, highest, [&](float wanted) {
    for (unsigned i = threadIdx.x; i < gridDim.x; i += Threads) {
      if (__ldcg(&partial[i].value) == wanted) return __ldcg(&partial[i].token);
    }
    return 0x7fffffff;
  });
  if (threadIdx.x != 0) return;
  p.arrived[blockIdx.y] = 0;
  const auto fault = best.value != best.value ? sampling::fault::nan_logits
                     : best.value > -INFINITY ? sampling::fault::none
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
