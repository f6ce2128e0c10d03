// Writes step plans into arrays that keep their room from step to step.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "tenon/core/types.hpp"
#include "tenon/schedule/sequence.hpp"
#include "tenon/schedule/step_plan.hpp"

namespace tenon::schedule {

class plan_builder {
 public:
  plan_builder(std::size_t max_batch, std::size_t max_tokens) {
    tokens_.reserve(max_tokens);
    positions_.reserve(max_tokens);
    spans_.reserve(max_batch);
    rows_.reserve(max_batch);
    owners_.reserve(max_batch);
  }

  void clear() {
    tokens_.clear();
    positions_.clear();
    spans_.clear();
    rows_.clear();
    owners_.clear();
  }

  /// The next `count` tokens of a sequence. Its last one is sampled.
  void add(sequence& s, std::size_t count) {
    spans_.push_back({s.slot, tokens_.size(), s.computed, count});
    owners_.push_back(&s);
    for (std::size_t position = s.computed; position < s.computed + count; ++position) {
      tokens_.push_back(s.tokens[position]);
      positions_.push_back(position);
    }
    if (s.computed + count == s.tokens.size()) rows_.push_back(tokens_.size() - 1);
  }

  /// Valid until the next call of anything here.
  const step_plan& plan() { return plan_ = {tokens_, positions_, spans_, rows_}; }
  std::span<const sequence_span> spans() const { return spans_; }
  std::span<sequence* const> owners() const { return owners_; }

 private:
  step_plan plan_;
  std::vector<token_id> tokens_;
  std::vector<std::size_t> positions_;
  std::vector<sequence_span> spans_;
  std::vector<std::size_t> rows_;
  std::vector<sequence*> owners_;
};

}  // namespace tenon::schedule
