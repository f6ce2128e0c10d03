#include <tenon/cuda.cuh>

#include "engine/cuda/engines.hpp"

TENON_INSTANTIATE(tenon::test::cuda_smollm_engine);
