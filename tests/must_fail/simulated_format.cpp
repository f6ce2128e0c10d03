// expect: tenon: a shape does not say which format its weights are in; name one in the precision policy, as precision::mixed<weights<f16>>
#include <tenon/engine.hpp>

using engine = tenon::engine<tenon::model::llama, tenon::backend::simulated<tenon::device::a100_80gb>>;
int main() { return engine::simulate({}).step() ? 1 : 0; }
