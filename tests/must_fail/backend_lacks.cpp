// expect: tenon: this backend policy lacks 'template <class Model, class Precision, class View> using
#include <tenon/engine.hpp>

struct abacus {
  using slot = tenon::slot::backend;
  static constexpr auto name = tenon::fixed_string("abacus");
};
using engine = tenon::engine<tenon::model::llama, abacus>;
int main() { return static_cast<int>(engine::description().size()); }
