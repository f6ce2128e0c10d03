// expect: tenon: this cache policy lacks a 'manager' with rows(), reserve(slot, tokens), release(slot)
#include <tenon/engine.hpp>

struct endless {
  using slot = tenon::slot::cache;
  static constexpr auto name = tenon::fixed_string("endless");
};
using engine = tenon::engine<tenon::model::llama, endless>;
int main() { return static_cast<int>(engine::description().size()); }
