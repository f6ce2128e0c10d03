// A priority queue for keys that are taken out in rising order: a radix heap. Unlike a binary heap it moves
// through memory in order, so that a million candidates cost hardly more each than a hundred. Source: Ahuja,
// Mehlhorn, Orlin and Tarjan, "Faster algorithms for the shortest path problem", 1990.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace tenon::text {

/// Gives out the smallest key first. Keys are below 2^63. A key may be smaller than one that was taken out
/// already, but that is the slow case.
class monotone_queue {
 public:
  bool empty() const { return filled_ == 0 && late_.empty(); }

  void push(std::uint64_t key) {
    if (key < last_) {
      late_.push_back(key);
      std::push_heap(late_.begin(), late_.end(), std::greater<>());
      return;
    }
    // A key lies in the bucket of the highest bit in which it differs from the last key taken out.
    const auto bucket = static_cast<std::size_t>(std::bit_width(key ^ last_));
    buckets_[bucket].push_back(key);
    filled_ |= std::uint64_t{1} << bucket;
  }

  /// Takes out the smallest key. The queue must not be empty.
  std::uint64_t pop() {
    if (!late_.empty()) {  // smaller than all that is in the buckets
      std::pop_heap(late_.begin(), late_.end(), std::greater<>());
      const std::uint64_t key = late_.back();
      late_.pop_back();
      return key;
    }
    const auto bucket = static_cast<std::size_t>(std::countr_zero(filled_));
    std::vector<std::uint64_t>& keys = buckets_[bucket];
    if (bucket == 0 || keys.size() == 1) {
      last_ = keys.back();
      keys.pop_back();
      if (keys.empty()) filled_ &= filled_ - 1;
      return last_;
    }
    filled_ &= filled_ - 1;
    last_ = *std::min_element(keys.begin(), keys.end());
    for (const std::uint64_t key : keys) push(key);  // all into lower buckets, the smallest into bucket 0
    keys.clear();
    return pop();
  }

  /// Makes an empty queue ready for keys of any size again.
  void restart() { last_ = 0; }

 private:
  std::array<std::vector<std::uint64_t>, 64> buckets_;
  std::uint64_t filled_ = 0;         // bit i: bucket i is not empty
  std::uint64_t last_ = 0;           // the largest key taken out
  std::vector<std::uint64_t> late_;  // a binary heap of keys below last_
};

}  // namespace tenon::text
