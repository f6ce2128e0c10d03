// Which policies go together, and what an engine says when they do not. A choice that cannot work has exactly
// one reason: the first rule that it breaks, in the order of this list. The same sentences stop the build (in
// engine.hpp) and are values (why_not).
#pragma once

#include <concepts>
#include <cstddef>
#include <string_view>
#include <type_traits>

#include "tenon/cache/ability.hpp"
#include "tenon/cache/contiguous.hpp"
#include "tenon/model/llama.hpp"
#include "tenon/policy/backend.hpp"
#include "tenon/policy/batching.hpp"
#include "tenon/policy/cache.hpp"
#include "tenon/policy/compose.hpp"
#include "tenon/policy/defaults.hpp"
#include "tenon/policy/precision.hpp"
#include "tenon/policy/sampling.hpp"

// A static_assert needs its sentence as a literal, so the sentences are a list that is expanded twice.
#define TENON_POLICY_RULES(RULE)                                                                             \
  RULE(not_a_policy,                                                                                         \
       "tenon: engine<...> takes policies, and one of these types is none; a policy is a class with 'using " \
       "slot = "                                                                                             \
       "tenon::slot::...;' and a static 'name'")                                                             \
  RULE(unknown_slot, "tenon: a policy's 'slot' must be one of the tags in tenon::slot")                      \
  RULE(two_models, "tenon: two model policies given; keep one")                                              \
  RULE(two_backends, "tenon: two backend policies given; keep one")                                          \
  RULE(two_precisions, "tenon: two precision policies given; keep one")                                      \
  RULE(two_caches, "tenon: two cache policies given; keep one")                                              \
  RULE(two_samplings, "tenon: two sampling policies given; keep one")                                        \
  RULE(two_batchings, "tenon: two batching policies given; keep one")                                        \
  RULE(two_reductions, "tenon: two reduction policies given; keep one")                                      \
  RULE(two_executions, "tenon: two execution policies given; keep one")                                      \
  RULE(two_speculations, "tenon: two speculation policies given; keep one")                                  \
  RULE(two_parallelisms, "tenon: two parallelism policies given; keep one")                                  \
  RULE(two_instrumentations, "tenon: two instrumentation policies given; keep one")                          \
  RULE(no_model, "tenon: an engine needs a model policy; add tenon::model::llama")                           \
  RULE(model_lacks,                                                                                          \
       "tenon: this model policy lacks 'architecture' or 'has_fixed_shape'; see tenon/model/llama.hpp")      \
  RULE(backend_lacks,                                                                                        \
       "tenon: this backend policy lacks 'template <class Model, class Precision, class View, class "        \
       "Sampling, class Execution, class Instrumentation> using runtime', 'default_execution', "             \
       "'has_graphs' or 'reads_cache_of<Key, Value>'; see tenon/policy/backend.hpp")                         \
  RULE(precision_lacks,                                                                                      \
       "tenon: this precision policy lacks 'weight_formats', 'activation', 'key' or 'value'; use "           \
       "tenon::precision::mixed<weights<...>, activations<...>, kv<...>>")                                   \
  RULE(no_weights,                                                                                           \
       "tenon: weights<> names no format, so no model could be loaded; name at least one, as weights<q4_1>") \
  RULE(activation_format, "tenon: activations<...> takes f32, bf16, f16 or int8")                            \
  RULE(kv_format, "tenon: kv<...> takes f32, f16, bf16, e4m3 or q8_0, for keys and for values")              \
  RULE(kv_backend,                                                                                           \
       "tenon: this backend's attention does not read kv<...> of these formats: backend::cuda reads f32 "    \
       "for both, or any two of f16, bf16, e4m3 and q8_0; backend::host reads all")                          \
  RULE(graph_backend,                                                                                        \
       "tenon: execution::graph replays CUDA graphs, and this backend has none; use execution::eager, or "   \
       "backend::cuda")                                                                                      \
  RULE(cache_lacks,                                                                                          \
       "tenon: this cache policy lacks a 'manager' with rows(), reserve(slot, tokens), release(slot) and "   \
       "view(slot); "                                                                                        \
       "see tenon/policy/cache.hpp")                                                                         \
  RULE(sampling_lacks,                                                                                       \
       "tenon: this sampling policy lacks 'reads', 'custom_params', 'picks_best(request)' or "               \
       "'apply(candidates, "                                                                                 \
       "request)'; use tenon::sampling::greedy or tenon::sampling::chain<...>")                              \
  RULE(batching_lacks,                                                                                       \
       "tenon: this batching policy lacks 'max_batch', 'opens(state)', 'queue_type', 'prefill_type' or "     \
       "'preemption_type'; see tenon/policy/batching.hpp")                                                   \
  RULE(empty_batch, "tenon: static_batch<N> needs a batch of at least one sequence")                         \
  RULE(nowhere_to_swap,                                                                                      \
       "tenon: preemption::swap needs a cache with a swap space, as cache::paged; use it, or "               \
       "preemption::recompute")                                                                              \
  RULE(shape_heads,                                                                                          \
       "tenon: fixed_shape<...> has heads that are no multiple of kv_heads; each key-value head serves the " \
       "same number "                                                                                        \
       "of query heads")                                                                                     \
  RULE(shape_blocks,                                                                                         \
       "tenon: fixed_shape<...> has rows that are no multiple of 32, but all formats in weights<...> are "   \
       "blocks of 32; "                                                                                      \
       "add a scalar format, as f16")

