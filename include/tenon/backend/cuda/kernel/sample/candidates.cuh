// The tokens that may still be drawn for one row, as sampling::candidates is them on the host, here in the hands of one
// block: all its threads call each operation with the same arguments. It works on a short list of the row's best logits,
// which is complete down to a bound, and on sums over the rest. A question that goes below the bound makes it read the row
// again, into memory of its own.
#pragma once

#include <cfloat>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>

#include "tenon/backend/cuda/kernel/sample/block.cuh"
#include "tenon/backend/cuda/kernel/sample/slice.cuh"
#include "tenon/core/philox.hpp"
#include "tenon/core/types.hpp"
#include "tenon/sample/fault.hpp"
#include "tenon/sample/select.hpp"

namespace tenon::cuda {

namespace detail {

/// Where a row's slices are summarised and listed, and room to read it again.
struct row_memory {
  const slice_summary* slices;  // [slices]
  const float* lists;           // [slices, slice_list]
  const token_id* ids;          // [slices, slice_list]
  const unsigned short* bins;   // [slices, logit_bins], where slices are summed
  float* work;                  // [vocabulary rounded up to 4]
  int count;                    // of slices, at most sample_threads
};

inline constexpr int candidate_list = 4096;

/// Where a sum over a row, or over bins, reaches what was looked for.
struct found_place {
  int place;
  fixed_weight before, amount;  // the sum before it, and its own part
};

struct candidate_memory {
  alignas(16) float logits[candidate_list];
  token_id ids[candidate_list];
  union {
    fixed_weight bins[sample_threads];
    unsigned counts[logit_bins];  // while the slice is summarised
  };
  found_place found[2];
  int near_border;  // how many logits of a nucleus's list are gathered to find its border
  block<sample_threads>::memory of_warps;
};

}  // namespace detail

/// What stages work with on the device. Candidates are in ascending order of ids. Sums of weights are exact, as they are of
/// whole numbers (of 2^-44 of the best candidate's weight), so they do not depend on any order.
class row_candidates {
 public:
  __device__ row_candidates(detail::candidate_memory& memory, detail::block<detail::sample_threads>& all,
                            const detail::row_view& row, const detail::row_memory& found, float summed_scale,
                            bool summed, std::uint64_t seed, std::uint64_t token_index)
      : memory_(memory),
        all_(all),
        row_(row),
        found_(found),
        summed_scale_(summed_scale),
        summed_(summed),
        seed_(seed),
        token_index_(token_index) {}

  /// Starts the row with what its slices left. With `only_best` all that can be asked is best_token().
  __device__ sampling::fault begin(bool only_best) {
    float best = -INFINITY, bound = -INFINITY;
    for (int i = thread(); i < found_.count; i += detail::sample_threads) {
      best = detail::larger(best, __ldcg(&found_.slices[i].best));
      bound = fmaxf(bound, __ldcg(&found_.slices[i].bound));
    }
    best_ = all_.max(best);
    if (best_ != best_) return fault_ = sampling::fault::nan_logits;
    if (best_ == -INFINITY) return fault_ = sampling::fault::nothing_possible;
    bound_ = all_.max(bound);
    if (only_best) return fault_;
    if (best_ == INFINITY) {
      infinite_ = true;
      best_ = 0;
      widen();
    } else {
      gather();
    }
    return fault_;
  }

  /// The lowest id among the best of all slices, for rows that want nothing else.
  __device__ token_id best_token() {
    int token = 0x7fffffff;
    for (int i = thread(); i < found_.count; i += detail::sample_threads) {
      if (__ldcg(&found_.slices[i].best) == best_) {
        const int other = __ldcg(&found_.slices[i].best_token);
        token = other < token ? other : token;
      }
    }
    return all_.min(token);
  }

  /// The highest logit.
  __device__ float best_logit() const { return best_; }

  /// How many there are.
  __device__ std::size_t size() {
    widen_if(whole_);
    return static_cast<std::size_t>(sum_from(-FLT_MAX, one));
  }

  /// The sum of exp(logit - best_logit()).
  __device__ double total() { return static_cast<double>(total_weight()) / detail::weight_unit; }

