#include <tenon/cuda.cuh>

#include "engine/cuda/serving.hpp"

TENON_INSTANTIATE(tenon::test::cuda_serving_engine);
TENON_INSTANTIATE(tenon::test::cuda_recomputing_engine);
TENON_INSTANTIATE(tenon::test::cuda_gathering_engine);
