// expect: tenon: two reduction policies given; keep one
#include <tenon/engine.hpp>

using engine = tenon::engine<tenon::model::llama, tenon::reduction::fixed, tenon::reduction::fixed>;
int main() { return static_cast<int>(engine::description().size()); }
