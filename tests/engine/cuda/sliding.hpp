// The engine of sliding.cpp, instantiated in sliding.cu.
#pragma once

#include <tenon/cuda.hpp>

#include "engine/cuda/kv_formats.hpp"

namespace tenon::test {

using cuda_windowed_engine =
    engine<model::fixed_shape<model::llama, kv_formats_shape>, backend::cuda,
           precision::mixed<weights<f32>, activations<f32>, kv<f32>>, cache::sliding<7, 2>, sampling::greedy,
           batching::continuous<batching::queue::fcfs, batching::prefill::chunked<5>,
                                batching::preemption::none, 4>>;

}  // namespace tenon::test

TENON_DECLARE_ENGINE(tenon::test::cuda_windowed_engine);
