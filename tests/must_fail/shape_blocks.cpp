// expect: tenon: fixed_shape<...> has rows that are no multiple of 32, but all formats
#include <tenon/engine.hpp>

constexpr tenon::model::shape narrow = {.layers = 1,
                                        .hidden = 72,
                                        .heads = 4,
                                        .kv_heads = 4,
                                        .head_dim = 18,
                                        .rotated = 18,
                                        .feed_forward = 64,
                                        .vocabulary = 100,
                                        .context = 64};
using engine = tenon::engine<tenon::model::fixed_shape<tenon::model::llama, narrow>,
                             tenon::precision::mixed<tenon::weights<tenon::q4_1, tenon::q8_0>>>;
int main() { return static_cast<int>(engine::description().size()); }
