// Waiting sequences in the order of a key that each gets when it is submitted.
#pragma once

#include <cstddef>

#include "tenon/schedule/indexed_heap.hpp"
#include "tenon/schedule/sequence.hpp"

namespace tenon::schedule {

/// `Policy::key(sequence)` is the key. A sequence that had to leave comes back in its old place.
template <class Policy>
class keyed_queue {
 public:
  /// Makes room for so many in the system.
  void reserve(std::size_t sequences) { heap_.reserve(sequences); }
  /// A sequence comes into the system. Like reserve(), it may allocate, and nothing else may.
  void enroll(const sequence&) {}
  std::size_t size() const { return heap_.size(); }

  /// Adds one that has not run.
  void push(sequence& s) {
    s.key = Policy::key(s);
    heap_.push(s);
  }
  /// Adds one that has run, and had to leave.
  void push_back_in(sequence& s) { heap_.push(s); }

  /// The next in turn; nullptr when none waits. It stays the next until something is pushed, popped or erased.
  sequence* next() { return heap_.empty() ? nullptr : &heap_.top(); }
  /// The next in turn leaves to run.
  void pop() { heap_.erase(heap_.top()); }
  /// One leaves for another reason.
  void erase(sequence& s) { heap_.erase(s); }
  /// It is out of the system, whether it has run or not.
  void ended(const sequence&) {}

  template <class Each>
  void for_each(Each&& each) const {
    for (const sequence* s : heap_.all()) each(*s);
  }

 private:
  indexed_heap<goes_before, &sequence::heap_place> heap_;
};

}  // namespace tenon::schedule
