#include "backend/cuda/product_ops.cuh"

template struct tenon::test::cuda_products<
    tenon::weights<tenon::bf16, tenon::f16, tenon::q8_0, tenon::q4_0, tenon::q4_1>, tenon::f16>;
