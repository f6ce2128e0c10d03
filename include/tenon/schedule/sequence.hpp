// A sequence as the scheduler sees it: what its owner says of it, and how far it has come.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "tenon/cache/swap_space.hpp"
#include "tenon/core/types.hpp"
#include "tenon/measure/request_times.hpp"

namespace tenon {

/// The number of a request, given by submit(); counts from 1.
using request_id = std::uint64_t;

}  // namespace tenon

namespace tenon::schedule {

using time_point = measure::clock::time_point;

/// Where a sequence is.
enum class stage : std::uint8_t {
  outside,    // not submitted, or ended
  held,       // waits until the sequence that it is a copy of has computed the prompt
  waiting,    // has computed nothing
  preempted,  // had to leave; will compute all again
  swapped,    // had to leave; what it had computed is in the swap space
  running,
};

/// Belongs to its owner, and must stay in its place from submit() until it has ended. Its tokens are the prompt and
/// what was generated; the owner appends to them after a step that sampled it.
struct sequence {
  // -- set by the owner before submit() --
  request_id id = 0;
  std::vector<token_id> tokens;
  std::size_t limit = 0;      // tokens that it may have in all; more than the prompt's
  std::int32_t priority = 0;  // lower goes first
  std::uint64_t client = 0;   // on whose account
  time_point deadline = (time_point::max)();
  sequence* copy_of = nullptr;  // shares the prompt of this one, where the cache can: n > 1 samples

  // -- kept by the scheduler --
  schedule::stage stage = schedule::stage::outside;
  std::size_t slot = 0;      // while it runs
  std::size_t computed = 0;  // tokens whose keys and values are in the cache
  std::size_t shared = 0;    // of those when it last began to run, found in the cache
  time_point queued;         // submitted
  time_point scheduled;      // began to run, the last time
  std::size_t preemptions = 0;
  std::size_t recomputed = 0;  // tokens that had been computed before

  // -- of use to queues and victims --
  std::int64_t key = 0;              // order among sequences, smallest first
  std::uint64_t number = 0;          // of the submission; decides between equal keys
  std::uint64_t entered = 0;         // number of the admission, the last one
  std::uint64_t submitted_step = 0;  // steps that had been planned before
  std::size_t heap_place = 0, deadline_place = 0;
  sequence *before = nullptr, *after = nullptr;  // in a list
  sequence *copies = nullptr, *next_copy = nullptr;
  std::size_t reached = 0;  // most that was ever computed
  cache::swapped_sequence swapped;

  /// Tokens to compute.
  std::size_t pending() const { return tokens.size() - computed; }
  /// Positions that it can come to need: the last token of all is never computed.
  std::size_t most_positions() const {
    return (std::max)(tokens.size(), limit > 0 ? limit - 1 : std::size_t{0});
  }
  /// Tokens that it can come to cost.
  std::size_t most_tokens() const { return (std::max)(tokens.size(), limit); }
};

/// The order of sequences: by key, then by number.
inline bool goes_before(const sequence& a, const sequence& b) {
  return a.key != b.key ? a.key < b.key : a.number < b.number;
}

/// The order of deadlines.
inline bool ends_sooner(const sequence& a, const sequence& b) { return a.deadline < b.deadline; }

}  // namespace tenon::schedule
