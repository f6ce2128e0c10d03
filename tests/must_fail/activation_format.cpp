// expect: tenon: activations<...> takes f32, bf16, f16 or int8
#include <tenon/engine.hpp>

using engine = tenon::engine<tenon::model::llama, tenon::precision::mixed<tenon::activations<tenon::q8_0>>>;
int main() { return static_cast<int>(engine::description().size()); }
