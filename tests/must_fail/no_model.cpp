// expect: tenon: an engine needs a model policy; add tenon::model::llama
#include <tenon/engine.hpp>

using engine = tenon::engine<tenon::backend::host, tenon::sampling::greedy>;
int main() { return static_cast<int>(engine::description().size()); }
