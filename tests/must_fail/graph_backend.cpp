// expect: tenon: execution::graph replays CUDA graphs, and this backend has none; use execution::eager, or backend::cuda
#include <tenon/engine.hpp>

using engine = tenon::engine<tenon::model::llama, tenon::backend::host, tenon::execution::graph>;
int main() { return static_cast<int>(engine::description().size()); }
