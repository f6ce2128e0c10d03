// Which block holds which tokens after which others: a trie of full blocks in a hash table, so that a prompt that
// begins as an earlier one did finds its keys and values. A block of nobody stays in it until its room is needed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tenon/cache/block_copy.hpp"
#include "tenon/core/types.hpp"

namespace tenon::cache {

/// A block's place in the trie. Each entry gets a number of its own that is never given out again, so that what
/// followed a block that is gone is never found behind another. 0 is the beginning of every sequence.
using prefix_id = std::uint64_t;

/// Spreads (parent, tokens) over 64 bits. Equal hashes do no harm but time: entries are compared in full.
struct token_hash {
  static constexpr std::uint64_t mix(std::uint64_t x) {  // the finaliser of MurmurHash3
    x = (x ^ (x >> 33)) * 0xff51afd7ed558ccdull;
    x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53ull;
    return x ^ (x >> 33);
  }
  static constexpr std::uint64_t hash(prefix_id parent, std::span<const token_id> tokens) {
    std::uint64_t state = mix(parent + 0x9e3779b97f4a7c15ull);
    for (const token_id token : tokens) state = mix(state + static_cast<std::uint32_t>(token) + 1);
    return state;
  }
};

/// The index of a manager that shares no prefixes.
struct no_prefix_index {
  static constexpr bool shares = false;
  no_prefix_index(std::size_t, std::size_t) {}
  static constexpr bool holds(block_id) { return false; }
  static constexpr std::size_t parked() { return 0; }
  static constexpr block_id evict() { return no_block; }
  void park(block_id) {}
  void erase(block_id) {}
};

/// Entries are blocks; one that nobody holds is parked, and parked blocks are evicted in the order in which they
/// were parked. All operations take constant time, apart from reading a block's tokens.
template <class Hash = token_hash>
class prefix_index {
 public:
  static constexpr bool shares = true;

  prefix_index(std::size_t blocks, std::size_t block_size)
      : block_size_(block_size),
        mask_(buckets(blocks) - 1),
        buckets_(mask_ + 1, no_block),
        entries_(blocks),
        tokens_(blocks * block_size),
        links_(blocks + 1) {
    links_[blocks] = {end(), end()};
  }

  bool holds(block_id block) const { return at(block).id != 0; }
  prefix_id id(block_id block) const { return at(block).id; }
  prefix_id parent(block_id block) const { return at(block).parent; }
  std::size_t size() const { return size_; }
  std::size_t parked() const { return parked_; }

  /// The block that holds these tokens (a whole block of them) after `parent`; no_block when there is none.
  block_id find(prefix_id parent, std::span<const token_id> tokens) const {
    block_id block = buckets_[Hash::hash(parent, tokens) & mask_];
    while (block != no_block && !is(block, parent, tokens)) block = at(block).next;
    return block;
  }

  /// Enters a block. Returns its number.
  prefix_id insert(block_id block, prefix_id parent, std::span<const token_id> tokens) {
    block_id& bucket = buckets_[Hash::hash(parent, tokens) & mask_];
    at(block) = {++last_id_, parent, bucket};
    bucket = block;
    std::copy(tokens.begin(), tokens.end(), tokens_.begin() + static_cast<std::ptrdiff_t>(offset(block)));
    ++size_;
    return last_id_;
  }
  /// Takes out a block that is not parked.
  void erase(block_id block) {
    block_id* link = &buckets_[Hash::hash(at(block).parent, tokens_of(block)) & mask_];
    while (*link != block) link = &at(*link).next;
    *link = at(block).next;
    at(block) = {};
    --size_;
  }

  /// Nobody holds it any more: from now on it may be evicted.
  void park(block_id block) {
    neighbours& last = links_[index(end())];
    links_[index(block)] = {last.before, end()};
    links_[index(last.before)].after = block;
    last.before = block;
    ++parked_;
  }
  /// Somebody holds it again.
  void unpark(block_id block) {
    const neighbours here = links_[index(block)];
    links_[index(here.before)].after = here.after;
    links_[index(here.after)].before = here.before;
    --parked_;
  }
  /// Takes out the block that has been parked longest. There must be one.
  block_id evict() {
    const block_id block = links_[index(end())].after;
    unpark(block);
    erase(block);
    return block;
  }

  std::span<const token_id> tokens_of(block_id block) const {
    return std::span<const token_id>(tokens_).subspan(offset(block), block_size_);
  }

 private:
  struct entry {
    prefix_id id = 0;  // 0: the block is not in the index
    prefix_id parent = 0;
    block_id next = no_block;  // in the bucket
  };
  struct neighbours {
    block_id before = no_block, after = no_block;
  };

  static std::size_t index(block_id block) { return static_cast<std::size_t>(block); }
  static std::size_t buckets(std::size_t blocks) {
    std::size_t count = 16;
    while (count < 2 * blocks) count *= 2;
    return count;
  }
  block_id end() const { return static_cast<block_id>(entries_.size()); }  // of the ring of parked blocks
  std::size_t offset(block_id block) const { return index(block) * block_size_; }
  entry& at(block_id block) { return entries_[index(block)]; }
  const entry& at(block_id block) const { return entries_[index(block)]; }
  bool is(block_id block, prefix_id parent, std::span<const token_id> tokens) const {
    return at(block).parent == parent && std::equal(tokens.begin(), tokens.end(), tokens_of(block).begin());
  }

  std::size_t block_size_;
  std::size_t mask_;
  std::vector<block_id> buckets_;
  std::vector<entry> entries_;
  std::vector<token_id> tokens_;   // [blocks, block_size]
  std::vector<neighbours> links_;  // [blocks + 1]
  std::size_t size_ = 0;
  std::size_t parked_ = 0;
  prefix_id last_id_ = 0;
};

}  // namespace tenon::cache
