// expect: tenon: two speculation policies given; keep one
#include <tenon/engine.hpp>

using engine = tenon::engine<tenon::model::llama, tenon::speculation::none, tenon::speculation::none>;
int main() { return static_cast<int>(engine::description().size()); }