  /// The sum of value(id, logit) over all, in fp64 and a fixed order.
  template <class Value>
  __device__ double sum_of(Value value) {
    widen_if(whole_);
    double sum = 0;
    for_each([&](int i, float logit) { sum += value(id_of(i), logit); });
    return all_.sum(sum);
  }

  /// Keeps those where keep(id, logit) is true.
  template <class Keep>
  __device__ void keep_where(Keep keep) {
    edit([&](token_id id, float logit) { return keep(id, logit) ? logit : -INFINITY; });
  }

  /// Replaces each logit by change(id, logit). -inf drops a candidate; NaN ends the row with fault::nan_logits.
  template <class Change>
  __device__ void edit(Change change) {
    widen_if(whole_);
    float best = -INFINITY;
    rewrite([&](int i, float logit) {
      const float changed = change(id_of(i), logit);
      best = detail::larger(best, changed);
      return changed;
    });
    best_ = all_.max(best);
    if (best_ != best_) fault_ = sampling::fault::nan_logits;
    if (best_ == -INFINITY) fault_ = sampling::fault::nothing_possible;
    if (best_ != INFINITY) return;
    rewrite([](int, float logit) { return logit == INFINITY ? 0.0f : -INFINITY; });
    best_ = 0;
  }

  /// Divides the logits by `temperature` (positive and finite) after taking away the best one.
  __device__ void divide_by(float temperature) {
    if (temperature == 1.0f) return;
    widen_if(whole_ && divided_);
    subtracted_ = best_, divisor_ = temperature, divided_ = true;
    rewrite([this](int, float logit) { return divide(logit); });
    // Logits next to each other may have become equal, so that only what is higher is surely all here.
    if (whole_ && fabsf(bound_) < INFINITY) bound_ = nextafterf(divide(bound_), INFINITY);
    scale_ /= temperature;
    best_ = 0;
  }

  /// Keeps the best candidate alone; the lowest id of several.
  __device__ void keep_best() {
    reach(best_);
    int first = 0x7fffffff;
    for_each([&](int i, float logit) { first = logit == best_ && i < first ? i : first; });
    first = all_.min(first);
    rewrite([first](int i, float logit) { return i == first ? logit : -INFINITY; });
    whole_ = false;
  }

  /// Keeps the candidates whose logit is at least `bound`, which is at most best_logit().
  __device__ void keep_at_least(float bound) {
    reach(bound);
    rewrite([bound](int, float logit) { return logit >= bound ? logit : -INFINITY; });
    whole_ = false;
  }

  /// Keeps the candidates whose logit is at most `distance` (0 or more) below the best one.
  __device__ void keep_within(double distance) {
    const double bound = static_cast<double>(best_) - distance;
    float rounded = static_cast<float>(bound);
    if (static_cast<double>(rounded) < bound) rounded = nextafterf(rounded, best_);
    keep_at_least(rounded);
  }

  /// Keeps the k best (k >= 1); the lower ids on a tie.
  __device__ void keep_top(std::size_t k) {
    if (k >= static_cast<std::size_t>(row_.vocabulary)) return;
    if (k == 1) return keep_best();
    if (whole_ && sum_from(bound_, one) < k && !relist_until(k, one)) widen();
    keep_up_to(k, one);
  }

  /// Keeps the fewest candidates, best first and the lower id first on a tie, that hold the share `p` (0 < p < 1) of the
  /// probability.
  __device__ void keep_share(double p) {
    weight target = share_of(p, total_weight());
    if (whole_ && sum_from(bound_, weigh()) < target) {
      const bool by_bins = binned();
      if (by_bins && keep_binned(target)) return;
      if (by_bins || !relist_until(target, weigh())) {
        widen();
        target = share_of(p, total_weight());
      }
    }
    keep_up_to(target, weigh());
  }

  /// A number in [0, 1) for a stage that needs chance; see sampling::candidates.
  __device__ float random(std::uint32_t stream) const { return philox::uniform(seed_, token_index_, stream); }

