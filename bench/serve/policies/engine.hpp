// What the engines of all policy sets have in common.
#pragma once

#include <cstddef>
#include <tenon/tenon.hpp>

#include "serve/policy_set.hpp"

namespace serve {

/// Most sequences at once that any of them can be asked for.
inline constexpr std::size_t most_sequences = 32;

/// Tokens of a step where prompts are cut: a fraction of a long prompt, and more than the sequences that decode.
inline constexpr std::size_t chunk_tokens = 64;

using base_engine = tenon::engine<tenon::model::llama, tenon::backend::host, tenon::sampling::greedy>;

template <class Prefill, class Preemption = tenon::batching::preemption::none>
using continuous_batching =
    tenon::batching::continuous<tenon::batching::queue::fcfs, Prefill, Preemption, most_sequences>;
using chunked_prefill = tenon::batching::prefill::chunked<chunk_tokens>;

}  // namespace serve