namespace tenon::policy {

/// The rules, in order; none is broken by a choice that works.
enum class rule {
#define TENON_RULE(name, sentence) name,
  TENON_POLICY_RULES(TENON_RULE)
#undef TENON_RULE
      none
};

/// What a rule says; empty for rule::none.
constexpr std::string_view sentence(rule broken) {
  constexpr std::string_view sentences[] = {
#define TENON_RULE(name, sentence) sentence,
      TENON_POLICY_RULES(TENON_RULE)
#undef TENON_RULE
          ""};
  return sentences[static_cast<std::size_t>(broken)];
}

namespace detail {

template <class T, class... Ts>
inline constexpr bool one_of = (std::same_as<T, Ts> || ...);

template <class P>
inline constexpr bool in_known_slot =
    one_of<typename P::slot, slot::model, slot::backend, slot::precision, slot::cache, slot::sampling,
           slot::batching, slot::reduction, slot::execution, slot::speculation, slot::parallelism,
           slot::instrumentation>;

struct nothing {};

/// Not the default cache, which `nothing` stands for.
template <class C>
inline constexpr bool can_swap = false;
template <tenon::cache::policy C>
inline constexpr bool can_swap<C> = tenon::cache::swaps<typename C::manager>;

/// Asked with arguments that every backend must take.
template <class B>
concept has_runtime = requires {
  typename B::template runtime<model::llama, precision::from_file, cache::contiguous::view, sampling::greedy,
                               execution::eager, instrumentation::none>;
  typename B::default_execution;
  { B::has_graphs } -> std::convertible_to<bool>;
  { B::template reads_cache_of<f16, f16> } -> std::convertible_to<bool>;
};

template <class List>
struct only_blocks;
template <class... Formats>
struct only_blocks<weights<Formats...>> {
  static constexpr bool value = ((Formats::block_size > 1) && ...);
};

template <class Model, class Precision>
constexpr rule check_shape() {
  if constexpr (Model::has_fixed_shape) {
    constexpr model::shape s = Model::shape;
    if constexpr (s.kv_heads == 0 || s.heads % s.kv_heads != 0) return rule::shape_heads;
    constexpr bool whole_blocks =
        s.hidden % 32 == 0 && s.heads * s.head_dim % 32 == 0 && s.feed_forward % 32 == 0;
    if constexpr (!whole_blocks && only_blocks<typename Precision::weight_formats>::value)
      return rule::shape_blocks;
  }
  return rule::none;
}

template <class P>
constexpr rule check_precision() {
  if constexpr (!precision::policy<P>) {
    return rule::precision_lacks;
  } else if constexpr (P::weight_formats::count == 0) {
    return rule::no_weights;
  } else if constexpr (!one_of<typename P::activation, f32, bf16, f16, int8>) {
    return rule::activation_format;
  } else if constexpr (!one_of<typename P::key, f32, f16, bf16, e4m3, q8_0> ||
                       !one_of<typename P::value, f32, f16, bf16, e4m3, q8_0>) {
    return rule::kv_format;
  } else {
    return rule::none;
  }
}

/// For each slot one policy: the ones given, or for those left out something that passes.
template <class... Ps>
constexpr rule check_members() {
  using M = pick<slot::model, nothing, Ps...>;
  using B = pick<slot::backend, tenon::backend::standard, Ps...>;
  using P = pick<slot::precision, tenon::precision::from_file, Ps...>;
  using C = pick<slot::cache, nothing, Ps...>;
  using S = pick<slot::sampling, tenon::sampling::greedy, Ps...>;
  using N = pick<slot::batching, tenon::batching::static_batch<>, Ps...>;
  using E = pick<slot::execution, tenon::execution::eager, Ps...>;
  if constexpr (std::same_as<M, nothing>) {
    return rule::no_model;
  } else if constexpr (!tenon::model::policy<M>) {
    return rule::model_lacks;
  } else if constexpr (!has_runtime<B>) {
    return rule::backend_lacks;
  } else if constexpr (check_precision<P>() != rule::none) {
    return check_precision<P>();
  } else if constexpr (!B::template reads_cache_of<typename P::key, typename P::value>) {
    return rule::kv_backend;
  } else if constexpr (std::same_as<E, tenon::execution::graph> && !B::has_graphs) {
    return rule::graph_backend;
  } else if constexpr (!std::same_as<C, nothing> && !tenon::cache::policy<C>) {
    return rule::cache_lacks;
  } else if constexpr (!tenon::sampling::sampling_policy<S>) {
    return rule::sampling_lacks;
  } else if constexpr (!tenon::batching::policy<N>) {
    return rule::batching_lacks;
  } else if constexpr (N::max_batch == 0) {
    return rule::empty_batch;
  } else if constexpr (N::preemption_type::swaps && !can_swap<C>) {
    return rule::nowhere_to_swap;
  } else {
    return check_shape<M, P>();
  }
}

template <class... Ps>
constexpr rule check_counts() {
  if constexpr ((given<slot::model, Ps...>) > 1) return rule::two_models;
  else if constexpr ((given<slot::backend, Ps...>) > 1) return rule::two_backends;
  else if constexpr ((given<slot::precision, Ps...>) > 1) return rule::two_precisions;
  else if constexpr ((given<slot::cache, Ps...>) > 1) return rule::two_caches;
  else if constexpr ((given<slot::sampling, Ps...>) > 1) return rule::two_samplings;
  else if constexpr ((given<slot::batching, Ps...>) > 1) return rule::two_batchings;
  else if constexpr ((given<slot::reduction, Ps...>) > 1) return rule::two_reductions;
  else if constexpr ((given<slot::execution, Ps...>) > 1) return rule::two_executions;
  else if constexpr ((given<slot::speculation, Ps...>) > 1) return rule::two_speculations;
  else if constexpr ((given<slot::parallelism, Ps...>) > 1) return rule::two_parallelisms;
  else if constexpr ((given<slot::instrumentation, Ps...>) > 1) return rule::two_instrumentations;
  else return check_members<Ps...>();
}

template <class... Ps>
constexpr rule check() {
  if constexpr (!(engine_policy<Ps> && ...)) return rule::not_a_policy;
  else if constexpr (!(in_known_slot<Ps> && ...)) return rule::unknown_slot;
  else return check_counts<Ps...>();
}

}  // namespace detail

/// The first rule that these policies break together, or rule::none.
template <class... Ps>
inline constexpr rule broken_rule = detail::check<Ps...>();

}  // namespace tenon::policy

namespace tenon {

/// Why engine<Ps...> cannot be built, in one sentence; empty when it can. engine<Ps...> itself stops the
/// build with it.
template <class... Ps>
inline constexpr std::string_view why_not = policy::sentence(policy::broken_rule<Ps...>);

}  // namespace tenon
