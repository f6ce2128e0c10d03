// expect: tenon: two precision policies given; keep one
#include <tenon/engine.hpp>

using engine = tenon::engine<tenon::model::llama, tenon::precision::fp32, tenon::precision::from_file>;
int main() { return static_cast<int>(engine::description().size()); }
