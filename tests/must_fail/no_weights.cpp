// expect: tenon: weights<> names no format, so no model could be loaded
#include <tenon/engine.hpp>

using engine = tenon::engine<tenon::model::llama, tenon::precision::mixed<tenon::weights<>>>;
int main() { return static_cast<int>(engine::description().size()); }
