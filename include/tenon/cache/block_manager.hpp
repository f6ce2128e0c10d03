// The manager of layouts in blocks: which blocks a sequence holds, shared ones among them, and what has to be
// copied before a step. Host logic; the memory itself is a backend's.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tenon/cache/block_copy.hpp"
#include "tenon/cache/block_pool.hpp"
#include "tenon/cache/prefix_index.hpp"
#include "tenon/cache/swap_space.hpp"
#include "tenon/core/host_device.hpp"
#include "tenon/core/types.hpp"
#include "tenon/policy/cache.hpp"

namespace tenon::cache {

/// Finds a position's row by its sequence's block table. The table is in whatever memory the reader can read.
template <std::size_t N>
struct block_view {
  static constexpr std::size_t block_size = N;
  const block_id* table;
  TENON_HOST_DEVICE constexpr std::size_t row(std::size_t position) const {
    return static_cast<std::size_t>(table[position / N]) * N + position % N;
  }
  TENON_HOST_DEVICE constexpr std::size_t run(std::size_t position) const { return N - position % N; }
};

/// Blocks of N positions. A slot's positions are written in order: computed() says how far, and what lies beyond
/// is the slot's own to write after reserve(). Nothing allocates after construction.
template <std::size_t N, class Index = no_prefix_index>
class block_manager {
  static_assert(N > 0, "tenon: a block holds at least one position");

 public:
  static constexpr std::size_t block_size = N;
  using view_type = block_view<N>;

  explicit block_manager(const geometry& size)
      : context_(size.context),
        max_blocks_(blocks_for(size.context)),
        pool_(size.rows != 0 ? size.rows / N : size.max_batch * max_blocks_),
        index_(pool_.size(), N),
        swap_(size.swap_rows / N),
        slots_(size.max_batch),
        tables_(size.max_batch * max_blocks_, no_block),
        chains_(Index::shares ? tables_.size() : 0) {
    copies_.reserve(pool_.size() + swap_.size());
  }

  static constexpr std::size_t blocks_for(std::size_t positions) { return (positions + N - 1) / N; }

  std::size_t rows() const { return pool_.size() * N; }
  std::size_t swap_rows() const { return swap_.size() * N; }
  /// Most positions that one sequence can have, when it is alone.
  std::size_t capacity() const { return (std::min)(context_, rows()); }
  std::size_t blocks() const { return pool_.size(); }
  /// Blocks that a sequence can have now; those whose content is kept for sharing are among them.
  std::size_t free_blocks() const { return pool_.available() + index_.parked(); }

  /// Makes the slot hold `positions`, those that are not yet written in blocks of its own. False, and nothing
  /// changed, when there is no room. A block that others hold too is replaced by a copy, see copies(). Keeps
  /// what the slot has beyond.
  bool reserve(std::size_t slot, std::size_t positions) {
    state& s = slots_[slot];
    const std::size_t wanted = blocks_for(positions), first = s.written / N;
    if (wanted > max_blocks_) return false;
    std::size_t needed = wanted > s.held ? wanted - s.held : 0;
    for (std::size_t b = first; b < (std::min)(wanted, s.held); ++b)
      needed += shared(entry(slot, b)) ? 1u : 0u;
    if (needed > free_blocks()) return false;
    for (std::size_t b = first; b < (std::min)(wanted, s.held); ++b) make_own(slot, b);
    for (; s.held < wanted; ++s.held) entry(slot, s.held) = take();
    return true;
  }

  /// Takes a slot's blocks back.
  void release(std::size_t slot) {
    state& s = slots_[slot];
    while (s.held > 0) {  // the last first, so that the end of a prefix is evicted before its beginning
      block_id& block = entry(slot, --s.held);
      drop(block);
      block = no_block;
    }
    s = {};
  }

  /// The slot's tokens up to and including the last position that a step has written. Their full blocks can be
  /// shared from now on.
  void computed(std::size_t slot, std::span<const token_id> tokens) {
    state& s = slots_[slot];
    s.written = tokens.size();
    if constexpr (Index::shares) {
      for (; (s.indexed + 1) * N <= tokens.size(); ++s.indexed) {
        const auto content = tokens.subspan(s.indexed * N, N);
        const prefix_id parent = chain(slot, s.indexed);
        const block_id own = entry(slot, s.indexed), found = index_.find(parent, content);
        chains_[slot * max_blocks_ + s.indexed] =
            found != no_block ? index_.id(found) : index_.insert(own, parent, content);
      }
    }
  }

  /// Gives an empty slot what is known of the beginning of `tokens`: returns how many positions need not be
  /// computed. The last token always has to be, as its logits are wanted.
  std::size_t match(std::size_t slot, std::span<const token_id> tokens) requires(Index::shares) {
    state& s = slots_[slot];
    while ((s.held + 1) * N <= tokens.size()) {
      const prefix_id parent = chain(slot, s.held);
      const block_id block = index_.find(parent, tokens.subspan(s.held * N, N));
      if (block == no_block) break;
      if (pool_.references(block) == 0) index_.unpark(block);
      pool_.share(block);
      chains_[slot * max_blocks_ + s.held] = index_.id(block);
      entry(slot, s.held++) = block;
    }
    s.written = tokens.empty() ? 0 : (std::min)(s.held * N, tokens.size() - 1);
    s.indexed = s.written / N;
    return s.written;
  }

