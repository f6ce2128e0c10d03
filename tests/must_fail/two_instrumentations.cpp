// expect: tenon: two instrumentation policies given; keep one
#include <tenon/engine.hpp>

using engine = tenon::engine<tenon::model::llama, tenon::instrumentation::none, tenon::instrumentation::none>;
int main() { return static_cast<int>(engine::description().size()); }
