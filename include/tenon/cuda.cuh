// Everything, with the CUDA backend. For .cu files: needs nvcc.
#pragma once

#include "tenon/backend/cuda/runtime.cuh"  // IWYU pragma: export
#include "tenon/cuda.hpp"                  // IWYU pragma: export
