// The cache slot: where the keys and values of a sequence lie. A layout has two halves: a manager (host
// logic: which rows belong to whom) and a view (what a kernel needs to find a position; small and trivially
// copyable).
#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>

#include "tenon/core/host_device.hpp"
#include "tenon/policy/slot.hpp"

namespace tenon::cache {

/// What a manager is made for. Layouts that give every slot its whole context take no heed of the last three.
struct geometry {
  std::size_t max_batch = 1;    // sequences at once; slots are numbered from 0
  std::size_t context = 0;      // most positions of one sequence
  std::size_t rows = 0;         // of the cache; 0: enough for the whole context of every slot
  std::size_t swap_rows = 0;    // in host memory, for sequences that are swapped out
  std::size_t step_tokens = 0;  // most positions of one sequence that a step writes; 0: its whole context
};

/// A view maps positions to rows of the cache. Kernels read `run` positions at a time.
///   row(position)   the row of a position that the sequence holds
///   run(position)   how many positions from this one on lie in consecutive rows (at least 1)
template <class V>
concept layout_view = std::is_trivially_copyable_v<V> && requires(const V& view, std::size_t position) {
  { view.row(position) } -> std::convertible_to<std::size_t>;
  { view.run(position) } -> std::convertible_to<std::size_t>;
};

/// A view over which a position does not see everything before it, but the first `sinks` positions and the last `window`,
/// itself among them. Kernels ask for nothing else.
template <class V>
concept windowed_view = layout_view<V> && requires {
  { V::window } -> std::convertible_to<std::size_t>;
  { V::sinks } -> std::convertible_to<std::size_t>;
};

/// What the token at `position` sees: positions [0, sinks) and [first, position].
struct seen {
  std::size_t sinks;  // at most first
  std::size_t first;

  template <layout_view V>
  TENON_HOST_DEVICE static constexpr seen of(std::size_t position) {
    if constexpr (windowed_view<V>) {
      const std::size_t first = position < V::window ? 0 : position - V::window + 1;
      return {first < V::sinks ? first : V::sinks, first};
    } else {
      return {0, 0};
    }
  }
};

/// A manager gives rows to slots.
/// - manager(geometry)
/// - rows(): rows to allocate for each layer and head
/// - reserve(slot, tokens): makes the slot hold `tokens` positions; false, and nothing changed, when there is no room
/// - release(slot): takes its rows back
/// - view(slot): valid until the slot is reserved again or released
template <class M>
concept layout_manager = std::constructible_from<M, geometry> &&
    requires(M manager, const M& constant, std::size_t slot) {
  { constant.rows() } -> std::convertible_to<std::size_t>;
  { manager.reserve(slot, slot) } -> std::convertible_to<bool>;
  manager.release(slot);
  { constant.view(slot) } -> layout_view;
};

/// The views that a manager gives.
template <class M>
struct view_of {
  using type = std::remove_cvref_t<decltype(std::declval<const M&>().view(0))>;
};

/// What a cache policy must have: a `manager`.
template <class P>
concept policy = engine_policy<P> && requires {
  typename P::manager;
} && layout_manager<typename P::manager>;

}  // namespace tenon::cache
