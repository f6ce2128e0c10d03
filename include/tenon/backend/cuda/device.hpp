// What an engine has to know of the device that it runs on.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <string>

#include "tenon/backend/cuda/error.hpp"
#include "tenon/core/concat.hpp"

namespace tenon::cuda {

/// The oldest devices that the kernels run on: mma.sync with bf16, cp.async (A100, RTX 30).
inline constexpr int least_capability = 80;

struct device_info {
  int ordinal = 0;
  std::string name;
  int capability = 0;  // 80 for 8.0
  int multiprocessors = 0;
  std::size_t memory = 0;        // bytes, all of it
  std::size_t block_shared = 0;  // bytes of shared memory that one block can have when it asks

  /// Throws cuda_error where there is no such device.
  static device_info of(int ordinal) {
    cudaDeviceProp properties{};
    check(cudaGetDeviceProperties(&properties, ordinal), "cudaGetDeviceProperties");
    return {ordinal,
            properties.name,
            properties.major * 10 + properties.minor,
            properties.multiProcessorCount,
            properties.totalGlobalMem,
            properties.sharedMemPerBlockOptin};
  }

  /// Throws tenon::error for a device that is older than the kernels.
  void require(int capability_needed = least_capability) const {
    if (capability >= capability_needed) return;
    throw error(concat("device ", ordinal, " (", name, ") has compute capability ", capability / 10, ".",
                       capability % 10, ", and these kernels need ", capability_needed / 10, ".",
                       capability_needed % 10, " or newer; choose another device, or use backend::host"));
  }
};

/// Makes a device the calling thread's for a scope.
class device_scope {
 public:
  explicit device_scope(int ordinal) {
    check(cudaGetDevice(&before_), "cudaGetDevice");
    if (ordinal != before_) check(cudaSetDevice(ordinal), "cudaSetDevice");
  }
  ~device_scope() { cudaSetDevice(before_); }
  device_scope(const device_scope&) = delete;
  device_scope& operator=(const device_scope&) = delete;

 private:
  int before_ = 0;
};

}  // namespace tenon::cuda
