// Everything, with the CUDA backend and gemm::cublaslt. For .cu files: needs nvcc, and cublasLt at link time.
#pragma once

#include "tenon/backend/cuda/cublaslt_products.cuh"  // IWYU pragma: export
#include "tenon/cuda.cuh"                            // IWYU pragma: export
