#include "engine/counted_memory.hpp"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::size_t> allocations = 0, given_back = 0;
thread_local std::size_t left_until_failure = 0;  // 0: none fails

void* counted(std::size_t size, std::size_t alignment) {
  if (left_until_failure != 0 && --left_until_failure == 0) throw std::bad_alloc();
  const std::size_t whole = (size + alignment - 1) / alignment * alignment;
  void* memory = std::aligned_alloc(alignment, whole != 0 ? whole : alignment);
  if (memory == nullptr) throw std::bad_alloc();
  ++allocations;
  return memory;
}

void give_back(void* memory) {
  if (memory != nullptr) ++given_back;
  std::free(memory);
}

}  // namespace

void* operator new(std::size_t size) { return counted(size, alignof(std::max_align_t)); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return counted(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { give_back(memory); }
void operator delete(void* memory, std::size_t) noexcept { give_back(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { give_back(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { give_back(memory); }

namespace tenon::test {

std::size_t allocations_so_far() { return allocations; }
std::size_t live_allocations() { return allocations - given_back; }

failing_allocation::failing_allocation(std::size_t point) { left_until_failure = point; }
failing_allocation::~failing_allocation() { left_until_failure = 0; }

}  // namespace tenon::test
