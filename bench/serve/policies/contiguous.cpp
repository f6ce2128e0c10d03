// Policy sets whose cache gives each sequence its whole context.
#include "serve/policies/engine.hpp"

namespace serve {

using namespace tenon::batching;

std::vector<policy_set> contiguous_sets() {
  return {
      policy_set_of<base_engine::with<static_batch<most_sequences>>>(
          "static", "what waits makes a batch, which runs to its end before the next begins"),
      policy_set_of<base_engine::with<dynamic<most_sequences, 50>>>(
          "dynamic", "the same, but a batch waits up to 50 ms until it is full"),
      policy_set_of<base_engine::with<continuous_batching<prefill::whole>>>(
          "continuous", "sequences come and go at every step; prompts are computed whole, before answers"),
      policy_set_of<base_engine::with<continuous_batching<chunked_prefill>>>(
          "chunked", "the same, but prompts are cut, and share steps of 64 tokens with answers"),
  };
}

}  // namespace serve
