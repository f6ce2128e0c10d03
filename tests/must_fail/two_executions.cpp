// expect: tenon: two execution policies given; keep one
#include <tenon/engine.hpp>

using engine = tenon::engine<tenon::model::llama, tenon::execution::eager, tenon::execution::eager>;
int main() { return static_cast<int>(engine::description().size()); }
