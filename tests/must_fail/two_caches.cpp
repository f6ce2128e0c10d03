// expect: tenon: two cache policies given; keep one
#include <tenon/engine.hpp>

using engine = tenon::engine<tenon::model::llama, tenon::cache::contiguous, tenon::cache::contiguous>;
int main() { return static_cast<int>(engine::description().size()); }
