// Ragged steps and cache layouts, for the tests of the ops that read and write the cache.
#pragma once

#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "conformance/harness.hpp"

namespace tenon::conformance {

/// Tokens of one sequence in a step: `count` from position `position` on.
struct part {
  std::size_t position;
  std::size_t count;
};

/// A step plan and the arrays behind it. Span i belongs to sequence i.
class steps {
 public:
  explicit steps(const std::vector<part>& parts) {
    for (std::size_t i = 0; i < parts.size(); ++i) {
      spans_.push_back({.slot = i,
                        .first_row = positions_.size(),
                        .first_position = parts[i].position,
                        .count = parts[i].count});
      for (std::size_t k = 0; k < parts[i].count; ++k) positions_.push_back(parts[i].position + k);
    }
    tokens_.resize(positions_.size());
  }

  step_plan plan() const {
    return {.tokens = tokens_, .positions = positions_, .spans = spans_, .sampled_rows = {}};
  }

 private:
  std::vector<token_id> tokens_;
  std::vector<std::size_t> positions_;
  std::vector<sequence_span> spans_;
};

/// A view as a user might write it: every position looks its row up, and runs are short and uneven.
struct scattered_view {
  const std::size_t* rows;
  const std::size_t* runs;
  std::size_t row(std::size_t position) const { return rows[position]; }
  std::size_t run(std::size_t position) const { return runs[position]; }
};
static_assert(cache::layout_view<scattered_view>);

/// A layout that deals rows out to sequences at random, in no order.
class scattered_rows {
 public:
  scattered_rows(std::size_t sequences, std::size_t context, std::uint64_t seed)
      : rows_(sequences * context), runs_(rows_.size(), 1) {
    std::iota(rows_.begin(), rows_.end(), std::size_t{0});
    // Swaps of blocks of random length leave runs of random length.
    reference::random_source random(seed);
    for (std::size_t turn = 0; turn < rows_.size(); ++turn) {
      const std::size_t length = 1 + random.below(9);
      if (rows_.size() < 2 * length) break;
      const std::size_t a = random.below(rows_.size() - 2 * length + 1);
      const std::size_t b = a + length + random.below(rows_.size() - a - 2 * length + 1);
      std::swap_ranges(rows_.begin() + static_cast<std::ptrdiff_t>(a),
                       rows_.begin() + static_cast<std::ptrdiff_t>(a + length),
                       rows_.begin() + static_cast<std::ptrdiff_t>(b));
    }
    for (std::size_t i = rows_.size(); i-- > 0;) {
      const bool last = (i + 1) % context == 0;
      if (!last && rows_[i + 1] == rows_[i] + 1) runs_[i] = runs_[i + 1] + 1;
    }
    for (std::size_t s = 0; s < sequences; ++s) views_.push_back({&rows_[s * context], &runs_[s * context]});
  }
  scattered_rows(const scattered_rows&) = delete;
  scattered_rows& operator=(const scattered_rows&) = delete;

  std::size_t rows() const { return rows_.size(); }
  const std::vector<scattered_view>& views() const { return views_; }

 private:
  std::vector<std::size_t> rows_, runs_;
  std::vector<scattered_view> views_;
};

/// Every row of a cache to bytes of 0xff, which is NaN in each of its formats.
template <class Key, class Value>
void fill_with_nan(host::kv_store<Key, Value>& cache, std::size_t layers, const host::head_shape& shape,
                   std::size_t rows) {
  for (std::size_t layer = 0; layer < layers; ++layer) {
    for (std::size_t head = 0; head < shape.kv_heads; ++head) {
      std::memset(cache.keys(layer, head), 0xff, rows * cache.key_stride());
      std::memset(cache.values(layer, head), 0xff, rows * cache.value_stride());
    }
  }
}

}  // namespace tenon::conformance
