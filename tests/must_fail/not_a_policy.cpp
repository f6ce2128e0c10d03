// expect: engine<...> takes policies, and one of these types is none
#include <tenon/engine.hpp>

struct number {};
using engine = tenon::engine<tenon::model::llama, number>;
int main() { return static_cast<int>(engine::description().size()); }
