// Policy sets whose cache hands out blocks of 16 tokens. Where they run out, a sequence has to leave, and is computed again.
#include "serve/policies/engine.hpp"

namespace serve {

using namespace tenon;
using chunked_engine =
    base_engine::with<continuous_batching<chunked_prefill, batching::preemption::recompute<>>>;

std::vector<policy_set> paged_sets() {
  return {
      policy_set_of<chunked_engine::with<cache::paged<16>>>(
          "paged", "chunked, over blocks of 16 tokens from one pool"),
      policy_set_of<chunked_engine::with<cache::prefix_shared<cache::paged<16>>>>(
          "prefix_shared", "paged, and what prompts begin with in common is computed and stored once"),
  };
}

}  // namespace serve
