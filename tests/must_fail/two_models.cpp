// expect: tenon: two model policies given; keep one
#include <tenon/engine.hpp>

using engine = tenon::engine<tenon::model::llama, tenon::model::llama>;
int main() { return static_cast<int>(engine::description().size()); }
