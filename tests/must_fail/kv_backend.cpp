// expect: tenon: this backend's attention does not read kv<...> of these formats: backend::host reads f32, f16 and bf16, backend::cuda f32 for both or any two of f16, bf16 and e4m3
#include <tenon/engine.hpp>

using engine = tenon::engine<tenon::model::llama, tenon::backend::host,
                             tenon::precision::mixed<tenon::kv<tenon::e4m3, tenon::f16>>>;
int main() { return static_cast<int>(engine::description().size()); }
