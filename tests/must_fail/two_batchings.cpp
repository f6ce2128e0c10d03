// expect: tenon: two batching policies given; keep one
#include <tenon/engine.hpp>

using engine =
    tenon::engine<tenon::model::llama, tenon::batching::static_batch<1>, tenon::batching::static_batch<2>>;
int main() { return static_cast<int>(engine::description().size()); }
