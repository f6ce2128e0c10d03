// expect: tenon: static_batch<N> needs a batch of at least one sequence
#include <tenon/engine.hpp>

using engine = tenon::engine<tenon::model::llama, tenon::batching::static_batch<0>>;
int main() { return static_cast<int>(engine::description().size()); }
