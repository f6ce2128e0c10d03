#include <tenon/cublaslt.cuh>

#include "backend/cublaslt/engine.hpp"

TENON_INSTANTIATE(tenon::test::own_bf16_engine);
TENON_INSTANTIATE(tenon::test::cublaslt_engine);
