#include "io/largest_allocation.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

namespace {
thread_local bool watching = false;
thread_local std::size_t largest_bytes = 0;
thread_local std::size_t requests = 0;

void* allocate(std::size_t bytes) {
  if (watching) {
    ++requests;
    if (bytes > largest_bytes) largest_bytes = bytes;
  }
  void* memory = std::malloc(bytes != 0 ? bytes : 1);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
}  // namespace

void* operator new(std::size_t bytes) { return allocate(bytes); }
void* operator new[](std::size_t bytes) { return allocate(bytes); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace tenon::test {
allocation_watch::allocation_watch() {
  largest_bytes = requests = 0;
  watching = true;
}
allocation_watch::~allocation_watch() { watching = false; }
std::size_t allocation_watch::largest() const { return largest_bytes; }
std::size_t allocation_watch::count() const { return requests; }
}  // namespace tenon::test

BOOST_AUTO_TEST_SUITE(largest_allocation)

BOOST_AUTO_TEST_CASE(the_watch_sees_what_is_allocated_while_it_lives) {
  auto before = std::make_unique<std::vector<char>>(100000);
  const tenon::test::allocation_watch watch;
  std::vector<char> small(10);
  std::vector<char> large(5000);
  BOOST_TEST(watch.largest() == 5000u);
  BOOST_TEST(watch.count() >= 2u);
  BOOST_TEST(small.size() + large.size() + before->size() == 105010u);
}

BOOST_AUTO_TEST_SUITE_END()
