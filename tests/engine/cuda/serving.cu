#include <tenon/cuda.cuh>

#include "engine/cuda/serving.hpp"

TENON_INSTANTIATE(tenon::test::cuda_serving_engine);
