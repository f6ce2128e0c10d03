#include <tenon/cuda.cuh>

#include "engine/cuda/kv_formats.hpp"

TENON_INSTANTIATE(tenon::test::cuda_e4m3_engine);
TENON_INSTANTIATE(tenon::test::cuda_q8_0_engine);
