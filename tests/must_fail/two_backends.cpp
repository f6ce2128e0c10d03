// expect: tenon: two backend policies given; keep one
#include <tenon/engine.hpp>

using engine = tenon::engine<tenon::model::llama, tenon::backend::host,
                             tenon::backend::basic_host<tenon::isa::portable>>;
int main() { return static_cast<int>(engine::description().size()); }
