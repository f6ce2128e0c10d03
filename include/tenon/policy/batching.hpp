// The batching slot: which requests run together.
#pragma once

#include <concepts>
#include <cstddef>

#include "tenon/core/fixed_string.hpp"
#include "tenon/policy/slot.hpp"

namespace tenon::batching {

/// What a batching policy must have: max_batch, the most sequences that run together.
template <class P>
concept policy = engine_policy<P> && requires {
  { P::max_batch } -> std::convertible_to<std::size_t>;
};

/// Gathers up to N waiting requests, runs all of them to their ends, then gathers the next.
template <std::size_t N = 8>
struct static_batch {
  using slot = tenon::slot::batching;
  static constexpr auto name = "static_batch<" + decimal<N>() + ">";
  static constexpr std::size_t max_batch = N;
};

}  // namespace tenon::batching
