// A block's part in sampling: one reading of its slice of the row, of which it lists the best and sums up the rest.
#pragma once

#include <cfloat>
#include <cstddef>
#include <numbers>

#include "tenon/backend/cuda/kernel/sample/block.cuh"
#include "tenon/backend/cuda/kernel/sample/logit_bins.cuh"
#include "tenon/backend/cuda/kernel/sample/row.cuh"
#include "tenon/core/types.hpp"

namespace tenon::cuda::detail {

inline constexpr int sample_threads = 256;
inline constexpr int slice_loads = 8;  // of 4 logits, by each thread
inline constexpr int thread_logits = slice_loads * 4;
inline constexpr int slice_size = sample_threads * thread_logits;
inline constexpr int slice_list =
    252;  // of a slice, at most so many logits are listed: their places fit in bytes

/// What a block leaves for the one that finishes the row.
struct slice_summary {
  float best;   // NaN when the slice has one
  float bound;  // all logits from here up are listed
  float sum;    // of 2^((logit - best) x scale x log2 e), where the row needs it
  int listed;
  token_id best_token;  // for rows that want nothing else
};

/// A logit that a fair number of threads have one above, given each thread's highest: so many that together they hold the best
/// few dozen logits of the slice, so few that what is above fits in the list. `low` is a guess from below.
__device__ __forceinline__ float listing_bound(float highest, float low, float best) {
  constexpr int enough = 64;
  int count = __syncthreads_count(highest >= low && low > -INFINITY);
  const bool scattered = count < enough;  // few threads have logits, or few of a usual size
  if (scattered) {
    count = __syncthreads_count(highest > -INFINITY);
    if (count <= slice_list / thread_logits) return -FLT_MAX;
    low = -FLT_MAX;
  }
  const int wanted = min(enough, count / 2), plenty = wanted * 7 / 4;
  float high = best;  // fewer than wanted have it
  while (count > plenty) {
    const int a = order_of(low), b = order_of(high);
    const float middle = scattered ? value_at((a >> 1) + (b >> 1) + (a & b & 1)) : 0.5f * low + 0.5f * high;
    if (!(middle > low && middle < high)) break;
    const int above = __syncthreads_count(highest >= middle);
    if (above < wanted) {
      high = middle;
    } else {
      low = middle, count = above;
    }
  }
  return low;
}

/// A bit for each of a thread's logits, set where height(logit) has no sign.
template <class Height>
__device__ __forceinline__ unsigned not_negative(const float (&values)[slice_loads][4], Height height) {
  unsigned negative = 0;
#pragma unroll
  for (int load = slice_loads - 1; load >= 0; --load) {
#pragma unroll
    for (int i = 3; i >= 0; --i) {
      negative = __funnelshift_l(__float_as_uint(height(values[load][i])), negative, 1);
    }
  }
  return ~negative;
}

/// How many of a warp's chosen logits there are, and how many before this lane's, in each load; a byte each, those of even
/// loads and those of odd ones.
struct chosen_counts {
  unsigned before[2], of_warp[2];
};

/// `chosen` has a bit for each of a thread's logits.
__device__ __forceinline__ chosen_counts count_chosen(unsigned chosen, int lane) {
  static_assert(slice_loads == 8 && warp_lanes * 4 < 256);
  const unsigned of_twos = chosen - (chosen >> 1 & 0x55555555u);
  const unsigned of_fours = (of_twos & 0x33333333u) + (of_twos >> 2 & 0x33333333u);
  chosen_counts made;
#pragma unroll
  for (int odd = 0; odd < 2; ++odd) {
    const unsigned mine = of_fours >> (odd * 4) & 0x0f0f0f0fu;
    const unsigned through = scan_over_lanes(mine, lane);
    made.before[odd] = through - mine;
    made.of_warp[odd] = __shfl_sync(all_lanes, through, warp_lanes - 1);
  }
  return made;
}

/// Which of a thread's logits go on the list, a bit each, and where the first of each load goes, a byte each (of even loads, of
/// odd loads).
struct listing {
  unsigned chosen = 0;
  unsigned places[2] = {};  // counted from
  int begin = 0;            // this place on the slice's list
  int count = 0;            // of the slice; with more than slice_list, places mean nothing
};

__device__ __forceinline__ listing place_on_list(const float (&values)[slice_loads][4], float bound,
                                                 block<sample_threads>& all) {
  static_assert(slice_list < 256);
  constexpr unsigned each_byte = 0x01010101u;
  listing made;
  made.chosen = not_negative(values, [bound](float logit) { return logit - bound; });
  const chosen_counts counts = count_chosen(made.chosen, all.lane);
  const unsigned of_pairs = counts.of_warp[0] + counts.of_warp[1];  // of a load and the one behind it
  made.places[0] = of_pairs * (each_byte << 8) + counts.before[0];
  made.places[1] = of_pairs * (each_byte << 8) + counts.of_warp[0] + counts.before[1];
  const unsigned of_warp = __dp4a(counts.of_warp[0], each_byte, __dp4a(counts.of_warp[1], each_byte, 0u));
  made.begin = all.sum_before(static_cast<int>(of_warp), made.count);
  return made;
}

/// Summarises the slice of `row` that begins at logit `begin`, and lists its best in ascending order of ids. Where a sum is
/// needed, its logits are counted by bins too. `counts` is shared memory.
__device__ __forceinline__ void summarise_slice(const row_view& row, int begin, bool only_best,
                                                bool needs_sum, float scale, block<sample_threads>& all,
                                                unsigned (&counts)[logit_bins], unsigned short* bins,
                                                slice_summary& summary, float* list, token_id* ids) {
  const int warp_begin = begin + all.warp * warp_lanes * thread_logits;
  const int first = warp_begin + all.lane * 4;
  const auto first_of = [first](int load) { return first + load * warp_lanes * 4; };
  float values[slice_loads][4];
  row.read_all(warp_begin + warp_lanes * thread_logits <= row.vocabulary, first_of, values);
  counts[threadIdx.x] = 0;
  float highest = highest_of(values, -INFINITY);
  if (row.banned_count > 0) {  // a NaN counts before bans, as on the host
#pragma unroll
    for (int load = 0; load < slice_loads; ++load) row.ban_in(first_of(load), values[load]);
    highest = highest_of(values, highest != highest ? highest : -INFINITY);
  }
  const int order = order_of(highest);
  const int2 of_warp =
      all.exchange(make_int2(__reduce_max_sync(all_lanes, order), __reduce_min_sync(all_lanes, order)));
  const float best = value_at(__reduce_max_sync(all_lanes, of_warp.x));
  const bool ordinary = best > -INFINITY && best < INFINITY;  // false for NaN

  if (only_best || !ordinary) {
    const int token = all.min(highest == best ? first_with(best, values, first_of) : 0x7fffffff);
    if (threadIdx.x == 0) summary = {best, best == -INFINITY ? best : INFINITY, 0, 0, token};
    return;
  }

  float sum = 0;
  if (needs_sum) {
    const float to_exponent = scale * std::numbers::log2e_v<float>;
#pragma unroll
    for (int load = 0; load < slice_loads; ++load) {
#pragma unroll
      for (int i = 0; i < 4; ++i) sum += exp2_fast((values[load][i] - best) * to_exponent);
    }
    const logit_grid grid(scale);
    const float lowest = grid.window(grid.at(best));
#pragma unroll
    for (int load = 0; load < slice_loads; ++load) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float place = grid.at(values[load][i]);
        if (place >= lowest) atomicAdd(&counts[logit_grid::bin(place)], 1u);
      }
    }
    sum = all.sum(sum);
    bins[threadIdx.x] = static_cast<unsigned short>(counts[threadIdx.x]);
  }

  const float bound = listing_bound(highest, value_at(__reduce_max_sync(all_lanes, of_warp.y)), best);
  listing listed = place_on_list(values, bound, all);
  const bool fits = listed.count <= slice_list;
  if (threadIdx.x == 0) {
    summary = {best,
               !fits              ? INFINITY
               : bound > -FLT_MAX ? bound
                                  : -INFINITY,
               sum, fits ? listed.count : 0, 0};
  }
  if (!fits) return;
  while (listed.chosen != 0) {
    const int bit = __ffs(static_cast<int>(listed.chosen)) - 1, load = bit / 4, byte = load / 2 * 8;
    listed.chosen &= listed.chosen - 1;
    const unsigned places =
        load % 2 == 0 ? listed.places[0] : listed.places[1];  // an index would need memory
    const int place = listed.begin + static_cast<int>(places >> byte & 255u);
    listed.places[0] += load % 2 == 0 ? 1u << byte : 0u;
    listed.places[1] += load % 2 == 0 ? 0u : 1u << byte;
    const token_id id = first + load * warp_lanes * 4 + bit % 4;
    list[place] = row.logits[id];
    ids[place] = id;
  }
}

}  // namespace tenon::cuda::detail
