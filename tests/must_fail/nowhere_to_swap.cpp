// expect: tenon: preemption::swap needs a cache with a swap space, as cache::paged; use it, or preemption::recompute
#include <tenon/engine.hpp>

namespace batching = tenon::batching;
using swapping =
    batching::continuous<batching::queue::fcfs, batching::prefill::chunked<>, batching::preemption::swap<>>;
using engine = tenon::engine<tenon::model::llama, tenon::cache::contiguous, swapping>;
int main() { return static_cast<int>(engine::description().size()); }
