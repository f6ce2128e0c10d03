// The CUDA engines of these tests, as plain C++ sees them; engines in NAME.cu, which instantiates them.
#pragma once

#include <tenon/cuda.hpp>

#include "engine/engines.hpp"
#include "support/smollm_shape.hpp"
#if __has_include(<nvtx3/nvToolsExt.h>)  // not all ways to get nvcc have it
#include "tenon/measure/nvtx.hpp"
#endif

namespace tenon::test {

/// fp32 throughout, for models of any shape (fp32.cu); once with graphs, once without them and with a profiler's ranges.
using cuda_fp32_engine =
    engine<model::llama, backend::cuda, precision::mixed<weights<f32>, activations<f32>, kv<f32>>,
           sampling::like_vllm, batching::static_batch<9>>;
#if __has_include(<nvtx3/nvToolsExt.h>)
using cuda_eager_engine = cuda_fp32_engine::with<execution::eager>::with<instrumentation::nvtx>;
#else
using cuda_eager_engine = cuda_fp32_engine::with<execution::eager>;
#endif

/// SmolLM2-135M-Instruct in Q4_1, compiled for its shape and formats (smollm.cu).
using cuda_smollm_engine =
    engine<model::fixed_shape<model::llama, smollm_shape>, backend::cuda,
           precision::mixed<weights<q4_1, q8_0>>, sampling::greedy, batching::static_batch<4>>;

}  // namespace tenon::test

TENON_DECLARE_ENGINE(tenon::test::cuda_fp32_engine);
TENON_DECLARE_ENGINE(tenon::test::cuda_eager_engine);
TENON_DECLARE_ENGINE(tenon::test::cuda_smollm_engine);
