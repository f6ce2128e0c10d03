// expect: tenon: sampling::chain<...> names a stage twice
#include <tenon/engine.hpp>

using engine = tenon::engine<tenon::model::llama,
                             tenon::sampling::chain<tenon::sampling::top_p, tenon::sampling::top_p>>;
int main() { return static_cast<int>(engine::description().size()); }
