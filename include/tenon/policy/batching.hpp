// The batching slot: which requests run together. A policy says when sequences may enter, and names a queue, a
// prefill and a preemption policy; schedule::scheduler does what they say.
#pragma once

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstddef>

#include "tenon/core/fixed_string.hpp"
#include "tenon/policy/preemption.hpp"
#include "tenon/policy/prefill.hpp"
#include "tenon/policy/queue.hpp"
#include "tenon/policy/slot.hpp"

namespace tenon::batching {

/// What the gate of a policy looks at.
struct gate_state {
  std::size_t max_batch = 1;
  std::size_t running = 0;
  std::size_t waiting = 0;                          // at least 1
  std::chrono::steady_clock::duration waited = {};  // of the next in turn, since it was submitted
};

/// What a batching policy must have:
/// - max_batch: most sequences that run together
/// - queue, prefill, preemption: policies of these kinds
/// - opens(gate_state): whether sequences may enter now, as many as there is room for
/// and may have
/// - window: a wait after which opens() may say otherwise
template <class P>
concept policy = engine_policy<P> && requires(const gate_state& state) {
  { P::max_batch } -> std::convertible_to<std::size_t>;
  { P::opens(state) } -> std::convertible_to<bool>;
} && queue_policy<typename P::queue_type> && prefill_policy<typename P::prefill_type> &&
    preemption_policy<typename P::preemption_type>;

/// Gathers up to N waiting requests, runs all of them to their ends, then gathers the next.
template <std::size_t N = 8>
struct static_batch {
  using slot = tenon::slot::batching;
  static constexpr auto name = "static_batch<" + decimal<N>() + ">";
  static constexpr std::size_t max_batch = N;
  using queue_type = queue::fcfs;
  using prefill_type = prefill::chunked<>;
  using preemption_type = preemption::none;
  static constexpr bool opens(const gate_state& state) { return state.running == 0; }
};

/// The same, but a batch begins when N requests wait, or when the oldest has waited for the window.
template <std::size_t N = 8, std::size_t WindowMilliseconds = 50>
struct dynamic {
  using slot = tenon::slot::batching;
  static constexpr auto name = "dynamic<" + decimal<N>() + ", " + decimal<WindowMilliseconds>() + " ms>";
  static constexpr std::size_t max_batch = N;
  static constexpr std::chrono::milliseconds window{WindowMilliseconds};
  using queue_type = queue::fcfs;
  using prefill_type = prefill::chunked<>;
  using preemption_type = preemption::none;
  static constexpr bool opens(const gate_state& state) {
    return state.running == 0 && (state.waiting >= state.max_batch || state.waited >= window);
  }
};

/// Requests enter and leave at every step (Yu et al., "Orca: A Distributed Serving System for Transformer-Based
/// Generative Models", 2022).
template <queue_policy Queue = queue::fcfs, prefill_policy Prefill = prefill::chunked<>,
          preemption_policy Preemption = preemption::recompute<>, std::size_t MaxBatch = 32>
struct continuous {
  using slot = tenon::slot::batching;
  static constexpr auto name = "continuous<" + Queue::name + ", " + Prefill::name + ", " + Preemption::name +
                               ", " + decimal<MaxBatch>() + ">";
  static constexpr std::size_t max_batch = MaxBatch;
  using queue_type = Queue;
  using prefill_type = Prefill;
  using preemption_type = Preemption;
  static constexpr bool opens(const gate_state&) { return true; }
};

static_assert(policy<static_batch<>> && policy<dynamic<>> && policy<continuous<>>);

}  // namespace tenon::batching
