// The engines of kv_formats.cpp, instantiated in kv_formats.cu.
#pragma once

#include <tenon/cuda.hpp>

namespace tenon::test {

/// The shape of the tiny model hd64_9q3kv_v262, so that attention is compiled for one head size.
inline constexpr model::shape kv_formats_shape{.layers = 2,
                                               .hidden = 576,
                                               .heads = 9,
                                               .kv_heads = 3,
                                               .head_dim = 64,
                                               .rotated = 64,
                                               .feed_forward = 64,
                                               .vocabulary = 262,
                                               .context = 64,
                                               .tied_output = false};
using cuda_e4m3_engine = engine<model::fixed_shape<model::llama, kv_formats_shape>, backend::cuda,
                                precision::mixed<weights<f32>, activations<f32>, kv<e4m3, f16>>,
                                sampling::greedy, batching::static_batch<1>, execution::eager>;
using cuda_q8_0_engine = cuda_e4m3_engine::with<precision::mixed<weights<f32>, activations<f32>, kv<q8_0>>>;

}  // namespace tenon::test

TENON_DECLARE_ENGINE(tenon::test::cuda_e4m3_engine);
TENON_DECLARE_ENGINE(tenon::test::cuda_q8_0_engine);
