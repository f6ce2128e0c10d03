// Which sequences run, and which of their tokens are in the next step: plain logic over sequences, a cache manager
// and a clock that somebody else reads, without model, device or threads.
//
// A step, as an engine does it:
//   plan = scheduler.plan(now)            sequences enter, and may have to leave
//   scheduler.dropped()                   those it ended: tell their callers
//   scheduler.cache().copies()            to be made before anything else, even when the plan is empty
//   ... run the plan over cache().view(span.slot), unless it is empty ...
//   scheduler.commit()
//   append each sampled token to its sequence, or remove() the sequence
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "tenon/cache/ability.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/core/error.hpp"
#include "tenon/policy/batching.hpp"
#include "tenon/schedule/indexed_heap.hpp"
#include "tenon/schedule/outcome.hpp"
#include "tenon/schedule/plan_builder.hpp"
#include "tenon/schedule/sequence.hpp"

namespace tenon::schedule {

/// The scheduler of a batching policy over a cache manager, which it owns. It points to sequences and owns none.
/// submit() may allocate; nothing else does. Times must not go backwards.
template <batching::policy Batching, cache::sequence_store Cache>
class scheduler {
  using queue = typename Batching::queue_type::waiting;
  using prefill = typename Batching::prefill_type;
  using preemption = typename Batching::preemption_type;
  static_assert(!preemption::swaps || cache::swaps<Cache>,
                "tenon: preemption::swap needs a cache whose manager has swap_out, swap_in and discard, as "
                "cache::paged; or use preemption::recompute");

 public:
  /// Throws tenon::error when a step could not hold a token of every sequence.
  scheduler(const schedule::limits& size, Cache cache)
      : limits_(size),
        budget_(prefill::budget(size.max_batch, size.max_tokens)),
        cache_(std::move(cache)),
        builder_(size.max_batch, size.max_tokens) {
    if (size.max_batch < 1 || size.max_batch > Batching::max_batch || size.max_tokens < size.max_batch) {
      throw error(concat("a scheduler of ", Batching::name.view(), " cannot run ", size.max_batch,
                         " sequences in steps of ", size.max_tokens, " tokens"));
    }
    running_.reserve(size.max_batch);
    shares_.reserve(size.max_batch);
    free_slots_.reserve(size.max_batch);
    for (std::size_t slot = size.max_batch; slot-- > 0;) free_slots_.push_back(slot);  // 0 comes first
  }

  // -- sequences --

  /// Adds a sequence, or says why not. To share its prompt, a copy (sequence::copy_of) is submitted after the
  /// sequence that it is a copy of, while that has not ended.
  admission submit(sequence& s, time_point now) {
    const admission answer = answer_to(s);
    if (answer != admission::accepted) {
      ++counters_.refused;
      return answer;
    }
    make_room(s);
    ++counters_.submitted;
    ++in_system_;
    s.number = counters_.submitted;
    s.submitted_step = counters_.steps;
    s.queued = now;
    s.computed = s.reached = s.shared = s.preemptions = s.recomputed = 0;
    s.entered = 0;
    if (s.deadline != (time_point::max)()) deadlines_.push(s);
    if (s.copy_of != nullptr && s.copy_of->stage == stage::outside) s.copy_of = nullptr;
    if (s.copy_of != nullptr) {
      s.next_copy = std::exchange(s.copy_of->copies, &s);
      s.stage = stage::held;
      ++held_;
      if (can_share(s)) let_wait(s);
    } else {
      let_wait(s);
    }
    return answer;
  }

  /// Takes a sequence out, wherever it is: it has ended, or its caller cancels it. Not between plan() and commit().
  /// False when it is not in.
  bool remove(sequence& s) {
    switch (s.stage) {
      case stage::outside:
        return false;
      case stage::held:
        --held_;
        break;
      case stage::running:
        leave(s);
        break;
      case stage::waiting:
      case stage::preempted:
      case stage::swapped:
        waiting_.erase(s);
        if constexpr (cache::swaps<Cache>)
          if (s.stage == stage::swapped) cache_.discard(s.swapped);
        break;
    }
    forget(s);
    return true;
  }

