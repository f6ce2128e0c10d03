// Blocks with reference counts: who may write one, and when it is free again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tenon/cache/block_copy.hpp"

namespace tenon::cache {

/// Blocks 0 to count - 1. Each is free, held (once or several times), or kept: held by nobody, but not free
/// either, as a block whose content may be of use again.
class block_pool {
 public:
  explicit block_pool(std::size_t count) : references_(count, 0) {
    free_.reserve(count);
    for (std::size_t b = count; b-- > 0;) free_.push_back(static_cast<block_id>(b));  // 0 comes first
  }

  std::size_t size() const { return references_.size(); }
  std::size_t available() const { return free_.size(); }
  std::uint32_t references(block_id block) const { return references_[index(block)]; }

  /// A free block, held once. There must be one.
  block_id take() {
    const block_id block = free_.back();
    free_.pop_back();
    references_[index(block)] = 1;
    return block;
  }
  /// One more holds it.
  void share(block_id block) { ++references_[index(block)]; }
  /// One fewer holds it. True when it was the last: the block is then kept until put_back().
  bool drop(block_id block) { return --references_[index(block)] == 0; }
  /// Frees a block that nobody holds.
  void put_back(block_id block) { free_.push_back(block); }

 private:
  static std::size_t index(block_id block) { return static_cast<std::size_t>(block); }

  std::vector<std::uint32_t> references_;
  std::vector<block_id> free_;
};

}  // namespace tenon::cache
