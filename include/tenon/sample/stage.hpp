// What a sampling stage is. The built-in ones are small files beside this one; users write their own in the
// same way.
#pragma once

#include <concepts>
#include <string_view>
#include <type_traits>

#include "tenon/core/host_device.hpp"
#include "tenon/sample/candidates.hpp"
#include "tenon/sample/fault.hpp"
#include "tenon/sample/params.hpp"

namespace tenon::sampling {

namespace detail {

template <class Stage>
concept reads_request = requires {
  { Stage::reads } -> std::convertible_to<field>;
};

template <class Stage>
concept brings_params = requires {
  typename Stage::params;
};

template <class Stage>
struct custom_of {
  using type = custom_params<>;
};
template <brings_params Stage>
struct custom_of<Stage> {
  using type = custom_params<typename Stage::params>;
};

/// Stands for any policy that has the stage: only to ask whether the stage can be applied to its request.
template <class Stage>
struct any_policy_with {
  static constexpr field reads = field::all;
  using custom_params = typename custom_of<Stage>::type;
};

template <class Stage>
constexpr bool can_apply() {
  if constexpr (reads_request<Stage>) {
    return requires(candidates & c, const params<any_policy_with<Stage>>& request) {
      Stage::apply(c, request);
    };
  } else if constexpr (brings_params<Stage>) {
    return requires(candidates & c, const typename Stage::params& own) { Stage::apply(c, own); };
  } else {
    return requires(candidates & c) { Stage::apply(c); };
  }
}

}  // namespace detail

/// A step of a sampling chain: a public class with
/// - name: what descriptions call it, a fixed_string
/// - apply: a static function that drops candidates or edits logits. It must depend on nothing but its arguments,
///   and must not throw (the request would end in an error).
/// and, where it needs them,
/// - params: an aggregate of its own request fields, with defaults. apply(candidates&, const params&) gets it; the
///   caller gives it as .custom. For input at run time it lists its fields in
///   template <class Self, class F> static void for_each_field(Self& self, F&& f) { f("alpha", self.alpha); }
/// - reads: the fields of the request that the stage reads, as field::top_p | field::min_p. apply then gets the
///   whole request, as apply(candidates&, const auto& request); its own params are in request.custom.
/// - validate: validate(const params&), or with `reads` validate(const auto& request): throws request_error
/// - keeps_best: true when the best candidate always stays the best (a filter that cuts at the bottom). A
///   temperature of 0 can then skip the stage.
template <class Stage>
concept sampling_stage = requires {
  { Stage::name } -> std::convertible_to<std::string_view>;
}
&&detail::can_apply<Stage>();

namespace detail {

/// Calls `f` with what the stage is due: nothing, its params, or the request.
TENON_SIDE_UNCHECKED
template <class Stage, class Request, class F>
TENON_HOST_DEVICE void with_params_of(const Request& request, F&& f) {
  if constexpr (reads_request<Stage>) {
    f(request);
  } else if constexpr (brings_params<Stage>) {
    f(static_cast<const typename Stage::params&>(request.custom));
  } else {
    f();
  }
}

TENON_SIDE_UNCHECKED
template <class Stage, class Candidates, class Request>
TENON_HOST_DEVICE fault apply_stage(Candidates& c, const Request& request) {
  with_params_of<Stage>(request, [&c](const auto&... given) { Stage::apply(c, given...); });
  return c.settle();
}

template <class Stage, class Request>
void validate_stage(const Request& request) {
  with_params_of<Stage>(request, [](const auto&... given) {
    if constexpr (requires { Stage::validate(given...); }) Stage::validate(given...);
  });
}

template <class Stage>
constexpr bool keeps_best() {
  if constexpr (requires { Stage::keeps_best; }) return Stage::keeps_best;
  return false;
}

template <class Stage>
constexpr field fields_of() {
  if constexpr (reads_request<Stage>) return Stage::reads;
  return field::none;
}

}  // namespace detail
}  // namespace tenon::sampling
