// The engines of serving.cpp, instantiated in serving.cu.
#pragma once

#include <tenon/cuda.hpp>

#include "engine/serving.hpp"

namespace tenon::test {

/// Blocks that are shared, copied before they are written, swapped out and brought back, in steps that mix chunks and decodes.
using cuda_serving_engine =
    serving_engine<backend::cuda, cache::prefix_shared<cache::paged<4>>,
                   batching::continuous<batching::queue::fcfs, batching::prefill::chunked<7>,
                                        batching::preemption::swap<>, 6>>;
/// The same on the host, one request at a time.
using host_serving_engine = serving_engine<batching::static_batch<1>>;

}  // namespace tenon::test

TENON_DECLARE_ENGINE(tenon::test::cuda_serving_engine);
