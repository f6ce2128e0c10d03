// Blocks in host memory, for sequences that made room for others.
#pragma once

#include <cstddef>
#include <vector>

#include "tenon/cache/block_copy.hpp"

namespace tenon::cache {

/// A sequence in the swap space; a value that its owner gives back to the manager to bring it home, or to
/// discard it.
struct swapped_sequence {
  block_id first = no_block;  // its blocks are a chain
  std::size_t positions = 0;
};

/// Which block of the swap space belongs to whom. A block that was read in this step is free in the next: until
/// then its copy may not have been made.
class swap_space {
 public:
  explicit swap_space(std::size_t blocks) : next_(blocks, no_block) {
    free_.reserve(blocks);
    read_.reserve(blocks);
    for (std::size_t b = blocks; b-- > 0;) free_.push_back(static_cast<block_id>(b));
  }

  std::size_t size() const { return next_.size(); }
  std::size_t available() const { return free_.size(); }
  /// Blocks that hold a sequence.
  std::size_t used() const { return size() - free_.size() - read_.size(); }

  /// Puts a block in front of a chain. There must be one that is free.
  block_id prepend(block_id chain) {
    const block_id block = free_.back();
    free_.pop_back();
    next_[static_cast<std::size_t>(block)] = chain;
    return block;
  }
  block_id next(block_id block) const { return next_[static_cast<std::size_t>(block)]; }

  /// Takes back a chain whose blocks are read in this step.
  void read(block_id chain) {
    for (; chain != no_block; chain = next(chain)) read_.push_back(chain);
  }
  /// The same for one that nobody reads.
  void discard(block_id chain) {
    for (; chain != no_block; chain = next(chain)) free_.push_back(chain);
  }
  /// The step's copies have been made.
  void copies_done() {
    free_.insert(free_.end(), read_.begin(), read_.end());
    read_.clear();
  }

 private:
  std::vector<block_id> next_;
  std::vector<block_id> free_;
  std::vector<block_id> read_;
};

}  // namespace tenon::cache
