// tenon::engine<Policies...>: the type that users compose. Policies come in any order; a slot left out takes
// its default; what cannot work stops the build with one sentence.
#pragma once

#include <type_traits>

#include "tenon/cache/contiguous.hpp"
#include "tenon/cache/paged.hpp"          // IWYU pragma: export
#include "tenon/cache/prefix_shared.hpp"  // IWYU pragma: export
#include "tenon/cache/sliding.hpp"        // IWYU pragma: export
#include "tenon/engine/basic_engine.hpp"
#include "tenon/policy/backend.hpp"
#include "tenon/policy/batching.hpp"
#include "tenon/policy/check.hpp"
#include "tenon/policy/compose.hpp"
#include "tenon/policy/defaults.hpp"
#include "tenon/policy/precision.hpp"
#include "tenon/policy/sampling.hpp"

namespace tenon {

namespace detail {

/// The policy of the list for the slot backend.
template <class... Ps>
using backend_of = policy::pick<slot::backend, backend::standard, Ps...>;

/// One policy for each slot, the given ones or the defaults.
template <class... Ps>
using composed_engine =
    basic_engine<policy::pick<slot::model, model::llama, Ps...>, backend_of<Ps...>,
                 policy::pick<slot::precision, precision::from_file, Ps...>,
                 policy::pick<slot::cache, cache::contiguous, Ps...>,
                 policy::pick<slot::sampling, sampling::chain<sampling::temperature, sampling::top_p>, Ps...>,
                 policy::pick<slot::batching, batching::static_batch<>, Ps...>,
                 policy::pick<slot::reduction, reduction::fixed, Ps...>,
                 policy::pick<slot::execution, typename backend_of<Ps...>::default_execution, Ps...>,
                 policy::pick<slot::speculation, speculation::none, Ps...>,
                 policy::pick<slot::parallelism, parallelism::single, Ps...>,
                 policy::pick<slot::instrumentation, instrumentation::none, Ps...>>;

/// Stops the build with a broken rule's sentence. A function, as a class with a failed static_assert draws
/// more errors wherever it is named.
template <policy::rule Broken>
constexpr bool say() {
#define TENON_RULE(name, sentence) static_assert(Broken != policy::rule::name, sentence);
  TENON_POLICY_RULES(TENON_RULE)
#undef TENON_RULE
  return true;
}

template <policy::rule Broken, class... Ps>
struct resolve {
  // Some engine that works, so that the sentence stays the only error.
  using type = std::conditional_t<say<Broken>(), composed_engine<model::llama, backend::host>, void>;
};
template <class... Ps>
struct resolve<policy::rule::none, Ps...> {
  using type = composed_engine<Ps...>;
};

}  // namespace detail

/// The engine made of these policies. The same choices are the same type, however they are spelled.
template <class... Ps>
using engine = typename detail::resolve<policy::broken_rule<Ps...>, Ps...>::type;

}  // namespace tenon

// Compiles an engine's functions once for a whole program: TENON_DECLARE_ENGINE(my_engine); where its alias
// is, in a header, and TENON_INSTANTIATE(my_engine); in one source file. Both are used at global scope and
// take the alias.
#define TENON_INSTANTIATE(Engine) template class TENON_DETAIL_ENGINE_CLASS(Engine)
#define TENON_DECLARE_ENGINE(Engine) extern template class TENON_DETAIL_ENGINE_CLASS(Engine)
#define TENON_DETAIL_ENGINE_CLASS(Engine)                                                               \
  ::tenon::basic_engine<Engine::model_policy, Engine::backend_policy, Engine::precision_policy,         \
                        Engine::cache_policy, Engine::sampling_policy, Engine::batching_policy,         \
                        Engine::reduction_policy, Engine::execution_policy, Engine::speculation_policy, \
                        Engine::parallelism_policy, Engine::instrumentation_policy>
