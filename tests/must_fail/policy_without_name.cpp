// expect: engine<...> takes policies, and one of these types is none
#include <tenon/engine.hpp>

struct nameless {
  using slot = tenon::slot::cache;
};
using engine = tenon::engine<tenon::model::llama, nameless>;
int main() { return static_cast<int>(engine::description().size()); }
