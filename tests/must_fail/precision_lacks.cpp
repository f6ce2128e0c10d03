// expect: tenon: this precision policy lacks 'weight_formats', 'activation', 'key' or 'value'
#include <tenon/engine.hpp>

struct vague {
  using slot = tenon::slot::precision;
  static constexpr auto name = tenon::fixed_string("vague");
};
using engine = tenon::engine<tenon::model::llama, vague>;
int main() { return static_cast<int>(engine::description().size()); }
