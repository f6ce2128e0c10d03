// The shape of SmolLM2-135M-Instruct, the model that the tests run.
#pragma once

#include <tenon/model/shape.hpp>

namespace tenon::test {

inline constexpr model::shape smollm_shape{.layers = 30,
                                           .hidden = 576,
                                           .heads = 9,
                                           .kv_heads = 3,
                                           .head_dim = 64,
                                           .rotated = 64,
                                           .feed_forward = 1536,
                                           .vocabulary = 49152,
                                           .context = 8192,
                                           .tied_output = true};

}  // namespace tenon::test
