// expect: tenon: sampling::chain<...> takes sampling stages, and one of these types is none
#include <tenon/engine.hpp>

struct number {};
using engine =
    tenon::engine<tenon::model::llama, tenon::sampling::chain<tenon::sampling::temperature, number>>;
int main() { return static_cast<int>(engine::description().size()); }
