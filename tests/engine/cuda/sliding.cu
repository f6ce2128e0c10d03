#include <tenon/cuda.cuh>

#include "engine/cuda/sliding.hpp"

TENON_INSTANTIATE(tenon::test::cuda_windowed_engine);
