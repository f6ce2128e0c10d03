// expect: tenon: this model policy lacks 'architecture' or 'has_fixed_shape'
#include <tenon/engine.hpp>

struct blank {
  using slot = tenon::slot::model;
  static constexpr auto name = tenon::fixed_string("blank");
};
using engine = tenon::engine<blank>;
int main() { return static_cast<int>(engine::description().size()); }