  // -- steps --

  /// The next step's tokens; empty when nothing can run now. Valid until the next call.
  const step_plan& plan(time_point now) {
    if constexpr (cache::copies_blocks<Cache>) cache_.copies_done();
    dropped_.clear();
    builder_.clear();
    end_overdue(now);
    const bool somebody_left = make_sequences_fit();
    if (!somebody_left || running_.empty()) let_enter(now);
    share_tokens();
    for (const bool decoding : {true, false}) {
      for (std::size_t i = 0; i < running_.size(); ++i) {
        if (shares_[i].count > 0 && shares_[i].decodes() == decoding)
          builder_.add(*running_[i], shares_[i].count);
      }
    }
    if (!running_.empty()) ++counters_.steps;
    return builder_.plan();
  }

  /// Notes that the planned tokens have been computed.
  void commit() {
    for (std::size_t i = 0; i < builder_.spans().size(); ++i) {
      sequence& s = *builder_.owners()[i];
      const std::size_t again = (std::min)(s.computed + builder_.spans()[i].count, s.reached);
      if (again > s.computed) {
        s.recomputed += again - s.computed;
        counters_.recomputed_tokens += again - s.computed;
      }
      s.computed += builder_.spans()[i].count;
      s.reached = (std::max)(s.reached, s.computed);
      counters_.computed_tokens += builder_.spans()[i].count;
      if constexpr (cache::follows_tokens<Cache>)
        cache_.computed(s.slot, std::span<const token_id>(s.tokens).first(s.computed));
      for (sequence* copy = s.copies; copy != nullptr; copy = copy->next_copy)
        if (copy->stage == stage::held && can_share(*copy)) let_wait(*copy);
    }
    builder_.clear();  // so that a second commit() is none
  }

  /// The sequences of the plan's spans, until commit().
  std::span<sequence* const> owners() const { return builder_.owners(); }
  /// What the last plan() ended by itself. They are no longer in.
  std::span<const dropped_sequence> dropped() const { return dropped_; }

  /// When nothing runs: when to plan again, at the latest. Nothing, when nothing waits.
  std::optional<time_point> wake_at(time_point now) {
    if (idle()) return std::nullopt;
    if (!running_.empty()) return now;
    if constexpr (requires { Batching::window; }) {
      const sequence* next = waiting_.next();
      if (next == nullptr || Batching::opens(gate(*next, now))) return now;
      const time_point opens = next->queued + Batching::window;
      return deadlines_.empty() ? opens : (std::min)(opens, deadlines_.top().deadline);
    } else {
      return now;
    }
  }

  // -- what is going on --

  bool idle() const { return in_system_ == 0; }
  std::size_t running() const { return running_.size(); }
  std::size_t waiting() const { return waiting_.size() + held_; }
  /// Submissions that the queue has room for.
  std::size_t queue_room() const { return limits_.max_queue - (std::min)(limits_.max_queue, waiting()); }
  /// Most positions of one sequence; one more token can be generated from the last.
  std::size_t capacity() const {
    if constexpr (cache::bounded<Cache>) {
      return cache_.capacity();
    } else {
      return SIZE_MAX;
    }
  }
  std::size_t budget() const { return budget_; }
  const schedule::limits& limits() const { return limits_; }
  const schedule::counters& counters() const { return counters_; }
  /// Those that run, in order.
  std::span<sequence* const> running_sequences() const { return running_; }
  /// Seconds since the submission of what has waited longest; looks at all that wait.
  double oldest_wait(time_point now) const {
    time_point oldest = now;
    waiting_.for_each([&](const sequence& s) { oldest = (std::min)(oldest, s.queued); });
    return measure::seconds(oldest, now);
  }
  Cache& cache() { return cache_; }
  const Cache& cache() const { return cache_; }

