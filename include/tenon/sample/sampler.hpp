// Chooses the next token from one row of logits by a sampling policy. Usable without an engine.
#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "tenon/core/philox.hpp"
#include "tenon/core/types.hpp"
#include "tenon/policy/sampling.hpp"
#include "tenon/sample/candidates.hpp"
#include "tenon/sample/fault.hpp"
#include "tenon/sample/params.hpp"
#include "tenon/sample/result.hpp"
#include "tenon/sample/scan.hpp"

namespace tenon::sampling {

/// The memory that sampling needs: construct it with the vocabulary's size, keep one per thread.
using scratch = candidates;

/// Sampling by a policy (greedy, chain<...>). What comes out depends on the row, the parameters, the seed and
/// the token's number, and on nothing else. Allocates nothing once the scratch has seen a row as long.
/// Parameters are taken as validate() lets them through.
template <sampling_policy Policy>
struct sampler {
  using params = sampling::params<Policy>;

  /// Chooses a token. `logits` holds exactly the vocabulary (padding already cut off) and is not changed;
  /// `banned` tokens are treated as -inf. -inf is never chosen; where there is +inf, only that is; the lowest
  /// id of equals comes first.
  static result sample(std::span<const float> logits, const params& request, std::uint64_t seed,
                       std::uint64_t token_index, scratch& memory, std::span<const token_id> banned = {}) {
    if (Policy::picks_best(request) && banned.empty()) {
      const row_facts facts = scan(logits);
      if (facts.has_nan) return {-1, fault::nan_logits};
      if (facts.best == -std::numeric_limits<float>::infinity()) return {-1, fault::nothing_possible};
      return {static_cast<token_id>(facts.best_at), fault::none};
    }
    const fault f = prepare(logits, request, seed, token_index, memory, banned);
    if (f != fault::none) return {-1, f};
    return {draw(memory, seed, token_index), fault::none};
  }

  /// The first half of sample(): leaves in `memory` the tokens that can be drawn, with their probabilities.
  static fault prepare(std::span<const float> logits, const params& request, std::uint64_t seed,
                       std::uint64_t token_index, scratch& memory, std::span<const token_id> banned = {}) {
    const fault f = memory.begin(logits, banned, seed, token_index);
    return f != fault::none ? f : Policy::apply(memory, request);
  }

  /// The second half: draws one of them.
  static token_id draw(scratch& memory, std::uint64_t seed, std::uint64_t token_index) {
    return memory.draw(philox::uniform53(seed, token_index));
  }
};

}  // namespace tenon::sampling
