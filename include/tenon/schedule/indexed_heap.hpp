// A priority queue of sequences that can also lose one from its middle.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "tenon/schedule/sequence.hpp"

namespace tenon::schedule {

/// A binary heap; each sequence knows its place, so push and erase take logarithmic time. `Before` orders, and
/// must not change for what is in the heap.
template <auto Before, std::size_t sequence::*Place>
class indexed_heap {
 public:
  /// Makes room: up to `count` sequences, push does not allocate.
  void reserve(std::size_t count) {
    if (count > heap_.capacity()) heap_.reserve((std::max)(count, 2 * heap_.capacity()));
  }
  bool empty() const { return heap_.empty(); }
  std::size_t size() const { return heap_.size(); }
  sequence& top() const { return *heap_.front(); }
  std::span<sequence* const> all() const { return heap_; }

  void push(sequence& s) {
    heap_.push_back(&s);
    rise(heap_.size() - 1);
  }
  void erase(sequence& s) {
    const std::size_t place = s.*Place;
    put(place, *heap_.back());
    heap_.pop_back();
    if (place == heap_.size()) return;
    rise(place);
    sink(place);
  }
  bool holds(const sequence& s) const { return s.*Place < heap_.size() && heap_[s.*Place] == &s; }

 private:
  void put(std::size_t place, sequence& s) {
    heap_[place] = &s;
    s.*Place = place;
  }
  void rise(std::size_t place) {
    sequence& s = *heap_[place];
    for (; place > 0 && Before(s, *heap_[(place - 1) / 2]); place = (place - 1) / 2)
      put(place, *heap_[(place - 1) / 2]);
    put(place, s);
  }
  void sink(std::size_t place) {
    sequence& s = *heap_[place];
    for (std::size_t child; (child = 2 * place + 1) < heap_.size(); place = child) {
      if (child + 1 < heap_.size() && Before(*heap_[child + 1], *heap_[child])) ++child;
      if (!Before(*heap_[child], s)) break;
      put(place, *heap_[child]);
    }
    put(place, s);
  }

  std::vector<sequence*> heap_;
};

}  // namespace tenon::schedule