 private:
  admission answer_to(const sequence& s) const {
    if (s.tokens.empty()) return admission::empty_prompt;
    if (s.most_positions() > capacity()) return admission::never_fits;
    return waiting() >= limits_.max_queue ? admission::queue_full : admission::accepted;
  }

  /// So that nothing allocates later.
  void make_room(const sequence& s) {
    waiting_.reserve(in_system_ + 1);
    deadlines_.reserve(in_system_ + 1);
    if (dropped_.capacity() < in_system_ + 1) dropped_.reserve(2 * (in_system_ + 1));
    waiting_.enroll(s);
  }

  // -- coming and going --

  void let_wait(sequence& s) {
    if (s.stage == stage::held) --held_;
    s.stage = stage::waiting;
    waiting_.push(s);
  }

  void end_overdue(time_point now) {
    while (!deadlines_.empty() && deadlines_.top().deadline <= now)
      drop(deadlines_.top(), drop_reason::deadline);
  }

  void drop(sequence& s, drop_reason reason) {
    remove(s);
    dropped_.push_back({&s, reason});
  }

  /// A sequence that is in no queue any more, nor runs, leaves the rest.
  void forget(sequence& s) {
    waiting_.ended(s);
    s.stage = stage::outside;
    --in_system_;
    if (s.deadline != (time_point::max)()) deadlines_.erase(s);
    detach(s);
    while (s.copies != nullptr) {
      sequence& copy = *s.copies;
      detach(copy);
      if (copy.stage == stage::held) let_wait(copy);
    }
  }

  /// A running sequence gives its slot back.
  void leave(sequence& s) {
    cache_.release(s.slot);
    free_slots_.push_back(s.slot);
    running_.erase(std::find(running_.begin(), running_.end(), &s));
  }

  // -- room in the cache --

  /// Gives each running sequence room for its tokens; true when that made others leave.
  bool make_sequences_fit() {
    bool somebody_left = false;
    for (std::size_t i = 0; i < running_.size();) {
      sequence& s = *running_[i];
      if (cache_.reserve(s.slot, s.tokens.size())) {
        ++i;
        continue;
      }
      sequence& victim = choose_victim(s);
      const auto place = std::find(running_.begin(), running_.end(), &victim) - running_.begin();
      if (static_cast<std::size_t>(place) < i) --i;
      preempt(victim);
      somebody_left = true;
    }
    return somebody_left;
  }

  sequence& choose_victim(sequence& in_need) {
    if (preemption::reserves_all || running_.size() == 1) return in_need;  // the manager broke its word
    sequence* chosen = running_[1];
    for (std::size_t i = 2; i < running_.size(); ++i)
      if (preemption::victim::rather(*running_[i], *chosen)) chosen = running_[i];
    return *chosen;
  }

  void preempt(sequence& s) {
    ++counters_.preemptions;
    ++s.preemptions;
    stage next = stage::preempted;
    if constexpr (preemption::swaps) {
      const auto moved = s.computed > 0 ? cache_.swap_out(s.slot) : std::nullopt;
      if (moved) {
        s.swapped = *moved;
        next = stage::swapped;
        ++counters_.swaps_out;
      }
    }
    leave(s);
    s.stage = next;
    if (next == stage::preempted) s.computed = 0;
    waiting_.push_back_in(s);
  }

  batching::gate_state gate(const sequence& next, time_point now) const {
    return {limits_.max_batch, running_.size(), waiting(), now - next.queued};
  }

  void let_enter(time_point now) {
    sequence* next = waiting_.next();
    if (next == nullptr) return;
    if (!Batching::opens(gate(*next, now))) return;
    for (; next != nullptr && !free_slots_.empty(); next = waiting_.next()) {
      if (!enter(*next, now)) {
        if (!running_.empty()) return;
        drop(*next, drop_reason::no_room);
      }
    }
  }

