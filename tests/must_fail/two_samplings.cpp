// expect: tenon: two sampling policies given; keep one
#include <tenon/engine.hpp>

using engine = tenon::engine<tenon::model::llama, tenon::sampling::greedy, tenon::sampling::chain<>>;
int main() { return static_cast<int>(engine::description().size()); }