  /// Draws by the softmax of the logits; `u` in [0, 1).
  __device__ token_id draw(double u) {
    const auto share = [u](weight total) { return share_of_draw(u, total); };
    widen_if(whole_ && !is_summed());
    if (whole_) {
      const weight wanted = open_slice(share(total_weight()));
      if (sum_from(-FLT_MAX, weigh()) > 0) {
        return id_of(find(weigh(), [wanted](weight total) { return wanted < total ? wanted : total - 1; }));
      }
      widen();  // the slice is too rare for its tokens to have a weight each
    }
    return id_of(find(weigh(), share));
  }

  __device__ sampling::fault settle() const { return fault_; }

 private:
  using weight = detail::fixed_weight;
  struct count_one {
    __device__ __forceinline__ weight operator()(float) const { return 1; }
  };
  static constexpr count_one one{};
  struct weigh_below {
    float best;
    __device__ __forceinline__ weight operator()(float logit) const {
      return detail::weight_of(logit - best);
    }
  };
  __device__ weigh_below weigh() const { return {best_}; }

  __device__ static int thread() { return static_cast<int>(threadIdx.x); }
  __device__ token_id id_of(int i) const { return ids_ != nullptr ? ids_[i] : first_id_ + i; }

  __device__ static weight share_of(double p, weight total) {
    const double wanted = ceil(p * static_cast<double>(total));
    return wanted > 1 ? static_cast<weight>(wanted) : 1;
  }
  __device__ static weight share_of_draw(double u, weight total) {
    const weight wanted = static_cast<weight>(u * static_cast<double>(total));
    return wanted < total ? wanted : total - 1;
  }

  /// f(index, logit) for each candidate; an index always goes to the same thread.
  template <class F>
  __device__ __forceinline__ void for_each(F f) const {
    for (int quad = thread(); quad < quads_; quad += detail::sample_threads) {
      const float4 four = reinterpret_cast<const float4*>(values_)[quad];
      const float logits[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        if (logits[i] > -INFINITY) f(quad * 4 + i, logits[i]);
      }
    }
  }
  /// Replaces the logit of each candidate by f(index, logit).
  template <class F>
  __device__ __forceinline__ void rewrite(F f) {
    for (int quad = thread(); quad < quads_; quad += detail::sample_threads) {
      float4 four = reinterpret_cast<const float4*>(values_)[quad];
      float logits[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        if (logits[i] > -INFINITY) logits[i] = f(quad * 4 + i, logits[i]);
      }
      reinterpret_cast<float4*>(values_)[quad] = make_float4(logits[0], logits[1], logits[2], logits[3]);
    }
  }

  /// The sum of `amount` over what is at least `bound`, of what is listed.
  template <class Amount>
  __device__ weight sum_from(float bound, Amount amount) {
    weight sum = 0;
    for_each([&](int, float logit) { sum += logit >= bound ? amount(logit) : 0; });
    return all_.sum(sum);
  }

  __device__ weight weight_of_slice(int i) const {
    if (i >= found_.count) return 0;
    const float below = (__ldcg(&found_.slices[i].best) - raw_best()) * scale_ * std::numbers::log2e_v<float>;
    return static_cast<weight>(__ldcg(&found_.slices[i].sum) * detail::exp2_fast(below) *
                               detail::weight_unit);
  }
  __device__ float raw_best() const { return divided_ ? subtracted_ : best_; }

  /// Whether the slices' sums are of the logits as they are now.
  __device__ bool is_summed() const { return summed_ && summed_scale_ == scale_; }

  __device__ weight total_weight() {
    widen_if(whole_ && !is_summed());
    return whole_ ? all_.sum(weight_of_slice(thread())) : sum_from(-FLT_MAX, weigh());
  }

  __device__ float divide(float logit) const { return fmaxf((logit - subtracted_) / divisor_, -FLT_MAX); }
  /// A logit of the row, as it is now.
  __device__ float now(float logit) const {
    if (infinite_) return logit == INFINITY ? 0.0f : -INFINITY;
    return divided_ && logit > -INFINITY ? divide(logit) : logit;
  }