  /// Gives the next in turn a slot and room in the cache.
  bool enter(sequence& s, time_point now) {
    const std::size_t slot = free_slots_.back();
    const bool swapped = s.stage == stage::swapped;
    if (!(swapped ? swap_in(s, slot) : start(s, slot))) return false;
    waiting_.pop();
    if (!swapped && s.copy_of != nullptr) detach(s);
    free_slots_.pop_back();
    s.stage = stage::running;
    s.slot = slot;
    s.scheduled = now;
    s.entered = ++entered_;
    running_.insert(
        std::upper_bound(running_.begin(), running_.end(), &s,
                         [](const sequence* a, const sequence* b) { return goes_before(*a, *b); }),
        &s);
    return true;
  }

  bool swap_in(sequence& s, std::size_t slot) {
    if constexpr (cache::swaps<Cache>) {
      if (!leaves_room(0, s.tokens.size()) || !cache_.swap_in(slot, s.swapped, s.tokens.size())) return false;
      ++counters_.swaps_in;
    }
    return true;
  }

  bool start(sequence& s, std::size_t slot) {
    bool forked = false;
    std::size_t found = 0;
    if constexpr (cache::forks<Cache>) {
      if (s.copy_of != nullptr && s.copy_of->stage == stage::running && can_share(s)) {
        forked = true;
        found = s.tokens.size() - 1;  // the last token gives the logits
        cache_.fork(s.copy_of->slot, slot, found);
      }
    }
    if constexpr (cache::shares_prefixes<Cache>)
      if (!forked) found = cache_.match(slot, s.tokens);
    const std::size_t wanted = preemption::reserves_all ? s.most_positions() : s.tokens.size();
    if (!leaves_room(found, wanted) || !cache_.reserve(slot, wanted)) {
      cache_.release(slot);
      return false;
    }
    s.computed = s.shared = found;
    if (forked) ++counters_.forks;
    if constexpr (cache::shares_prefixes<Cache>) {
      if (!forked) {
        counters_.prefix_queries += s.tokens.size();
        counters_.prefix_hits += found;
      }
    }
    return true;
  }

  /// Where sequences may grow, those that run must have a block each before another enters.
  bool leaves_room(std::size_t found, std::size_t wanted) const {
    if constexpr (cache::counts_blocks<Cache> && !preemption::reserves_all) {
      const std::size_t needed = cache_.blocks_for(wanted) - cache_.blocks_for(found);
      return running_.empty() || needed + running_.size() <= cache_.free_blocks();
    } else {
      return true;
    }
  }

  // -- copies --

  /// Whether all but the last token of a copy has been computed in what it is a copy of.
  bool can_share(const sequence& s) const { return s.copy_of->computed + 1 >= s.tokens.size(); }

  /// A copy no longer depends on what it is a copy of.
  void detach(sequence& s) {
    if (s.copy_of == nullptr) return;
    sequence** link = &s.copy_of->copies;
    while (*link != &s) link = &(*link)->next_copy;
    *link = s.next_copy;
    s.copy_of = s.next_copy = nullptr;
  }

  // -- the step --

  void share_tokens() {
    shares_.clear();
    for (const sequence* s : running_) shares_.push_back({s->pending(), 0});
    prefill::share(std::span<batching::token_share>(shares_), budget_, left_out_);
    left_out_ = false;
    for (const batching::token_share& share : shares_) left_out_ |= share.decodes() && share.count == 0;
  }

  schedule::limits limits_;
  std::size_t budget_;
  Cache cache_;
  queue waiting_;
  indexed_heap<ends_sooner, &sequence::deadline_place> deadlines_;
  std::vector<sequence*> running_;  // in order
  std::vector<std::size_t> free_slots_;
  std::vector<batching::token_share> shares_;  // of running_
  std::vector<dropped_sequence> dropped_;
  plan_builder builder_;
  schedule::counters counters_;
  std::size_t in_system_ = 0;
  std::size_t held_ = 0;
  std::uint64_t entered_ = 0;
  bool left_out_ = false;  // one that decodes, in the last step
};

}  // namespace tenon::schedule
