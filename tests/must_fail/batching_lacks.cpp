// expect: tenon: this batching policy lacks 'max_batch', 'opens(state)', 'queue_type', 'prefill_type' or 'preemption_type'; see tenon/policy/batching.hpp
#include <tenon/engine.hpp>

struct boundless {
  using slot = tenon::slot::batching;
  static constexpr auto name = tenon::fixed_string("boundless");
};
using engine = tenon::engine<tenon::model::llama, boundless>;
int main() { return static_cast<int>(engine::description().size()); }