  __device__ void widen_if(bool needed) {
    if (needed) widen();
  }
  /// Takes the whole row for the list.
  __device__ void widen() { read_row(0, row_.vocabulary); }
  __device__ void read_row(int begin, int end) {
    __syncthreads();
    ids_ = nullptr, first_id_ = begin;
    whole_ = false;
    values_ = found_.work;
    quads_ = (end - begin + 3) / 4;
    for (int quad = thread(); quad < quads_; quad += detail::sample_threads) {
      float logits[4];
      row_.read(begin + quad * 4, logits);
      row_.ban_in(begin + quad * 4, logits);
      reinterpret_cast<float4*>(values_)[quad] =
          make_float4(now(logits[0]), now(logits[1]), now(logits[2]), now(logits[3]));
    }
    __syncthreads();
  }

  /// f(id of the first, logits of the row) for 32 logits of each thread at a time; ids ascend with the call, the warp, the
  /// load, the lane and the place.
  template <class F>
  __device__ void for_each_piece(F f) {
    using detail::slice_loads;
    for (int begin = 0; begin < row_.vocabulary; begin += detail::slice_size) {
      const int of_warp = begin + all_.warp * warp_lanes * detail::thread_logits,
                first = of_warp + all_.lane * 4;
      const auto first_of = [first](int load) { return first + load * warp_lanes * 4; };
      float logits[slice_loads][4];
      row_.read_all(of_warp + warp_lanes * detail::thread_logits <= row_.vocabulary, first_of, logits);
      if (row_.banned_count > 0) {
#pragma unroll
        for (int load = 0; load < slice_loads; ++load) row_.ban_in(first_of(load), logits[load]);
      }
      f(first, logits);
    }
  }

  /// Makes a list, in the room for a whole row, of those logits of the row of which `height` is not negative; false when that
  /// does not fit.
  template <class Height>
  __device__ bool relist(Height height) {
    using detail::slice_loads;
    const int capacity = row_.vocabulary / 8 * 4;  // logits in one half of the room, ids in the other
    float* logits = found_.work;
    token_id* ids = reinterpret_cast<token_id*>(logits + capacity);
    int count = 0;
    for_each_piece([&](int first, const float(&values)[slice_loads][4]) {
      const unsigned chosen = detail::not_negative(values, height);
      const detail::chosen_counts counts = detail::count_chosen(chosen, all_.lane);
      int of_warp = 0, total = 0;
#pragma unroll
      for (int load = 0; load < slice_loads; ++load)
        of_warp += counts.of_warp[load % 2] >> load / 2 * 8 & 255u;
      int place = count + all_.sum_before(of_warp, total);
      count += total;
      if (count > capacity) return;
#pragma unroll
      for (int load = 0; load < slice_loads; ++load) {
        const auto byte_of = [load](const unsigned(&bytes)[2]) {
          return static_cast<int>(bytes[load % 2] >> load / 2 * 8 & 255u);
        };
        float* to = logits + place + byte_of(counts.before);
        place += byte_of(counts.of_warp);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          if ((chosen >> (load * 4 + i) & 1u) == 0) continue;
          *to = values[load][i];
          reinterpret_cast<token_id*>(to)[capacity] = first + load * warp_lanes * 4 + i;
          ++to;
        }
      }
    });
    if (count > capacity) return false;
    use_list(logits, ids, count);
    whole_ = false;
    if (divided_) rewrite([this](int, float logit) { return now(logit); });
    return true;
  }

  /// Whether the slices' bins tell the row's logits, as they are now, from each other.
  __device__ bool binned() const {
    return is_summed() && detail::logit_grid::fine(detail::logit_grid(scale_).at(raw_best()));
  }

  /// The last bin below the best one's that tokens may need which hold `target` of the row's weight; -1 when that cannot be
  /// told.
  __device__ int last_bin_for(weight target) {
    using detail::logit_grid;
    const logit_grid grid(scale_);
    // A thread has the bin so far below the best one.
    const float first = logit_grid::first_of_bin(grid.at(raw_best())) - static_cast<float>(thread() * 4);
    unsigned count = 0;
    for (int slice = 0; slice < found_.count; ++slice) {
      if (grid.at(__ldcg(&found_.slices[slice].best)) < first) continue;  // its bin of this number is another
      count += __ldcg(found_.bins + slice * detail::logit_bins + logit_grid::bin(first));
    }
    // The lowest bins are not needed whose logits weigh little enough even if all were as high as they can be. The margin is
    // for the rounding of the sums and for what is too low to be counted.
    const weight total = total_weight(), margin = total >> 16;
    if (total - target <= margin) return -1;
    const weight spare = total - target - margin;
    const float highest = (logit_grid::units_of(first) + 3.5f) / logit_grid::units - raw_best() * scale_;
    const weight mine = count * detail::weight_of(highest);
    weight counted = 0;
    const weight through = all_.scan(mine, counted);
    if (counted <= spare) return -1;
    const bool here = counted - through <= spare && counted - through + mine > spare;
    return publish(here, {thread(), through, mine}).place;
  }

