// expect: tenon: two parallelism policies given; keep one
#include <tenon/engine.hpp>

using engine = tenon::engine<tenon::model::llama, tenon::parallelism::single, tenon::parallelism::single>;
int main() { return static_cast<int>(engine::description().size()); }
