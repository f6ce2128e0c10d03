// Copies from global to shared memory that a thread does not wait for (PTX ISA, cp.async).
#pragma once

#include <cstdint>

#include "tenon/backend/cuda/shared_memory.cuh"

namespace tenon::cuda {

/// `Bytes` (4 or 16) neighbours to a shared address, both sides aligned to them; the first `count` are read, the others are
/// zeros.
template <int Bytes>
__device__ __forceinline__ void copy_async(std::uint32_t to, const void* from, int count) {
  if constexpr (Bytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(count) : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %3, %2;" ::"r"(to), "l"(from), "r"(count), "n"(Bytes)
                 : "memory");
  }
}
/// All of them, or zeros where not `there`.
template <int Bytes>
__device__ __forceinline__ void copy_async(void* to, const void* from, bool there) {
  copy_async<Bytes>(shared_address(to), from, there ? Bytes : 0);
}

/// Closes a group of copies; a group may be empty.
__device__ __forceinline__ void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }

/// Waits for all groups of this thread but the latest `Pending`.
template <int Pending>
__device__ __forceinline__ void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(Pending) : "memory");
}

}  // namespace tenon::cuda
