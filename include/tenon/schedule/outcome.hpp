// What a scheduler says: of a submission, of sequences that it ended by itself, and of its work so far.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tenon/schedule/sequence.hpp"

namespace tenon::schedule {

/// What the scheduler is made for.
struct limits {
  std::size_t max_batch = 1;         // sequences that run together; at most what the batching policy says
  std::size_t max_tokens = 1;        // of a step; at least max_batch
  std::size_t max_queue = SIZE_MAX;  // sequences that wait
};

/// The answer to a submission.
enum class admission : std::uint8_t {
  accepted,
  queue_full,    // may be tried again later
  never_fits,    // needs more positions than capacity(), which is all that the cache has for one sequence
  empty_prompt,  // there is nothing to compute
};

constexpr std::string_view to_string(admission answer) {
  switch (answer) {
    case admission::accepted:
      return "accepted";
    case admission::queue_full:
      return "the queue is full";
    case admission::never_fits:
      return "longer than the cache";
    case admission::empty_prompt:
      return "the prompt is empty";
  }
  return "";
}

/// Why the scheduler ended a sequence by itself.
enum class drop_reason : std::uint8_t {
  deadline,  // has passed
  no_room,   // nothing runs, and the cache still has no room for it
};

struct dropped_sequence {
  sequence* dropped = nullptr;
  drop_reason reason = drop_reason::deadline;
};

/// Counted since the scheduler was made.
struct counters {
  std::uint64_t submitted = 0;
  std::uint64_t refused = 0;
  std::uint64_t steps = 0;
  std::uint64_t computed_tokens = 0;
  std::uint64_t recomputed_tokens = 0;  // of those
  std::uint64_t preemptions = 0;
  std::uint64_t swaps_out = 0;  // of the preemptions
  std::uint64_t swaps_in = 0;
  std::uint64_t forks = 0;
  std::uint64_t prefix_queries = 0;  // tokens that were looked up in the cache
  std::uint64_t prefix_hits = 0;     // of those, tokens that were there

  /// What has been counted since an earlier moment.
  friend counters operator-(const counters& later, const counters& earlier) {
    counters made;
    for (const auto field :
         {&counters::submitted, &counters::refused, &counters::steps, &counters::computed_tokens,
          &counters::recomputed_tokens, &counters::preemptions, &counters::swaps_out, &counters::swaps_in,
          &counters::forks, &counters::prefix_queries, &counters::prefix_hits})
      made.*field = later.*field - earlier.*field;
    return made;
  }

  /// The share of computed tokens that had been computed before.
  double recompute_tax() const {
    return computed_tokens == 0
               ? 0
               : static_cast<double>(recomputed_tokens) / static_cast<double>(computed_tokens);
  }
};

}  // namespace tenon::schedule
