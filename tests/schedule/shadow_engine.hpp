// An engine without a model. Instead of keys and values, each row of its cache holds a hash of all tokens up to that
// position, which is what keys and values depend on; so it sees whether every position that a sequence attends to
// holds what that sequence would have computed itself. The next token is a function of that hash, too: what a
// sequence generates is known beforehand, whatever it shared or lost on the way.
#pragma once

#include <tenon/schedule/scheduler.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cache/invariants.hpp"

namespace tenon::test {

inline std::uint64_t prefix_hash(std::uint64_t before, token_id token) {
  return cache::token_hash::mix(before * 31 + static_cast<std::uint64_t>(token) + 1);
}
/// What the model says after a prefix.
inline token_id next_token(std::uint64_t prefix, std::uint64_t seed) {
  return static_cast<token_id>(cache::token_hash::mix(prefix ^ seed) % 50);
}
/// What a prompt's answer is.
inline std::vector<token_id> answer(std::vector<token_id> tokens, std::uint64_t seed, std::size_t length) {
  const std::size_t prompt = tokens.size();
  std::uint64_t prefix = 0;
  for (const token_id token : tokens) prefix = prefix_hash(prefix, token);
  for (std::size_t i = 0; i < length; ++i) {
    tokens.push_back(next_token(prefix, seed));
    prefix = prefix_hash(prefix, tokens.back());
  }
  return {tokens.begin() + static_cast<std::ptrdiff_t>(prompt), tokens.end()};
}
/// n tokens that follow from a seed: prompts of one seed begin alike.
inline std::vector<token_id> prompt_of(std::size_t n, std::uint64_t seed = 0) { return answer({1}, seed, n); }

/// A request and what became of it.
struct client {
  schedule::sequence sequence;
  std::vector<token_id> prompt;
  std::uint64_t seed = 0;
  std::size_t wanted = 1;  // tokens that it generates; its limit may allow more
  std::vector<token_id> streamed;
  schedule::admission answered = schedule::admission::accepted;
  bool ended = false, cancelled = false, dropped = false;
  schedule::drop_reason reason = schedule::drop_reason::deadline;
  std::size_t first_token_step = 0, last_token_step = 0;
  std::size_t entered_step = 0;  // the first time; counts from 1
  std::size_t served = 0;        // steps with tokens of it

  bool finished() const { return ended && !cancelled && !dropped; }
};

struct order {
  std::int32_t priority = 0;
  std::uint64_t account = 0;
  std::uint64_t seed = 0;
  std::size_t spare = 0;  // tokens that its limit has over what it wants
  client* copy_of = nullptr;
  schedule::time_point deadline = (schedule::time_point::max)();
};

template <class Batching, class Manager>
class shadow_engine {
 public:
  shadow_engine(const schedule::limits& limits, Manager manager)
      : limits_(limits),
        scheduler_(limits, std::move(manager)),
        rows_(scheduler_.cache().rows()),
        row_users_(rows_.size()) {
    if constexpr (cache::swaps<Manager>) host_rows_.resize(scheduler_.cache().swap_rows());
  }

  client& submit(std::vector<token_id> prompt, std::size_t wanted, const order& how = {}) {
    clients_.push_back(std::make_unique<client>());
    client& c = *clients_.back();
    c.prompt = prompt;
    c.seed = how.seed;
    c.wanted = wanted;
    c.sequence.id = clients_.size();
    c.sequence.limit = prompt.size() + wanted + how.spare;
    c.sequence.tokens = std::move(prompt);
    c.sequence.tokens.reserve(c.sequence.limit);
    c.sequence.priority = how.priority;
    c.sequence.client = how.account;
    c.sequence.deadline = how.deadline;
    if (how.copy_of != nullptr && !how.copy_of->ended) c.sequence.copy_of = &how.copy_of->sequence;
    c.ended = c.dropped = true;  // should submit() throw
    c.answered = scheduler_.submit(c.sequence, now);
    c.ended = c.dropped = c.answered != schedule::admission::accepted;
    return c;
  }

  void cancel(client& c) {
    if (c.ended) return;
    expect(scheduler_.remove(c.sequence), "what has not ended can be cancelled");
    c.ended = c.cancelled = true;
    check_cache();
  }

