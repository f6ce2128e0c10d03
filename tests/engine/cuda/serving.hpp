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
/// Prompts whole, and sequences that are computed again, by priority; and batches that run to their end. What computes is
/// the same: it depends on the cache's view alone.
using cuda_recomputing_engine =
    serving_engine<backend::cuda, cache::paged<4>,
                   batching::continuous<batching::queue::priority<>, batching::prefill::whole,
                                        batching::preemption::recompute<>, 6>>;
using cuda_gathering_engine = serving_engine<backend::cuda, cache::paged<4>, batching::dynamic<4, 1>>;
/// The same on the host, one request at a time.
using host_serving_engine = serving_engine<batching::static_batch<1>>;

}  // namespace tenon::test

TENON_DECLARE_ENGINE(tenon::test::cuda_serving_engine);
TENON_DECLARE_ENGINE(tenon::test::cuda_recomputing_engine);
TENON_DECLARE_ENGINE(tenon::test::cuda_gathering_engine);
