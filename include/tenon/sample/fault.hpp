// What can be wrong with one row of logits. It ends the request that the row belongs to, and no other.
#pragma once

#include <cstdint>
#include <string_view>

namespace tenon::sampling {

/// Why a row gave no token.
enum class fault : std::uint8_t { none, nan_logits, nothing_possible, stage_threw };

/// The fault in words, for the request's error.
constexpr std::string_view message(fault f) {
  switch (f) {
    case fault::nan_logits:
      return "the logits have a NaN: the model's weights or the prompt's numbers overflowed, so no token can "
             "be chosen";
    case fault::nothing_possible:
      return "no token is possible: all logits are -inf, banned, or dropped by a sampling stage";
    case fault::stage_threw:
      return "a sampling stage threw an exception; apply() must not";
    case fault::none:
      break;
  }
  return "no fault";
}

}  // namespace tenon::sampling