  /// One step. False when there is nothing to do.
  bool step() {
    now += std::chrono::milliseconds(1);
    const step_plan& plan = scheduler_.plan(now);
    for (const schedule::dropped_sequence& d : scheduler_.dropped()) {
      client& c = of(*d.dropped);
      expect(!c.ended, "only what has not ended is dropped");
      c.ended = c.dropped = true;
      c.reason = d.reason;
    }
    copy_blocks();
    check_cache();
    if (plan.tokens.empty()) return !scheduler_.idle();
    ++steps;
    for (schedule::sequence* s : scheduler_.running_sequences())
      if (of(*s).entered_step == 0) of(*s).entered_step = steps;
    check(plan);
    run(plan);
    const auto owners = scheduler_.owners();
    std::vector<client*> sampled;
    for (const std::size_t row : plan.sampled_rows) sampled.push_back(&of(*owners[plan.span_of(row)]));
    for (schedule::sequence* s : owners) ++of(*s).served;
    scheduler_.commit();
    check_cache();
    for (client* c : sampled) deliver(*c);
    check_cache();
    return true;
  }

  /// Steps until nothing is left, and checks what everybody got. False if it takes too long.
  bool finish() {
    std::size_t most = 100;
    for (const auto& c : clients_) most += 20 * (c->prompt.size() + c->wanted);
    while (step() || !scheduler_.idle()) {
      if (most-- == 0) expect(false, "all end");
      if (!fault.empty()) return false;
    }
    for (const auto& c : clients_) {
      expect(c->ended, "every request ends");
      const std::vector<token_id> right = answer(c->prompt, c->seed, c->wanted);
      expect(c->streamed.size() <= right.size() &&
                 std::equal(c->streamed.begin(), c->streamed.end(), right.begin()),
             "what was streamed is the answer");
      expect(!c->finished() || c->streamed == right, "who finished has the whole answer");
    }
    if constexpr (cache::counts_blocks<Manager>)
      expect(scheduler_.cache().free_blocks() == scheduler_.cache().blocks(), "all blocks are free again");
    return fault.empty();
  }

  const std::vector<std::unique_ptr<client>>& clients() const { return clients_; }
  auto& scheduler() { return scheduler_; }
  Manager& cache() { return scheduler_.cache(); }
  const schedule::counters& counters() const { return scheduler_.counters(); }

  schedule::time_point now{std::chrono::hours(1)};
  std::size_t steps = 0;
  std::string fault;  // the first thing that was wrong

 private:
  void expect(bool holds, std::string_view what) {
    if (!holds && fault.empty()) fault = what;
  }
  client& of(const schedule::sequence& s) { return *clients_[s.id - 1]; }

  void copy_blocks() {
    if constexpr (cache::copies_blocks<Manager>) {
      constexpr std::size_t N = Manager::block_size;
      for (const cache::block_copy& c : scheduler_.cache().copies()) {
        const auto& from = c.kind == cache::copy_kind::from_host ? host_rows_ : rows_;
        auto& to = c.kind == cache::copy_kind::to_host ? host_rows_ : rows_;
        for (std::size_t i = 0; i < N; ++i)
          to[static_cast<std::size_t>(c.to) * N + i] = from[static_cast<std::size_t>(c.from) * N + i];
        ++copied;
      }
    }
  }

  void check_cache() {
    if constexpr (cache::copies_blocks<Manager>) {
      std::size_t swapped = 0;
      for (const auto& c : clients_)
        if (c->sequence.stage == schedule::stage::swapped)
          swapped += Manager::blocks_for(c->sequence.swapped.positions);
      const std::string wrong = fault_of(scheduler_.cache(), limits_.max_batch, swapped);
      expect(wrong.empty(), wrong);
    }
  }

