// expect: tenon: fixed_shape<...> has heads that are no multiple of kv_heads
#include <tenon/engine.hpp>

constexpr tenon::model::shape uneven = {.layers = 1,
                                        .hidden = 64,
                                        .heads = 4,
                                        .kv_heads = 3,
                                        .head_dim = 16,
                                        .rotated = 16,
                                        .feed_forward = 64,
                                        .vocabulary = 100,
                                        .context = 64};
using engine = tenon::engine<tenon::model::fixed_shape<tenon::model::llama, uneven>>;
int main() { return static_cast<int>(engine::description().size()); }