  /// keep_share() by the bins: one reading of the row lists the nucleus and little more. False when that does not do.
  __device__ bool keep_binned(weight target) {
    using detail::logit_grid;
    constexpr int near_bins = 3;  // those in which the border is looked for first
    const logit_grid grid(scale_);
    const int last = last_bin_for(target);
    if (last < 0) return false;
    const float best_bin = logit_grid::units_of(logit_grid::first_of_bin(grid.at(raw_best())));
    const float bound = grid.logit_of(best_bin - static_cast<float>(last * 4 + 1));
    if (!relist([bound](float logit) { return logit - bound; })) return false;

    const float near = now(grid.logit_of(best_bin - static_cast<float>((last - near_bins) * 4)));
    if (thread() == 0) memory_.near_border = 0;
    __syncthreads();
    weight above = 0;
    for_each([&](int, float logit) {
      if (logit > near) {
        above += weigh()(logit);
      } else {
        const int at = atomicAdd(&memory_.near_border, 1);
        if (at < detail::candidate_list) memory_.logits[at] = logit;
      }
    });
    above = all_.sum(above);
    const int gathered = memory_.near_border;
    const bool is_near = above < target && gathered <= detail::candidate_list;
    float* const values = values_;
    const token_id* const ids = ids_;
    const int quads = quads_;
    if (is_near) use_list(memory_.logits, nullptr, gathered);
    const border found =
        border_of(is_near ? target - above : target, weigh(), is_near ? fminf(near, best_) : best_);
    values_ = values, ids_ = ids, quads_ = quads;
    // What is not listed may have become equal to the lowest that is.
    if (!found.exists || !(found.logit > now(bound))) return false;
    cut(found, weigh());
    return true;
  }

