// A row of logits to be sampled, as an engine hands it to its backend.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tenon/core/types.hpp"
#include "tenon/sample/params.hpp"

namespace tenon::sampling {

/// Most tokens that end a request: its stop_token_ids and the model's own end-of-generation tokens. A step's memory has
/// room for as many of each row.
inline constexpr std::size_t most_end_tokens = 256;

/// What the choice of a token depends on beside its logits. Points into the request, which outlives the step.
template <class Policy>
struct row {
  const params<Policy>* request;
  std::uint64_t seed;
  std::uint64_t token_index;         // of the token to come, from 0
  std::span<const token_id> banned;  // tokens that may not be drawn now, most_end_tokens at the most
};

}  // namespace tenon::sampling
