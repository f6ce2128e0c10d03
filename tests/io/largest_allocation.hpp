// Watches how much memory a piece of code asks for: readers must not allocate by a number that they found in
// a file. largest_allocation.cpp replaces operator new of this test program.
#pragma once

#include <cstddef>

namespace tenon::test {

/// While one lives, allocations of its thread are counted. Do not nest.
class allocation_watch {
 public:
  allocation_watch();
  ~allocation_watch();
  allocation_watch(const allocation_watch&) = delete;
  allocation_watch& operator=(const allocation_watch&) = delete;

  std::size_t largest() const;  ///< bytes of the largest single request so far
  std::size_t count() const;    ///< number of requests so far
};

}  // namespace tenon::test
