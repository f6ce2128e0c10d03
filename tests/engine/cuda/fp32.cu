#include <tenon/cuda.cuh>

#include "engine/cuda/engines.hpp"

TENON_INSTANTIATE(tenon::test::cuda_fp32_engine);
TENON_INSTANTIATE(tenon::test::cuda_eager_engine);
