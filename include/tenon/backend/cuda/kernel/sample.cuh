// Sampling on the device by the policy's own stages (tenon/sample): the logits are read once, by several blocks a row; the
// last of a row to be done applies the stages to what they found, and draws.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>

#include "tenon/backend/cuda/kernel/argmax.cuh"
#include "tenon/backend/cuda/kernel/sample/candidates.cuh"
#include "tenon/backend/cuda/kernel/sample/preview.cuh"
#include "tenon/backend/cuda/kernel/sample/request.hpp"
#include "tenon/backend/cuda/kernel/sample/slice.cuh"
#include "tenon/backend/cuda/launch.cuh"
#include "tenon/backend/cuda/memory.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/core/error.hpp"
#include "tenon/core/philox.hpp"
#include "tenon/policy/sampling.hpp"

namespace tenon::cuda {

namespace detail {

template <class Stage, class Candidates>
constexpr bool can_apply_to() {
  using request = row_request<sampling::detail::any_policy_with<Stage>>;
  if constexpr (sampling::detail::reads_request<Stage>) {
    return requires(Candidates & c, const request& r) { Stage::apply(c, r); };
  } else if constexpr (sampling::detail::brings_params<Stage>) {
    return requires(Candidates & c, const typename Stage::params& own) { Stage::apply(c, own); };
  } else {
    return requires(Candidates & c) { Stage::apply(c); };
  }
}

template <class>
inline constexpr bool stages_on_device = true;
template <class... Stages>
inline constexpr bool stages_on_device<sampling::chain<Stages...>> =
    ((can_apply_to<Stages, row_candidates>() && can_apply_to<Stages, preview>()) && ...);

}  // namespace detail

/// A stage that device code can apply: a template over the candidates, marked TENON_HOST_DEVICE_TEMPLATE, as
///   TENON_HOST_DEVICE_TEMPLATE static void apply(auto& candidates, const params& own);
/// that uses what row_candidates has.
template <class Stage>
concept device_stage = sampling::sampling_stage<Stage> &&
    detail::can_apply_to<Stage, row_candidates>() && detail::can_apply_to<Stage, detail::preview>();

template <class Policy>
struct sample_parameters {
  const float* logits;                  // [rows, stride], 16-byte aligned
  int stride;                           // a multiple of 4
  int vocabulary;                       // the logits behind are padding
  const row_request<Policy>* requests;  // [rows]
  detail::slice_summary* slices;        // [rows, slices]
  float* lists;                         // [rows, slices, slice_list]
  token_id* ids;                        // [rows, slices, slice_list]
  unsigned short* bins;                 // [rows, slices, logit_bins]
  float* work;                          // [rows, work_stride]
  int work_stride;
  unsigned* arrived;     // [rows], zeros before and after
  chosen_token* chosen;  // [rows]
};

template <class Policy>
__global__ void __launch_bounds__(detail::sample_threads)
    sample_kernel(const __grid_constant__ sample_parameters<Policy> p) {
  __shared__ detail::candidate_memory memory;
  __shared__ bool is_last;
  const std::size_t row = blockIdx.y, slices = gridDim.x, first = row * slices, slice = first + blockIdx.x;
  const row_request<Policy> request = p.requests[row];
  const detail::row_view logits{p.logits + row * static_cast<std::size_t>(p.stride), p.vocabulary,
                                request.banned, request.banned_count};
  const bool only_best = Policy::picks_best(request);
  detail::preview ahead(request.seed, request.token_index);
  if (!only_best) Policy::apply(ahead, request);
  const bool summed = ahead.needs_sum() && !only_best;

  detail::block<detail::sample_threads> all(memory.of_warps);
  detail::summarise_slice(logits, static_cast<int>(blockIdx.x) * detail::slice_size, only_best, summed,
                          ahead.scale(), all, memory.counts, p.bins + slice * detail::logit_bins,
                          p.slices[slice], p.lists + slice * detail::slice_list,
                          p.ids + slice * detail::slice_list);
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    is_last = atomicAdd(p.arrived + row, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (!is_last) return;
  __threadfence();

  row_candidates candidates(
      memory, all, logits,
      {p.slices + first, p.lists + first * detail::slice_list, p.ids + first * detail::slice_list,
       p.bins + first * detail::logit_bins, p.work + row * static_cast<std::size_t>(p.work_stride),
       static_cast<int>(slices)},
      ahead.scale(), summed, request.seed, request.token_index);
  sampling::fault fault = candidates.begin(only_best);
  if (fault == sampling::fault::none && !only_best) fault = Policy::apply(candidates, request);
  token_id token = -1;
  if (fault == sampling::fault::none) {
    token = only_best ? candidates.best_token()
                      : candidates.draw(philox::uniform53(request.seed, request.token_index));
  }
  if (threadIdx.x != 0) return;
  p.arrived[row] = 0;
  p.chosen[row] = {token, fault};
}

/// Chooses tokens by a sampling policy for up to `rows` rows of up to `vocabulary` logits. What is chosen depends on the row,
/// its request, its seed and the number of its token, and on nothing else; it is the host's choice, but where the random
/// number falls within 2^-18 of the border between two tokens, or top_p within as much of the border of its nucleus. Owns the
/// memory that the blocks meet in.
template <sampling::sampling_policy Policy>
class sampler {
  static_assert(
      detail::stages_on_device<Policy>,
      "tenon: a stage of this sampling::chain<...> cannot run on the device; write its apply as "
      "'TENON_HOST_DEVICE_TEMPLATE static void apply(auto& candidates, ...)' with the operations that "
      "cuda::row_candidates has, or sample on the host");

 public:
  sampler(std::size_t rows, std::size_t vocabulary, const stream& on)
      : slices_(rows * slices_for(vocabulary)),
        lists_(slices_.size() * detail::slice_list),
        ids_(slices_.size() * detail::slice_list),
        bins_(slices_.size() * detail::logit_bins),
        work_(rows * work_stride(vocabulary)),
        arrived_(rows) {
    if (slices_for(vocabulary) > detail::sample_threads) {
      throw error(concat("a vocabulary of ", vocabulary, " tokens is more than the ",
                         detail::sample_threads * detail::slice_size,
                         " that sampling on the device has room for"));
    }
    arrived_.zero(on);
  }

  /// chosen [rows]; logits [rows, stride] with stride a multiple of 4, not changed; requests [rows], in device memory, from
  /// make_row_request().
  void run(const stream& on, const float* logits, std::size_t stride, std::size_t rows,
           std::size_t vocabulary, const row_request<Policy>* requests, chosen_token* chosen) {
    launch(sample_kernel<Policy>, "sample_kernel",
           {dim3(static_cast<unsigned>(slices_for(vocabulary)), static_cast<unsigned>(rows)),
            dim3(detail::sample_threads)},
           on,
           {logits, static_cast<int>(stride), static_cast<int>(vocabulary), requests, slices_.data(),
            lists_.data(), ids_.data(), bins_.data(), work_.data(), static_cast<int>(work_stride(vocabulary)),
            arrived_.data(), chosen});
  }

  /// Bytes of device memory that one owns.
  static constexpr std::size_t bytes(std::size_t rows, std::size_t vocabulary) {
    const std::size_t of_slice = sizeof(detail::slice_summary) +
                                 detail::slice_list * (sizeof(float) + sizeof(token_id)) +
                                 detail::logit_bins * sizeof(unsigned short);
    return rows *
           (slices_for(vocabulary) * of_slice + work_stride(vocabulary) * sizeof(float) + sizeof(unsigned));
  }

 private:
  static constexpr std::size_t slices_for(std::size_t vocabulary) {
    return (vocabulary + detail::slice_size - 1) / detail::slice_size;
  }
  static constexpr std::size_t work_stride(std::size_t vocabulary) { return (vocabulary + 3) / 4 * 4; }

  device_buffer<detail::slice_summary> slices_;
  device_buffer<float> lists_;
  device_buffer<token_id> ids_;
  device_buffer<unsigned short> bins_;
  device_buffer<float> work_;
  device_buffer<unsigned> arrived_;
};

/// Greedy needs no more than the best token.
template <>
class sampler<sampling::greedy> {
 public:
  sampler(std::size_t rows, std::size_t vocabulary, const stream& on) : best_(rows, vocabulary, on) {}

  void run(const stream& on, const float* logits, std::size_t stride, std::size_t rows,
           std::size_t vocabulary, const row_request<sampling::greedy>* requests, chosen_token* chosen) {
    best_.run(on, logits, stride, rows, vocabulary, requests, chosen);
  }
  static constexpr std::size_t bytes(std::size_t rows, std::size_t vocabulary) {
    return argmax::bytes(rows, vocabulary);
  }

 private:
  argmax best_;
};

}  // namespace tenon::cuda
