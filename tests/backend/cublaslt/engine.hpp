// The engines of engine.cpp, instantiated in engine.cu.
#pragma once

#include <tenon/cuda.hpp>

namespace tenon::test {

/// The shape of the tiny model bf16_hd64_6q2kv_v263.
inline constexpr model::shape bf16_shape{.layers = 2,
                                         .hidden = 384,
                                         .heads = 6,
                                         .kv_heads = 2,
                                         .head_dim = 64,
                                         .rotated = 64,
                                         .feed_forward = 200,
                                         .vocabulary = 263,
                                         .context = 128,
                                         .tied_output = false};
using own_bf16_engine = engine<model::fixed_shape<model::llama, bf16_shape>, backend::cuda,
                               precision::mixed<weights<bf16>, activations<bf16>, kv<bf16>>, sampling::greedy,
                               batching::static_batch<2>>;
using cublaslt_engine = own_bf16_engine::with<backend::basic_cuda<gemm::cublaslt>>;

}  // namespace tenon::test

TENON_DECLARE_ENGINE(tenon::test::own_bf16_engine);
TENON_DECLARE_ENGINE(tenon::test::cublaslt_engine);
