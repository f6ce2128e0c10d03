// expect: tenon: this sampling policy lacks 'reads', 'custom_params', 'picks_best(request)'
#include <tenon/engine.hpp>

struct undecided {
  using slot = tenon::slot::sampling;
  static constexpr auto name = tenon::fixed_string("undecided");
};
using engine = tenon::engine<tenon::model::llama, undecided>;
int main() { return static_cast<int>(engine::description().size()); }
