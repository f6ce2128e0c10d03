// expect: tenon: this backend policy lacks 'template <class Model, class Precision, class View, class Sampling, class Execution, class Instrumentation> using runtime', 'default_execution', 'has_graphs' or 'reads_cache_of<Key, Value>'; see tenon/policy/backend.hpp
#include <tenon/engine.hpp>

struct abacus {
  using slot = tenon::slot::backend;
  static constexpr auto name = tenon::fixed_string("abacus");
};
using engine = tenon::engine<tenon::model::llama, abacus>;
int main() { return static_cast<int>(engine::description().size()); }