  /// The plan is what a backend may rely on.
  void check(const step_plan& plan) {
    const auto owners = scheduler_.owners();
    expect(plan.tokens.size() <= scheduler_.budget(), "a step has its budget");
    expect(scheduler_.running() <= limits_.max_batch, "a batch has its limit");
    expect(plan.tokens.size() == plan.positions.size(), "every token has a position");
    expect(plan.spans.size() == owners.size(), "every span has an owner");
    const auto running = scheduler_.running_sequences();
    expect(std::is_sorted(running.begin(), running.end(),
                          [](const auto* a, const auto* b) { return schedule::goes_before(*a, *b); }),
           "those that run are in order");
    std::set<std::size_t> slots;
    for (const schedule::sequence* s : running) {
      expect(s->slot < limits_.max_batch && slots.insert(s->slot).second, "each has a slot of its own");
      expect(s->stage == schedule::stage::running && !of(*s).ended, "those that run, run");
    }
    std::size_t row = 0, sampled = 0;
    bool prompts_began = false;
    std::set<const void*> seen;
    for (std::size_t i = 0; i < plan.spans.size(); ++i) {
      const sequence_span& span = plan.spans[i];
      const schedule::sequence& s = *owners[i];
      expect(seen.insert(&s).second, "no sequence is in a step twice");
      expect(span.first_row == row && span.count > 0, "spans follow one another");
      expect(span.slot == s.slot && span.first_position == s.computed, "a span goes on where the last ended");
      expect(!(s.pending() == 1 && prompts_began), "decodes come before prompts");
      prompts_began = prompts_began || s.pending() > 1;
      for (std::size_t k = 0; k < span.count; ++k, ++row) {
        expect(plan.positions[row] == s.computed + k, "positions follow one another");
        expect(plan.tokens[row] == s.tokens[s.computed + k], "tokens are the sequence's");
      }
      if (s.computed + span.count == s.tokens.size()) {
        expect(sampled < plan.sampled_rows.size() && plan.sampled_rows[sampled] == row - 1,
               "the last token of a whole sequence is sampled");
        ++sampled;
      }
    }
    expect(row == plan.tokens.size() && sampled == plan.sampled_rows.size(), "nothing else is planned");
  }

  /// Writes all rows of the step, then looks at all that is attended to.
  void run(const step_plan& plan) {
    const auto owners = scheduler_.owners();
    const auto& manager = scheduler_.cache();
    std::fill(row_users_.begin(), row_users_.end(), 0u);
    for (const schedule::sequence* s : scheduler_.running_sequences())
      for (std::size_t p = 0; p < s->computed; ++p) ++row_users_[manager.view(s->slot).row(p)];
    for (std::size_t i = 0; i < plan.spans.size(); ++i) {
      const sequence_span& span = plan.spans[i];
      const std::vector<std::uint64_t> prefixes = prefixes_of(*owners[i]);
      for (std::size_t k = 0; k < span.count; ++k) {
        const std::size_t row = manager.view(span.slot).row(span.first_position + k);
        if (row >= rows_.size()) return expect(false, "rows are in the cache");
        expect(row_users_[row]++ == 0, "nobody else holds a row that is written");
        rows_[row] = prefixes[span.first_position + k];
      }
    }
    for (std::size_t i = 0; i < plan.spans.size(); ++i) {
      const sequence_span& span = plan.spans[i];
      const auto view = manager.view(span.slot);
      const std::vector<std::uint64_t> prefixes = prefixes_of(*owners[i]);
      for (std::size_t p = 0; p < span.first_position + span.count; ++p) {
        expect(rows_[view.row(p)] == prefixes[p], "each position holds its own token");
        expect(view.run(p) >= 1, "a run has a position");
        for (std::size_t r = 1; r < view.run(p) && p + r < span.first_position + span.count; ++r)
          expect(view.row(p + r) == view.row(p) + r, "the rows of a run follow one another");
      }
    }
  }

  static std::vector<std::uint64_t> prefixes_of(const schedule::sequence& s) {
    std::vector<std::uint64_t> prefixes;
    std::uint64_t prefix = 0;
    for (const token_id token : s.tokens) prefixes.push_back(prefix = prefix_hash(prefix, token));
    return prefixes;
  }

  void deliver(client& c) {
    expect(c.sequence.computed == c.sequence.tokens.size(), "commit() counts what was computed");
    const token_id token = next_token(prefixes_of(c.sequence).back(), c.seed);
    c.sequence.tokens.push_back(token);
    c.streamed.push_back(token);
    if (c.first_token_step == 0) c.first_token_step = steps;
    c.last_token_step = steps;
    if (c.streamed.size() < c.wanted) return;
    expect(scheduler_.remove(c.sequence), "what runs can end");
    c.ended = true;
  }

  schedule::limits limits_;
  schedule::scheduler<Batching, Manager> scheduler_;
  std::vector<std::uint64_t> rows_, host_rows_;
  std::vector<unsigned> row_users_;
  std::vector<std::unique_ptr<client>> clients_;

 public:
  std::size_t copied = 0;  // blocks
};

}  // namespace tenon::test
