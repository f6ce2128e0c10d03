// The scheduler of static batching: plain logic over sequences, without model, device or clock.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "tenon/core/types.hpp"
#include "tenon/schedule/step_plan.hpp"

namespace tenon {

/// The number of a request, given by submit(); counts from 1.
using request_id = std::uint64_t;

/// What the scheduler knows of a sequence. Its tokens are the prompt and what was generated; those that are
/// not computed yet are in no cache.
struct scheduled_sequence {
  request_id id = 0;
  std::size_t slot = 0;
  std::size_t computed = 0;  // tokens whose keys and values are in the cache
  std::vector<token_id> tokens;
};

/// Gathers up to `max_batch` waiting sequences, runs them until all have ended, then gathers the next. A step
/// holds at most `max_tokens` tokens: prompts are cut to chunks, and sequences that decode come first.
class static_scheduler {
 public:
  static_scheduler(std::size_t max_batch, std::size_t max_tokens)
      : max_batch_(max_batch), max_tokens_(max_tokens) {
    running_.reserve(max_batch);
    tokens_.reserve(max_tokens);
    positions_.reserve(max_tokens);
    spans_.reserve(max_batch);
    rows_.reserve(max_batch);
    owners_.reserve(max_batch);
  }

  void add(scheduled_sequence& sequence) { waiting_.push_back(&sequence); }

  /// Ends a sequence, wherever it is. True when it ran, so that its slot is to be released.
  bool remove(const scheduled_sequence& sequence) {
    std::erase(waiting_, &sequence);
    return std::erase(running_, &sequence) != 0;
  }

  bool idle() const { return running_.empty() && waiting_.empty(); }
  std::size_t running() const { return running_.size(); }
  std::size_t waiting() const { return waiting_.size(); }

  /// Lets waiting sequences in when the last batch has ended; `admit(sequence)` gives one its cache, and says
  /// whether it could.
  template <class Admit>
  void gather(Admit&& admit) {
    if (!running_.empty()) return;
    while (running_.size() < max_batch_ && !waiting_.empty()) {
      scheduled_sequence& next = *waiting_.front();
      next.slot = running_.size();
      if (!admit(next)) return;
      running_.push_back(&next);
      waiting_.pop_front();
    }
  }

  /// The next step's tokens. Valid until the next call; sequences must not be removed before commit.
  const step_plan& plan() {
    tokens_.clear();
    positions_.clear();
    spans_.clear();
    rows_.clear();
    owners_.clear();
    for (const bool decoding : {true, false}) {
      for (scheduled_sequence* sequence : running_) {
        const std::size_t pending = sequence->tokens.size() - sequence->computed;
        if ((pending == 1) == decoding)
          add_span(*sequence, (std::min)(pending, max_tokens_ - tokens_.size()));
      }
    }
    plan_ = {tokens_, positions_, spans_, rows_};
    return plan_;
  }

  /// Notes that the planned tokens have been computed.
  void commit() {
    for (std::size_t s = 0; s < spans_.size(); ++s) owners_[s]->computed += spans_[s].count;
  }

  /// The sequences of the plan's spans.
  std::span<scheduled_sequence* const> span_owners() const { return owners_; }

 private:
  void add_span(scheduled_sequence& sequence, std::size_t count) {
    if (count == 0) return;
    spans_.push_back({sequence.slot, tokens_.size(), sequence.computed, count});
    owners_.push_back(&sequence);
    for (std::size_t i = 0; i < count; ++i) {
      tokens_.push_back(sequence.tokens[sequence.computed + i]);
      positions_.push_back(sequence.computed + i);
    }
    if (sequence.computed + count == sequence.tokens.size()) rows_.push_back(tokens_.size() - 1);
  }

  std::size_t max_batch_;
  std::size_t max_tokens_;
  std::deque<scheduled_sequence*> waiting_;
  std::vector<scheduled_sequence*> running_;
  step_plan plan_;
  std::vector<token_id> tokens_;
  std::vector<std::size_t> positions_;
  std::vector<sequence_span> spans_;
  std::vector<std::size_t> rows_;
  std::vector<scheduled_sequence*> owners_;
};

}  // namespace tenon
