// Byte pair encoding: a piece begins as one token per byte, and the pair of neighbours whose merge was learnt
// first is joined until no known pair is left.
#pragma once

#include "tenon/core/types.hpp"
#include "tenon/text/monotone_queue.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace tenon::text {

/// What a pair of tokens becomes, and how early the merge was learnt (lower goes first).
struct merge {
  std::uint32_t rank;
  token_id result;
};

/// The merges of a vocabulary by their pair of tokens: an open hash table that is at most half full.
class merge_table {
 public:
  /// Room for `count` merges, which must be known beforehand.
  explicit merge_table(std::size_t count = 0)
      : shift_(64 - static_cast<unsigned>(std::bit_width(2 * count + 1))),
        slots_(std::size_t{1} << (64 - shift_), slot{empty, {0, 0}}) {}

  /// The first merge given for a pair is kept.
  void add(token_id left, token_id right, merge what) {
    slot& place = slots_[locate(key(left, right))];
    if (place.key == empty) place = {key(left, right), what};
  }

  const merge* find(token_id left, token_id right) const {
    const slot& place = slots_[locate(key(left, right))];
    return place.key == empty ? nullptr : &place.what;
  }

 private:
  struct slot {
    std::uint64_t key;
    merge what;
  };
  static constexpr std::uint64_t empty =
      (std::numeric_limits<std::uint64_t>::max)();  // no pair: ids are positive

  static std::uint64_t key(token_id left, token_id right) {
    return std::uint64_t{static_cast<std::uint32_t>(left)} << 32 | static_cast<std::uint32_t>(right);
  }
  std::size_t locate(std::uint64_t wanted) const {
    std::size_t i = static_cast<std::size_t>((wanted ^ (wanted >> 29)) * 0x9e3779b97f4a7c15u >> shift_);
    while (slots_[i].key != empty && slots_[i].key != wanted) i = (i + 1) & (slots_.size() - 1);
    return i;
  }

  unsigned shift_;
  std::vector<slot> slots_;
};

/// Merges one piece after another; keeps its memory between them. The time for a piece of n bytes is O(n log
/// n): the candidates are in a queue ordered by rank, then place, and the tokens in a linked list. A merge of
/// a token was learnt after the token itself, so the queue's keys rise.
class pair_merger {
 public:
  /// Adds a token to the end of the piece.
  void push(token_id id) {
    const auto here = static_cast<std::uint32_t>(symbols_.size());
    symbols_.push_back({id, none, 0, here - 1, here + 1});
  }

  /// Merges the piece, appends its tokens to `ids`, and is then ready for the next piece.
  void finish(const merge_table& merges, std::vector<token_id>& ids) {
    const auto count = static_cast<std::uint32_t>(symbols_.size());
    if (count == 0) return;
    for (std::uint32_t i = 0; i + 1 < count; ++i) look_up(merges, i);
    while (!candidates_.empty()) {
      const std::uint64_t best = candidates_.pop();
      const auto place = static_cast<std::uint32_t>(best);
      // A candidate is out of date when its pair has changed since: then the pair's rank is another one, too.
      if (symbols_[place].rank == static_cast<std::uint32_t>(best >> 32)) join(merges, place);
    }
    for (std::uint32_t i = 0; i < count; i = symbols_[i].next) ids.push_back(symbols_[i].id);
    symbols_.clear();
    candidates_.restart();
  }

 private:
  static constexpr std::uint32_t none = (std::numeric_limits<std::uint32_t>::max)();

  struct symbol {
    token_id id;
    std::uint32_t rank;    // of the merge with the next symbol; none if there is no such merge
    token_id merged;       // what that merge gives
    std::uint32_t before;  // the neighbours' places: wraps below the first, the count after the last
    std::uint32_t next;
  };

  // Sets the merge of the symbol at `place` with its next one, and makes it a candidate if there is one.
  void look_up(const merge_table& merges, std::uint32_t place) {
    symbol& left = symbols_[place];
    const merge* found = left.next < symbols_.size() ? merges.find(left.id, symbols_[left.next].id) : nullptr;
    left.rank = found != nullptr ? found->rank : none;
    if (found == nullptr) return;
    left.merged = found->result;
    candidates_.push(std::uint64_t{found->rank} << 32 | place);
  }

  void join(const merge_table& merges, std::uint32_t place) {
    symbol& left = symbols_[place];
    symbol& right = symbols_[left.next];
    left.id = left.merged;
    left.next = right.next;
    right.rank = none;
    if (left.next < symbols_.size()) symbols_[left.next].before = place;
    look_up(merges, place);
    if (left.before < symbols_.size()) look_up(merges, left.before);
  }

  std::vector<symbol> symbols_;
  monotone_queue candidates_;  // rank, then place
};

}  // namespace tenon::text
