#include "backend/cuda/product_ops.cuh"

template struct tenon::test::cuda_products<
    tenon::weights<tenon::f32, tenon::f16, tenon::bf16, tenon::q8_0, tenon::q4_0, tenon::q4_1>, tenon::f32>;
