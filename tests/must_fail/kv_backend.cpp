// expect: tenon: this backend's attention does not read kv<...> of these formats: backend::cuda reads f32 for both, or any two of f16, bf16, e4m3 and q8_0; backend::host reads all
#include <tenon/cuda.hpp>

using engine = tenon::engine<tenon::model::llama, tenon::backend::cuda,
                             tenon::precision::mixed<tenon::kv<tenon::f32, tenon::f16>>>;
int main() { return static_cast<int>(engine::description().size()); }