  /// Lets an empty slot share the first `positions` of another, which has written them.
  void fork(std::size_t from, std::size_t to, std::size_t positions) {
    state& s = slots_[to];
    for (; s.held < blocks_for(positions); ++s.held) {
      entry(to, s.held) = entry(from, s.held);
      pool_.share(entry(to, s.held));
      if constexpr (Index::shares) chains_[to * max_blocks_ + s.held] = chains_[from * max_blocks_ + s.held];
    }
    s.written = positions;
    s.indexed = (std::min)(slots_[from].indexed, positions / N);
  }

  /// Moves a slot's written positions to the swap space, and releases the slot. Nothing, and nothing changed,
  /// when the swap space has no room.
  std::optional<swapped_sequence> swap_out(std::size_t slot) {
    const std::size_t positions = slots_[slot].written, count = blocks_for(positions);
    if (count > swap_.available()) return std::nullopt;
    swapped_sequence made{no_block, positions};
    for (std::size_t b = count; b-- > 0;) {
      made.first = swap_.prepend(made.first);
      copies_.push_back({copy_kind::to_host, entry(slot, b), made.first});
    }
    release(slot);
    return made;
  }
  /// Brings it back into an empty slot, which then holds `positions` or more. False, and nothing changed, when
  /// there is no room.
  bool swap_in(std::size_t slot, const swapped_sequence& swapped, std::size_t positions) {
    if (!reserve(slot, (std::max)(positions, swapped.positions))) return false;
    block_id from = swapped.first;
    for (std::size_t b = 0; from != no_block; ++b, from = swap_.next(from))
      copies_.push_back({copy_kind::from_host, from, entry(slot, b)});
    slots_[slot].written = swapped.positions;
    swap_.read(swapped.first);
    return true;
  }
  /// Forgets a swapped sequence.
  void discard(const swapped_sequence& swapped) { swap_.discard(swapped.first); }

  /// What has to be copied before the next step, in this order.
  std::span<const block_copy> copies() const { return copies_; }
  /// They have been made.
  void copies_done() {
    copies_.clear();
    swap_.copies_done();
  }

  /// How a kernel finds the slot's positions; valid as long as the manager, and up to date when it is.
  view_type view(std::size_t slot) const { return {tables_.data() + slot * max_blocks_}; }
  /// All block tables, [max_batch, max_blocks()]; no_block where a slot holds none.
  std::span<const block_id> tables() const { return tables_; }
  std::size_t max_blocks() const { return max_blocks_; }

  // -- for tests and reports --
  std::size_t held(std::size_t slot) const { return slots_[slot].held; }
  std::size_t written(std::size_t slot) const { return slots_[slot].written; }
  const block_pool& pool() const { return pool_; }
  const Index& index() const { return index_; }
  const swap_space& swap() const { return swap_; }

 private:
  struct state {
    std::size_t held = 0;     // blocks
    std::size_t written = 0;  // positions
    std::size_t indexed = 0;  // full blocks whose place in the index is known
  };

  block_id& entry(std::size_t slot, std::size_t block) { return tables_[slot * max_blocks_ + block]; }
  bool shared(block_id block) const { return pool_.references(block) > 1; }

  /// What a slot's block follows.
  prefix_id chain(std::size_t slot, std::size_t block) const {
    return block == 0 ? 0 : chains_[slot * max_blocks_ + block - 1];
  }

  block_id take() {
    if (pool_.available() == 0) pool_.put_back(index_.evict());
    return pool_.take();
  }

  void drop(block_id block) {
    if (!pool_.drop(block)) return;
    if (index_.holds(block)) {
      index_.park(block);
    } else {
      pool_.put_back(block);
    }
  }

  /// A block that is about to be written must be seen by nobody else, and can no longer be found by its old
  /// content.
  void make_own(std::size_t slot, std::size_t b) {
    block_id& block = entry(slot, b);
    if (shared(block)) {
      const block_id own = take();
      if (b * N < slots_[slot].written) copies_.push_back({copy_kind::within, block, own});
      drop(block);
      block = own;
    } else if (index_.holds(block)) {
      index_.erase(block);
    }
  }

  std::size_t context_;
  std::size_t max_blocks_;  // of one sequence
  block_pool pool_;
  Index index_;
  swap_space swap_;
  std::vector<state> slots_;
  std::vector<block_id> tables_;   // [max_batch, max_blocks]
  std::vector<prefix_id> chains_;  // [max_batch, max_blocks], each block's number in the index
  std::vector<block_copy> copies_;
};

}  // namespace tenon::cache
