// Errors of the CUDA runtime as exceptions. Plain C++: needs the toolkit's headers, not nvcc.
#pragma once

#include <cuda_runtime_api.h>

#include <string>
#include <string_view>

#include "tenon/core/concat.hpp"
#include "tenon/core/error.hpp"

namespace tenon {

/// A call of the CUDA runtime that failed: which, where, on which device, and why.
class cuda_error : public error {
 public:
  cuda_error(cudaError_t code, const std::string& message) : error(message), code_(code) {}
  cudaError_t code() const { return code_; }

 private:
  cudaError_t code_;
};

namespace cuda {

/// Where a call is, filled in by the compiler. (std::source_location, for clang before 16, too.)
struct call_site {
  const char* file;
  int line;
  call_site(const char* in_file = __builtin_FILE(), int at_line = __builtin_LINE())
      : file(in_file), line(at_line) {}
};

namespace detail {

/// What to do about an error, or "".
constexpr std::string_view advice(cudaError_t code) {
  switch (code) {
    case cudaErrorMemoryAllocation:
      return "; load with a smaller max_batch or context (plan() tells what they need)";
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorInvalidKernelImage:
    case cudaErrorUnsupportedPtxVersion:
      return "; compile for this device's architecture (CMAKE_CUDA_ARCHITECTURES), or update the driver";
    case cudaErrorInsufficientDriver:
      return "; update the driver, or compile with an older CUDA Toolkit";
    case cudaErrorNoDevice:
      return "; use backend::host on a machine without a GPU";
    case cudaErrorIllegalAddress:
    case cudaErrorMisalignedAddress:
    case cudaErrorLaunchFailure:
      return "; the device's memory is lost: make a new process. Please report this with the engine's "
             "description()";
    default:
      return "";
  }
}

[[gnu::cold, noreturn]] inline void fail(cudaError_t code, std::string_view call, const call_site& where) {
  int device = -1;
  const bool known = cudaGetDevice(&device) == cudaSuccess;
  cudaGetLastError();  // an error that is not sticky ends here
  throw cuda_error(code, concat(call, " failed", known ? concat(" on device ", device) : std::string(), " (",
                                where.file, ":", where.line, "): ", cudaGetErrorString(code), advice(code)));
}

}  // namespace detail

/// Throws cuda_error unless a call of the runtime succeeded; `call` is its name.
inline void check(cudaError_t status, std::string_view call, const call_site& where = {}) {
  if (status != cudaSuccess) [[unlikely]] {
    detail::fail(status, call, where);
  }
}

}  // namespace cuda
}  // namespace tenon
