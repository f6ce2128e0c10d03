// The fields of a request as a list, for input that arrives at run time: JSON, command lines. The list is the
// one that the compiler checks designated initialisers against, so an engine takes the same fields either
// way.
#pragma once

#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenon/core/error.hpp"
#include "tenon/sample/field.hpp"
#include "tenon/sample/params.hpp"

namespace tenon::sampling {

namespace detail {

template <class Params, class F>
concept lists_fields = requires(Params& p, F& f) {
  std::remove_const_t<Params>::for_each_field(p, f);
};

template <class Custom, class F, class... StageParams>
void for_each_custom(Custom& custom, F& f, const custom_params<StageParams...>&) {
  const auto visit = [&f]<class P>(P& stage_params) {
    if constexpr (lists_fields<P, F>) std::remove_const_t<P>::for_each_field(stage_params, f);
  };
  static_cast<void>(visit);
  (visit(static_cast<std::conditional_t<std::is_const_v<Custom>, const StageParams, StageParams>&>(custom)),
   ...);
}

template <class P>
struct policy_of;
template <class Policy>
struct policy_of<params<Policy>> {
  using type = Policy;
};

}  // namespace detail

/// Calls f(name, value) for each field that a request to this engine has, in the order of the declaration; of
/// user-written stages' fields for those that their params list (see sampling_stage). `p` is a
/// params<Policy>, const or not.
template <class Params, class F>
void for_each_field(Params& p, F&& f) {
  constexpr field reads = detail::policy_of<std::remove_const_t<Params>>::type::reads;
  using std::string_view;
  if constexpr (contains(reads, field::temperature)) f(string_view("temperature"), p.temperature);
  if constexpr (contains(reads, field::top_k)) f(string_view("top_k"), p.top_k);
  if constexpr (contains(reads, field::top_p)) f(string_view("top_p"), p.top_p);
  if constexpr (contains(reads, field::min_p)) f(string_view("min_p"), p.min_p);
  f(string_view("seed"), p.seed);
  detail::for_each_custom(p.custom, f, p.custom);
  f(string_view("max_tokens"), p.max_tokens);
  f(string_view("min_tokens"), p.min_tokens);
  f(string_view("stop"), p.stop);
  f(string_view("stop_token_ids"), p.stop_token_ids);
  f(string_view("n"), p.n);
  f(string_view("priority"), p.priority);
  f(string_view("client"), p.client);
  f(string_view("timeout"), p.timeout);
  f(string_view("ignore_eos"), p.ignore_eos);
}

namespace detail {

template <class T>
concept whole_number = std::integral<T> && !std::same_as<T, bool> && !std::same_as<T, char>;

template <class T>
concept text = std::convertible_to<const T&, std::string_view> && !std::same_as<T, std::nullptr_t>;

template <class T>
concept list = !text<T> && requires(const T& t) {
  t.begin();
  t.end();
};

inline std::string quoted(std::string_view name) { return "parameter '" + std::string(name) + "'"; }

/// The assignments that make sense; every other pair of types is a wrong value, said in words.
struct field_setter {
  std::string_view name;

  [[noreturn]] void refuse(const std::string& what) const {
    throw request_error(quoted(name) + " wants " + what);
  }

  template <class Value>
  void operator()(bool& out, const Value& value) const {
    if constexpr (std::same_as<Value, bool>) {
      out = value;
    } else {
      refuse("true or false");
    }
  }

  template <whole_number Int, class Value>
  void operator()(Int& out, const Value& value) const {
    using limits = std::numeric_limits<Int>;
    const std::string wanted =
        "a whole number from " + std::to_string((limits::min)()) + " to " + std::to_string((limits::max)());
    if constexpr (whole_number<Value>) {
      if (!std::in_range<Int>(value)) refuse(wanted + ", not " + std::to_string(value));
      out = static_cast<Int>(value);
    } else if constexpr (std::floating_point<Value>) {  // JSON libraries may hold 40 as 40.0
      const double number = static_cast<double>(value);
      const double above = std::ldexp(1.0, limits::digits);  // the first number that is too large
      if (!(number >= static_cast<double>((limits::min)()) && number < above) ||
          number != std::floor(number)) {
        refuse(wanted + ", not " + std::to_string(number));
      }
      out = static_cast<Int>(number);
    } else {
      refuse(wanted);
    }
  }

  template <std::floating_point Float, class Value>
  void operator()(Float& out, const Value& value) const {
    if constexpr (whole_number<Value> || std::floating_point<Value>) {
      out = static_cast<Float>(value);
    } else {
      refuse("a number");
    }
  }

  template <class Value>
  void operator()(std::string& out, const Value& value) const {
    if constexpr (text<Value>) {
      out = std::string(std::string_view(value));
    } else {
      refuse("a string");
    }
  }

  template <class T, class Value>
  void operator()(std::optional<T>& out, const Value& value) const {
    if constexpr (std::same_as<Value, std::nullptr_t> || std::same_as<Value, std::nullopt_t>) {
      out.reset();
    } else {
      T inner{};
      (*this)(inner, value);
      out = inner;
    }
  }

  template <class T, class Value>
  void operator()(std::vector<T>& out, const Value& value) const {
    if constexpr (list<Value>) {
      std::vector<T> items;
      for (const auto& item : value) (*this)(items.emplace_back(), item);
      out = std::move(items);
    } else if constexpr (text<Value> && std::same_as<T, std::string>) {
      out.assign(1, std::string(std::string_view(value)));  // OpenAI's `stop` is a string or a list of them
    } else {
      refuse(std::same_as<T, std::string> ? "a string or a list of strings" : "a list of whole numbers");
    }
  }
};

}  // namespace detail

/// Sets the field called `name`. `value` is a bool, a number, a string, a list of strings or integers, or
/// nullptr (JSON's null) for an optional field. Throws request_error for a name that this engine does not
/// have (the message lists those that it has) and for a value of the wrong kind. Ranges are validate()'s
/// matter.
template <class Policy, class Value>
void set_field(params<Policy>& p, std::string_view name, const Value& value) {
  bool found = false;
  std::string known;
  for_each_field(p, [&](std::string_view field_name, auto& field_value) {
    known += (known.empty() ? "" : ", ") + std::string(field_name);
    if (field_name != name || found) return;
    found = true;
    detail::field_setter{name}(field_value, value);
  });
  if (!found) throw request_error("no " + detail::quoted(name) + "; this engine has: " + known);
}

}  // namespace tenon::sampling
