// expect: tenon: no backend attends over a window of the cache yet, as cache::sliding wants; use cache::paged
#include <tenon/cache/sliding.hpp>
#include <tenon/engine.hpp>

using engine = tenon::engine<tenon::model::llama, tenon::cache::sliding<1024>>;
int main() { return static_cast<int>(engine::description().size()); }
