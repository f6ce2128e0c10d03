// The test program's operator new, which counts, and fails when it is told to.
#pragma once

#include <cstddef>

namespace tenon::test {

/// Of all threads.
std::size_t allocations_so_far();
/// Allocations that have not been given back.
std::size_t live_allocations();

/// While it lives, this thread's allocation number `point` from here on throws std::bad_alloc; 1 is the next.
class failing_allocation {
 public:
  explicit failing_allocation(std::size_t point);
  ~failing_allocation();
  failing_allocation(const failing_allocation&) = delete;
  failing_allocation& operator=(const failing_allocation&) = delete;
};

}  // namespace tenon::test
