// expect: tenon: kv<...> takes f32, f16, bf16, e4m3 or q8_0, for keys and for values
#include <tenon/engine.hpp>

using engine =
    tenon::engine<tenon::model::llama, tenon::precision::mixed<tenon::kv<tenon::f16, tenon::q4_1>>>;
int main() { return static_cast<int>(engine::description().size()); }
