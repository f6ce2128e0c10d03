// The shared memory that a kernel is launched with.
#pragma once

#include <cstdint>

namespace tenon::cuda {

/// Its first byte. One declaration for all kernels: a translation unit knows `extern __shared__` names by one type each.
__device__ __forceinline__ unsigned char* dynamic_shared_memory() {
  extern __shared__ __align__(16) unsigned char tenon_dynamic_shared_memory[];
  return tenon_dynamic_shared_memory;
}

/// The address that instructions on shared memory take.
__device__ __forceinline__ std::uint32_t shared_address(const void* shared) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
}

}  // namespace tenon::cuda
