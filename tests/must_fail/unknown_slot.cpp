// expect: a policy's 'slot' must be one of the tags in tenon::slot
#include <tenon/engine.hpp>

struct flavour {};
struct vanilla {
  using slot = flavour;
  static constexpr auto name = tenon::fixed_string("vanilla");
};
using engine = tenon::engine<tenon::model::llama, vanilla>;
int main() { return static_cast<int>(engine::description().size()); }
