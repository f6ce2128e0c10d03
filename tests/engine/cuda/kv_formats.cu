#include <tenon/cuda.cuh>

#include "engine/cuda/kv_formats.hpp"

TENON_INSTANTIATE(tenon::test::cuda_kv_engine);
