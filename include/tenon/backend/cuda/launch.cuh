// How kernels are launched: each takes one struct of parameters.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "tenon/backend/cuda/error.hpp"
#include "tenon/backend/cuda/stream.hpp"

namespace tenon::cuda {

struct launch_shape {
  dim3 grid;
  dim3 block;
  std::size_t shared = 0;  // bytes of dynamic shared memory
};

/// Puts a kernel on a stream. An empty grid is nothing to do. Throws cuda_error with the kernel's name for what the
/// launch itself refuses.
template <class Parameters>
void launch(void (*kernel)(Parameters), const char* name, const launch_shape& shape, const stream& on,
            const Parameters& parameters) {
  if (shape.grid.x == 0 || shape.grid.y == 0 || shape.grid.z == 0) return;
  kernel<<<shape.grid, shape.block, shape.shared, on.get()>>>(parameters);
  check(cudaGetLastError(), name);
}

}  // namespace tenon::cuda