  /// The same for the best that by `amount` add up to `target`, and some more. The row is read twice: by bins of logits, then
  /// for those in the bins that are needed.
  template <class Amount>
  __device__ bool relist_until(weight target, Amount amount) {
    constexpr float per_unit = 8;
    const auto bin_of = [best = best_, this](float logit) { return (best - now(logit)) * per_unit; };
    memory_.bins[thread()] = 0;
    __syncthreads();
    for_each_piece([&](int, const float(&values)[detail::slice_loads][4]) {
#pragma unroll
      for (int load = 0; load < detail::slice_loads; ++load) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const float bin = bin_of(values[load][i]);
          if (bin < detail::sample_threads) {
            atomicAdd(&memory_.bins[static_cast<int>(bin)], amount(now(values[load][i])));
          }
        }
      }
    });
    __syncthreads();
    const weight mine = memory_.bins[thread()];
    weight total = 0;
    const weight through = all_.scan(mine, total);
    if (total < target) return false;
    const bool here = through >= target && through - mine < target;
    const int bins = publish(here, {thread(), through - mine, mine}).place + 1;
    const float bound = best_ - static_cast<float>(bins) / per_unit;
    return relist([bound, this](float logit) { return now(logit) - bound; });
  }

  /// Makes sure that what is at least `bound` is in the list.
  __device__ void reach(float bound) {
    if (!whole_ || bound >= bound_) return;
    if (!relist([bound, this](float logit) { return now(logit) - bound; })) widen();
  }

  __device__ void use_list(float* logits, const token_id* ids, int count) {
    values_ = logits, ids_ = ids;
    quads_ = (count + 3) / 4;
    if (thread() < quads_ * 4 - count) logits[count + thread()] = -INFINITY;
    __syncthreads();
  }

  /// Joins the slices' lists, down to the bound from which all of them are complete.
  __device__ void gather() {
    using detail::slice_list;
    int* begins = reinterpret_cast<int*>(memory_.bins);
    const auto for_each_listed = [&](auto&& f) {
      for (int slice = all_.warp; slice < found_.count; slice += all_.warps) {
        const int listed = __ldcg(&found_.slices[slice].listed);
        int kept = 0;
        for (int i = all_.lane; i - all_.lane < listed; i += warp_lanes) {
          const int from = slice * slice_list + i;
          const float logit = i < listed ? __ldcg(found_.lists + from) : -INFINITY;
          const unsigned chosen = __ballot_sync(all_lanes, logit >= bound_ && i < listed);
          f(slice, from, logit, chosen, kept);
          kept += __popc(chosen);
        }
        f(slice, 0, 0.0f, 0u, kept);
      }
    };
    for_each_listed([&](int slice, int, float, unsigned, int kept) {
      if (all_.lane == 0) begins[slice] = kept;
    });
    __syncthreads();
    const int mine = thread() < found_.count ? begins[thread()] : 0;
    int count = 0;
    const int before = all_.scan(mine, count) - mine;
    begins[thread()] = before;
    whole_ = bound_ > -INFINITY;
    if (count > detail::candidate_list) return widen();
    __syncthreads();
    for_each_listed([&](int slice, int from, float logit, unsigned chosen, int kept) {
      if ((chosen >> all_.lane & 1u) == 0) return;
      const int at = begins[slice] + kept + __popc(chosen & ((1u << all_.lane) - 1));
      memory_.logits[at] = logit;
      memory_.ids[at] = __ldcg(found_.ids + from);
    });
    use_list(memory_.logits, memory_.ids, count);
  }

  /// Takes the slice in which the draw falls for the list, and gives what is left to go in it.
  __device__ weight open_slice(weight wanted) {
    const weight mine = weight_of_slice(thread());
    weight total = 0;
    const weight through = all_.scan(mine, total);
    const bool here = through > wanted && through - mine <= wanted;
    const detail::found_place slice = publish(here, {thread(), through - mine, mine});
    const int begin = slice.place * detail::slice_size;
    const int end = min(begin + detail::slice_size, row_.vocabulary);
    read_row(begin, end);
    return wanted - slice.before;
  }

  /// Keeps the best, added up by `amount` until the sum is `target` (1 or more); all when it never is.
  template <class Amount>
  __device__ void keep_up_to(weight target, Amount amount) {
    const border found = border_of(target, amount, best_);
    if (found.exists) cut(found, amount);
    whole_ = false;
  }

  /// A logit above which all are kept, and of those equal to it the first few.
  struct border {
    bool exists = false;  // false when all are kept
    float logit = 0;
    weight missing = 0, equal = 0;  // of the amount: what is above does not have, what is equal has
  };

  /// Where the sum of `amount` over the best listed reaches `target`. None is higher than `highest`. Radix selection, as on the
  /// host.
  template <class Amount>
  __device__ __forceinline__ border border_of(weight target, Amount amount, float highest) {
    using sampling::detail::rank_of;
    constexpr int bits = 8;
    static_assert(detail::sample_threads == 1 << bits);
    unsigned first = rank_of(highest), last = first;
    for_each([&](int, float logit) { last = max(last, rank_of(logit)); });
    last = static_cast<unsigned>(all_.max(static_cast<int>(last ^ 0x80000000u))) ^ 0x80000000u;
    weight reached = 0;
    for (int width = 32 - __clz(static_cast<int>(last - first));;) {
      const int shift = width > bits ? width - bits : 0;
      const unsigned used = 1u << (width - shift);
      memory_.bins[thread()] = 0;
      __syncthreads();
      for_each([&](int, float logit) {
        const unsigned bin = (rank_of(logit) - first) >> shift;  // wraps, and is out of range, below first
        if (bin < used) atomicAdd(&memory_.bins[bin], amount(logit));
      });
      __syncthreads();
      const weight mine = memory_.bins[thread()];
      weight total = 0;
      const weight through = all_.scan(mine, total);
      if (reached + total < target) return {};
      const bool here = reached + through >= target && reached + through - mine < target;
      const detail::found_place bin = publish(here, {thread(), through - mine, mine});
      reached += bin.before;
      first += static_cast<unsigned>(bin.place) << shift;
      width = shift;
      if (shift == 0) return {true, sampling::detail::value_of(first), target - reached, bin.amount};
    }
  }

  template <class Amount>
  __device__ void cut(const border& at, Amount amount) {
    const weight each = amount(at.logit);
    const weight ties = (at.missing + each - 1) / each;
    int last = 0x7fffffff;
    if (ties * each < at.equal) {
      last =
          find([at](float logit) { return weight{logit == at.logit}; }, [ties](weight) { return ties - 1; });
    }
    rewrite([logit_at = at.logit, last](int i, float logit) {
      return logit > logit_at || (logit == logit_at && i <= last) ? logit : -INFINITY;
    });
  }

  /// The first index up to which the sum of `amount` is more than wanted_of(the sum of all), which is less than that.
  template <class Amount, class Wanted>
  __device__ int find(Amount amount, Wanted wanted_of) {
    __syncthreads();
    const auto in_quad = [&](int quad, int end, weight(&amounts)[4]) {
      weight sum = 0;
      const float4 four = quad < end ? reinterpret_cast<const float4*>(values_)[quad]
                                     : make_float4(-INFINITY, -INFINITY, -INFINITY, -INFINITY);
      const float logits[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
      for (int i = 0; i < 4; ++i) sum += amounts[i] = logits[i] > -INFINITY ? amount(logits[i]) : 0;
      return sum;
    };
    int begin = 0, end = quads_;
    weight amounts[4], wanted = 0;
    bool known = false;
    while (end - begin > warp_lanes) {  // a warp each sums up a part; the search goes on in one
      const int part = ((end - begin - 1) / all_.warps / warp_lanes + 1) * warp_lanes;
      const int from = begin + all_.warp * part, to = min(from + part, end);
      weight sum = 0;
      for (int quad = from + all_.lane; quad < to; quad += warp_lanes) sum += in_quad(quad, to, amounts);
      sum = detail::add_over_lanes(sum);
      weight total = 0;
      const weight before = all_.sum_before(sum, total);
      if (!known) wanted = wanted_of(total), known = true;
      const bool here = all_.lane == 0 && before <= wanted && before + sum > wanted;
      const detail::found_place chosen = publish(here, {from, before, sum});
      begin = chosen.place;
      wanted -= chosen.before;
      end = min(begin + part, end);
    }
    const weight sum = in_quad(begin + all_.lane, end, amounts);
    const weight through = detail::scan_over_lanes(sum, all_.lane);
    if (!known) wanted = wanted_of(__shfl_sync(all_lanes, through, warp_lanes - 1));
    int found = 0;
    weight reached = through - sum;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (reached <= wanted && reached + amounts[i] > wanted) found = i;
      reached += amounts[i];
    }
    const bool here = all_.warp == 0 && through > wanted && through - sum <= wanted;
    return publish(here, {(begin + all_.lane) * 4 + found, through - sum, sum}).place;
  }

  /// What the one thread that is `here` has found, in all of them.
  __device__ detail::found_place publish(bool here, const detail::found_place& found) {
    detail::found_place& shared = memory_.found[published_];
    published_ ^= 1;
    if (here) shared = found;
    __syncthreads();
    return shared;
  }

  detail::candidate_memory& memory_;
  detail::block<detail::sample_threads>& all_;
  detail::row_view row_;
  detail::row_memory found_;
  float summed_scale_;
  bool summed_;
  std::uint64_t seed_, token_index_;

  float* values_ = nullptr;  // -inf where there is no candidate
  int quads_ = 0;
  int published_ = 0;
  const token_id* ids_ = nullptr;  // of values_; where there are none, ids go up from first_id_
  int first_id_ = 0;
  bool whole_ = false;  // what is below bound_ is a candidate too, though not in values_
  bool infinite_ = false, divided_ = false;
  float best_ = 0, bound_ = 0, scale_ = 1, subtracted_ = 0, divisor_ = 1;
  sampling::fault fault_ = sampling::fault::none;
};

}  // namespace tenon::cuda
