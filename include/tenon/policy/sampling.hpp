// The slot `sampling`: how the next token is chosen from a row of logits. Either greedily, or by a chain of
// stages.
#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>

#include "tenon/core/fixed_string.hpp"
#include "tenon/core/host_device.hpp"
#include "tenon/policy/slot.hpp"
#include "tenon/sample/min_p.hpp"
#include "tenon/sample/stage.hpp"
#include "tenon/sample/temperature.hpp"
#include "tenon/sample/top_k.hpp"
#include "tenon/sample/top_p.hpp"

namespace tenon::sampling {

/// What the slot asks for, beside slot and name:
///   reads          the fields that a request to this engine has
///   custom_params  sampling::custom_params<...> with the parameters of user-written stages
///   picks_best     whether this request always takes the best token, so that a scan for it is enough
///   apply          cuts the candidates down and edits their logits; the draw follows
template <class P>
concept sampling_policy = engine_policy<P> && std::same_as<typename P::slot, slot::sampling> &&
    requires(candidates& c, const params<P>& request) {
  { P::picks_best(request) } -> std::same_as<bool>;
  { P::apply(c, request) } -> std::same_as<fault>;
};

/// Always the token with the highest logit, the lowest id of several. Reads no request fields.
struct greedy {
  using slot = tenon::slot::sampling;
  static constexpr auto name = fixed_string("greedy");
  static constexpr field reads = field::none;
  using custom_params = sampling::custom_params<>;

  TENON_HOST_DEVICE static bool picks_best(const auto&) { return true; }
  TENON_HOST_DEVICE_TEMPLATE static fault apply(auto& c, const auto&) {
    c.keep_best();
    return fault::none;
  }
};

namespace detail {

template <class...>
inline constexpr bool all_different = true;
template <class First, class... Rest>
inline constexpr bool all_different<First, Rest...> =
    !(std::same_as<First, Rest> || ...) && all_different<Rest...>;

template <class Joined, class... Stages>
struct join_params {
  using type = Joined;
};
template <class... Joined, class Stage, class... Rest>
struct join_params<custom_params<Joined...>, Stage, Rest...>
    : join_params<custom_params<Joined...>, Rest...> {};
template <class... Joined, brings_params Stage, class... Rest>
requires(!std::derived_from<custom_params<Joined...>, typename Stage::params>) struct join_params<
    custom_params<Joined...>, Stage, Rest...>
    : join_params<custom_params<Joined..., typename Stage::params>, Rest...> {
};

template <class Stage>
constexpr auto stage_name() {
  if constexpr (sampling_stage<Stage>) {
    return Stage::name;
  } else {
    return fixed_string("?");
  }
}

template <class First, class... Rest>
constexpr auto name_list() {
  if constexpr (sizeof...(Rest) == 0) {
    return stage_name<First>();
  } else {
    return stage_name<First>() + ", " + name_list<Rest...>();
  }
}

template <class... Stages>
constexpr auto chain_name() {
  if constexpr (sizeof...(Stages) == 0) {
    return fixed_string("chain<>");
  } else {
    return "chain<" + name_list<Stages...>() + ">";
  }
}

/// Stops the build for stages that make no chain. A function, as a class with a failed static_assert draws
/// more errors wherever it is named.
template <class... Stages>
constexpr bool check_stages() {
  static_assert((sampling_stage<Stages> && ...),
                "tenon: sampling::chain<...> takes sampling stages, and one of these types is none; a stage "
                "has a static 'name' and a static 'apply(candidates&, ...)', see tenon/sample/stage.hpp");
  static_assert(all_different<Stages...>,
                "tenon: sampling::chain<...> names a stage twice; a request has one set of parameters for "
                "it, so leave one out");
  return true;
}

}  // namespace detail

/// Applies the stages in the order given, then draws from what they leave. The order is part of the type, as
/// it is part of the result. chain<> draws from the model's own distribution.
template <class... Stages>
struct chain {
  using slot = std::conditional_t<detail::check_stages<Stages...>(), tenon::slot::sampling, void>;
  static constexpr auto name = detail::chain_name<Stages...>();
  static constexpr field reads = (field::none | ... | detail::fields_of<Stages>());
  using custom_params = typename detail::join_params<sampling::custom_params<>, Stages...>::type;

  TENON_HOST_DEVICE static bool picks_best(const auto& request) {
    if constexpr (best_when_cold) {
      return request.temperature < temperature::greedy_below;
    } else {
      return false;
    }
  }

  TENON_HOST_DEVICE_TEMPLATE static fault apply(auto& c, const auto& request) {
    fault f = fault::none;
    // Ends at the first fault.
    static_cast<void>(((f = detail::apply_stage<Stages>(c, request), f == fault::none) && ...));
    return f;
  }

  /// Throws request_error when a stage refuses its parameters.
  static void validate(const auto& request) { (detail::validate_stage<Stages>(request), ...); }

 private:
  static constexpr bool best_when_cold =
      contains(reads, field::temperature) && (detail::keeps_best<Stages>() && ...);
};

/// The orders of other engines, for those of their stages that exist here.
using like_vllm = chain<temperature, min_p, top_k, top_p>;       // vLLM and TensorRT-LLM
using like_sglang = chain<temperature, top_k, top_p, min_p>;     // SGLang
using like_hf = chain<temperature, top_k, top_p, min_p>;         // Hugging Face transformers
using like_llama_cpp = chain<top_k, top_p, min_p, temperature>;  // llama.cpp's default --samplers
using like_openvino = chain<top_k, temperature, min_p, top_p>;   // OpenVINO GenAI

}  // namespace tenon::sampling
