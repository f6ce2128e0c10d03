// From a list of policies in any order to one policy for each slot.
#pragma once

#include <concepts>
#include <type_traits>

#include "tenon/policy/slot.hpp"

namespace tenon::policy {

/// How many of the policies are for the slot.
template <class Slot, engine_policy... Ps>
inline constexpr int given = (0 + ... + int(std::same_as<typename Ps::slot, Slot>));

namespace detail {

template <class Slot, class Chosen, class... Ps>
struct pick_last {
  using type = Chosen;
};
template <class Slot, class Chosen, class P, class... Rest>
struct pick_last<Slot, Chosen, P, Rest...>
    : pick_last<Slot, std::conditional_t<std::same_as<typename P::slot, Slot>, P, Chosen>, Rest...> {};

}  // namespace detail

/// The policy of the list for the slot (the last one), or Default.
template <class Slot, class Default, engine_policy... Ps>
using pick = typename detail::pick_last<Slot, Default, Ps...>::type;

}  // namespace tenon::policy
