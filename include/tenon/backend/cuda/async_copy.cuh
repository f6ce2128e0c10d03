// Copies from global to shared memory that a thread does not wait for (PTX ISA, cp.async).
#pragma once

#include <cstdint>

namespace tenon::cuda {

/// `Bytes` (4 or 16) neighbours, both sides aligned to them; zeros, and nothing read, where not `there`.
template <int Bytes>
__device__ __forceinline__ void copy_async(void* to, const void* from, bool there) {
  const auto shared = static_cast<std::uint32_t>(__cvta_generic_to_shared(to));
  const int size = there ? Bytes : 0;
  if constexpr (Bytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared), "l"(from), "r"(size) : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %3, %2;" ::"r"(shared), "l"(from), "r"(size), "n"(Bytes)
                 : "memory");
  }
}

/// Closes a group of copies; a group may be empty.
__device__ __forceinline__ void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }

/// Waits for all groups of this thread but the latest `Pending`.
template <int Pending>
__device__ __forceinline__ void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(Pending) : "memory");
}

}  // namespace tenon::cuda
