// Who is next: the queues of continuous batching, and how long a sequence can wait in each.
//
// Why nobody waits for ever. Let B be the most sequences that run, and C the most tokens of one. Sequences are in an
// order that does not change once they are submitted (by key and number; for `fair` see there).
//   1. The next in order is never passed over: while it finds no room, nobody else enters.
//   2. The first in order of those that run is never preempted while others run, and computes a token in every step
//      (in every second step with prefill::whole). Hence it ends within C steps (2 C).
//   3. Whoever is first of all in the system runs within B * C steps: nobody enters before it, so those that run
//      end one after the other, by 2; alone it has room, or submit() would have refused it. It ends C steps later.
//   4. So with `ahead` sequences that ever are before it in the order, a sequence has first run after at most
//      (ahead + 1) * (B + 1) * C steps.
// `ahead` is at most the sequences that are in the system when it is submitted, and those that are submitted in the
// next `window` steps, where the window is what its aging takes to beat the best:
//   fcfs            0
//   priority        (its priority - the best priority) * Aging
//   shortest_first  (its most tokens - the fewest) / Aging
// waiting_bound() is this bound. Without preemption, and with room for a full batch, waits are far below it.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

#include "tenon/core/fixed_string.hpp"
#include "tenon/schedule/fair_queue.hpp"
#include "tenon/schedule/keyed_queue.hpp"
#include "tenon/schedule/sequence.hpp"

namespace tenon::batching {

/// What a queue policy must have: a name, and the class of those that wait (see schedule::keyed_queue).
template <class Q>
concept queue_policy = std::convertible_to<decltype(Q::name), std::string_view> &&
    requires(typename Q::waiting& waiting, schedule::sequence& s, std::size_t count) {
  waiting.reserve(count);
  waiting.enroll(s);
  { waiting.size() } -> std::convertible_to<std::size_t>;
  waiting.push(s);
  waiting.push_back_in(s);
  { waiting.next() } -> std::same_as<schedule::sequence*>;
  waiting.pop();
  waiting.erase(s);
  waiting.ended(s);
};

/// Most steps from submit() until a sequence has first run; see above. `steps` is how many a sequence at the head
/// takes for a token: 2 with prefill::whole, else 1.
constexpr std::uint64_t waiting_bound(std::uint64_t ahead, std::uint64_t max_batch, std::uint64_t most_tokens,
                                      std::uint64_t steps = 1) {
  return (ahead + 1) * (max_batch + 1) * most_tokens * steps;
}

namespace queue {

/// First come, first served.
struct fcfs {
  static constexpr auto name = fixed_string("fcfs");
  using waiting = schedule::keyed_queue<fcfs>;
  static std::int64_t key(const schedule::sequence&) { return 0; }
};

/// By sequence::priority, the lowest number first; each `Aging` steps of waiting count as one. As all age alike, the
/// order of two does not change while they wait.
template <std::uint32_t Aging = 256>
struct priority {
  static constexpr auto name = "priority<" + decimal<Aging>() + ">";
  static constexpr std::uint32_t aging = Aging;
  using waiting = schedule::keyed_queue<priority>;
  static std::int64_t key(const schedule::sequence& s) {
    return std::int64_t{s.priority} * Aging + static_cast<std::int64_t>(s.submitted_step);
  }
};

/// The fewest tokens first, prompt and answer together; each step of waiting counts as `Aging` tokens fewer.
template <std::uint32_t Aging = 16>
struct shortest_first {
  static constexpr auto name = "shortest_first<" + decimal<Aging>() + ">";
  static constexpr std::uint32_t aging = Aging;
  using waiting = schedule::keyed_queue<shortest_first>;
  static std::int64_t key(const schedule::sequence& s) {
    return static_cast<std::int64_t>(s.most_tokens()) + static_cast<std::int64_t>(s.submitted_step) * Aging;
  }
};

/// Deficit round robin over sequence::client. Let D be the tokens of a sequence and of those that its client
/// submitted before it, in `rounds` = ceil(D / Quantum) turns. Until it enters, every other client has
/// sequences let in of at most (rounds + 2) * Quantum + C tokens, besides what they gave back unused; so it
/// waits for a number of sequences that has a bound, and 1 to 3 hold in the order of admissions.
template <std::uint64_t Quantum = 4096>
struct fair {
  static constexpr auto name = "fair<" + decimal<Quantum>() + ">";
  static constexpr std::uint64_t quantum = Quantum;
  using waiting = schedule::fair_queue<Quantum>;
};

static_assert(queue_policy<fcfs> && queue_policy<fair<>>);

}  // namespace queue
}  // namespace tenon::batching
