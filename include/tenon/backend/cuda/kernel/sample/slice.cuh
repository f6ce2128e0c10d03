// A block's part in sampling: one reading of its slice of the row, of which it lists the best and sums up the rest.
#pragma once

#include <cfloat>
#include <cstddef>

#include "tenon/backend/cuda/kernel/sample/block.cuh"
#include "tenon/core/types.hpp"

namespace tenon::cuda::detail {

inline constexpr int sample_threads = 512;
inline constexpr int slice_loads = 2;                                // of 4 logits, by each thread
inline constexpr int slice_size = sample_threads * slice_loads * 4;  // logits
inline constexpr int slice_list = 256;                               // of a slice, at most so many are listed

/// A row of logits as the model left it. Banned tokens count as -inf.
struct row_view {
  const float* logits;
  int vocabulary;
  const token_id* banned;
  int banned_count;

  /// Four logits, the first one's id a multiple of 4; -inf behind the vocabulary.
  __device__ __forceinline__ void read(int first, float (&values)[4]) const {
    float4 four = make_float4(-INFINITY, -INFINITY, -INFINITY, -INFINITY);
    if (first < vocabulary) four = __ldcg(reinterpret_cast<const float4*>(logits + first));
    values[0] = four.x, values[1] = four.y, values[2] = four.z, values[3] = four.w;
    if (first + 4 <= vocabulary) return;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (first + i >= vocabulary) values[i] = -INFINITY;
    }
  }
  __device__ __forceinline__ void ban(int first, float (&values)[4]) const {
    for (int b = 0; b < banned_count; ++b) {
      const int offset = banned[b] - first;
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        if (offset == i) values[i] = -INFINITY;
      }
    }
  }
};

/// What a block leaves for the one that finishes the row.
struct slice_summary {
  float best;   // NaN when the slice has one
  float bound;  // all logits from here up are listed
  float sum;    // of 2^((logit - best) x scale x log2 e), where the row needs it
  int listed;
  token_id best_token;  // for rows that want nothing else
};

/// A logit that a fair number of the slice's threads have one above, given each thread's highest: so many that together they
/// hold the best few dozen logits of the slice, so few that they fit in the list. Bisects the order of floats.
__device__ __forceinline__ float listing_bound(float highest_of_thread, float best,
                                               const block<sample_threads>& all) {
  constexpr int enough = 64, plenty = 144;
  const bool possible = highest_of_thread > -INFINITY;
  const int high = order_of(best), mine = order_of(highest_of_thread);
  const int low = all.min(possible ? mine : high);
  if (__syncthreads_count(possible) <= slice_list / (slice_loads * 4)) return -FLT_MAX;
  // Always: from `above` up there are too few or none, from `bound` up enough (or all there are).
  unsigned above = static_cast<unsigned>(high) - static_cast<unsigned>(low) + 1, bound = 0;
  const unsigned distance = static_cast<unsigned>(mine) - static_cast<unsigned>(low);
  while (above - bound > 1) {
    const unsigned middle = bound + (above - bound) / 2;
    const int count = __syncthreads_count(possible && distance >= middle);
    if (count < enough) {
      above = middle;
    } else {
      bound = middle;
      if (count <= plenty) break;
    }
  }
  return value_at(static_cast<int>(static_cast<unsigned>(low) + bound));
}

/// Summarises the slice of `row` that begins at logit `begin`, and lists its best in ascending order of ids.
__device__ __forceinline__ void summarise_slice(const row_view& row, int begin, bool only_best, bool needs_sum,
                                                float scale, const block<sample_threads>& all,
                                                slice_summary& summary, float* list, token_id* ids) {
  const int thread = static_cast<int>(threadIdx.x);
  const auto first_of = [&](int load) { return begin + (load * sample_threads + thread) * 4; };
  float values[slice_loads][4];
  float highest = -INFINITY;
#pragma unroll
  for (int load = 0; load < slice_loads; ++load) row.read(first_of(load), values[load]);
  const auto find_highest = [&](float from) {
    highest = from;
#pragma unroll
    for (int load = 0; load < slice_loads; ++load) {
#pragma unroll
      for (int i = 0; i < 4; ++i) highest = larger(highest, values[load][i]);
    }
  };
  find_highest(-INFINITY);
  if (row.banned_count > 0) {  // a NaN counts before bans, as on the host
#pragma unroll
    for (int load = 0; load < slice_loads; ++load) row.ban(first_of(load), values[load]);
    find_highest(highest != highest ? highest : -INFINITY);
  }
  const float best = all.max(highest);
  const bool ordinary = best > -INFINITY && best < INFINITY;  // false for NaN

  if (only_best || !ordinary) {
    int token = 0x7fffffff;
#pragma unroll
    for (int load = slice_loads - 1; load >= 0; --load) {
#pragma unroll
      for (int i = 3; i >= 0; --i) token = values[load][i] == best ? first_of(load) + i : token;
    }
    token = all.min(token);
    if (thread == 0) summary = {best, best == -INFINITY ? best : INFINITY, 0, 0, token};
    return;
  }

  float sum = 0;
  if (needs_sum) {
    const float to_exponent = scale * log2_e;
#pragma unroll
    for (int load = 0; load < slice_loads; ++load) {
#pragma unroll
      for (int i = 0; i < 4; ++i) sum += exp2_fast((values[load][i] - best) * to_exponent);
    }
    sum = all.sum(sum);
  }

  const float bound = listing_bound(highest, best, all);
  int counts = 0;  // of the first load in the low half, of the second in the high one
#pragma unroll
  for (int load = 0; load < slice_loads; ++load) {
#pragma unroll
    for (int i = 0; i < 4; ++i) counts += values[load][i] >= bound ? 1 << (16 * load) : 0;
  }
  int total = 0;
  const int before = all.scan(counts, total) - counts;
  const int listed = (total & 0xffff) + (total >> 16);
  const bool fits = listed <= slice_list;
  if (thread == 0) {
    summary = {best, !fits ? INFINITY : bound > -FLT_MAX ? bound : -INFINITY, sum, fits ? listed : 0, 0};
  }
  if (!fits || counts == 0) return;
#pragma unroll
  for (int load = 0; load < slice_loads; ++load) {
    int at = load == 0 ? before & 0xffff : (total & 0xffff) + (before >> 16);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (values[load][i] >= bound) list[at] = values[load][i], ids[at] = first_of(load) + i, ++at;
    }
  }
}

}  // namespace tenon::cuda::detail
