// What happens when the cache is full and a running sequence needs another block.
#pragma once

#include <concepts>
#include <string_view>

#include "tenon/core/fixed_string.hpp"
#include "tenon/schedule/sequence.hpp"

namespace tenon::batching {

/// Who has to leave. The first in order of those that run never has to, while others run: so there is always one
/// that comes to its end.
template <class V>
concept victim_policy = std::convertible_to<decltype(V::name), std::string_view> &&
    requires(const schedule::sequence& a, const schedule::sequence& b) {
  { V::rather(a, b) } -> std::convertible_to<bool>;  // a has to leave rather than b
};

/// What a preemption policy must have:
/// - reserves_all: sequences get room for all that they may need when they enter, so that none has to leave
/// - swaps: what leaves is moved to the cache's swap space, if that has room
/// - victim: a victim policy; not asked when reserves_all
template <class P>
concept preemption_policy = std::convertible_to<decltype(P::name), std::string_view> && requires {
  { P::reserves_all } -> std::convertible_to<bool>;
  { P::swaps } -> std::convertible_to<bool>;
} && victim_policy<typename P::victim>;

namespace victim {

/// Who entered last.
struct latest {
  static constexpr auto name = fixed_string("latest");
  static bool rather(const schedule::sequence& a, const schedule::sequence& b) {
    return a.entered > b.entered;
  }
};

/// Who has computed least: the least is lost.
struct least_progress {
  static constexpr auto name = fixed_string("least_progress");
  static bool rather(const schedule::sequence& a, const schedule::sequence& b) {
    return a.computed != b.computed ? a.computed < b.computed : latest::rather(a, b);
  }
};

/// The highest priority number; the latest of equals.
struct lowest_priority {
  static constexpr auto name = fixed_string("lowest_priority");
  static bool rather(const schedule::sequence& a, const schedule::sequence& b) {
    return a.priority != b.priority ? a.priority > b.priority : latest::rather(a, b);
  }
};

}  // namespace victim

namespace preemption {

/// A sequence enters when there is room for all that it may need.
struct none {
  static constexpr auto name = fixed_string("none");
  static constexpr bool reserves_all = true;
  static constexpr bool swaps = false;
  using victim = batching::victim::latest;
};

/// Sequences enter when there is room for what they have. One that has to leave loses its cache, and computes all of
/// its tokens again when it comes back; it generates none of them again.
template <victim_policy Victim = victim::latest>
struct recompute {
  static constexpr auto name = "recompute<" + Victim::name + ">";
  static constexpr bool reserves_all = false;
  static constexpr bool swaps = false;
  using victim = Victim;
};

/// The same, but what it has computed is kept in host memory; when that is full, too, it is computed again.
template <victim_policy Victim = victim::latest>
struct swap {
  static constexpr auto name = "swap<" + Victim::name + ">";
  static constexpr bool reserves_all = false;
  static constexpr bool swaps = true;
  using victim = Victim;
};

static_assert(preemption_policy<none> && preemption_policy<swap<>>);

}  // namespace preemption
}  // namespace tenon::batching
