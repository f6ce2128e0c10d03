// Owned memory for kernels: zeroed, aligned, never resized. Large buffers come straight from the system,
// which gives zeroed pages when they are first touched, in huge pages where it has them for the asking.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace tenon {

namespace detail {

inline constexpr std::size_t huge_page = std::size_t{2} << 20;

/// Zeroed memory; `bytes` is not 0. Freed by release_memory with the same size.
inline void* acquire_memory(std::size_t bytes) {
#if defined(__linux__)
  if (bytes >= huge_page) {
    // A huge page more than asked, so that its border lies inside; what is left over is given back.
    void* mapped =
        mmap(nullptr, bytes + huge_page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) throw std::bad_alloc();
    auto* first = static_cast<std::byte*>(mapped);
    const std::size_t before = huge_page - 1 - (reinterpret_cast<std::size_t>(first) - 1) % huge_page;
    if (before != 0) munmap(first, before);
    constexpr std::size_t page = 4096;
    const std::size_t kept = (bytes + page - 1) / page * page;
    const std::size_t mapped_bytes = (bytes + huge_page + page - 1) / page * page;
    if (before + kept < mapped_bytes) munmap(first + before + kept, mapped_bytes - before - kept);
#if defined(MADV_HUGEPAGE)
    madvise(first + before, kept, MADV_HUGEPAGE);  // advice: the answer does not matter
#endif
    return first + before;
  }
#endif
  const std::size_t padded = (bytes + 63) / 64 * 64;
  void* memory = std::aligned_alloc(64, padded);
  if (memory == nullptr) throw std::bad_alloc();
  return std::memset(memory, 0, padded);
}

inline void release_memory(void* memory, std::size_t bytes) {
#if defined(__linux__)
  if (bytes >= huge_page) {
    munmap(memory, bytes);
    return;
  }
#endif
  std::free(memory);
}

}  // namespace detail

/// `size` zeroed elements of a trivial type, aligned to 64 bytes or more. Moves, does not copy. Throws
/// std::bad_alloc.
template <class T>
class buffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  buffer() = default;
  explicit buffer(std::size_t size) {
    if (size == 0) return;
    if (size > (std::size_t(-1) - 2 * detail::huge_page) / sizeof(T)) throw std::bad_alloc();
    data_ = {static_cast<T*>(detail::acquire_memory(size * sizeof(T))), release{size * sizeof(T)}};
  }

  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  std::size_t size() const { return data_.get_deleter().bytes / sizeof(T); }
  T& operator[](std::size_t i) { return data_.get()[i]; }
  const T& operator[](std::size_t i) const { return data_.get()[i]; }

 private:
  struct release {
    std::size_t bytes = 0;
    void operator()(T* memory) const { detail::release_memory(memory, bytes); }
  };
  std::unique_ptr<T, release> data_;
};

}  // namespace tenon
