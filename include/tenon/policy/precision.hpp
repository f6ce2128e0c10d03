// The precision slot: the weight formats that an engine can hold, the number format of activations in
// products, and the formats of cached keys and values. Sums are always fp32.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "tenon/core/fixed_string.hpp"
#include "tenon/format/all.hpp"
#include "tenon/policy/slot.hpp"

namespace tenon {

/// Activations as int8 in blocks of 32 under an fp32 scale, for the integer dot product with block formats.
/// Weights in scalar formats (F32, F16, BF16) are multiplied with fp32 activations all the same.
struct int8 {
  static constexpr auto name = fixed_string("int8");
};

/// Formats that weights may have in the model file. The order does not matter.
template <weight_format... Formats>
struct weights {
  static constexpr std::size_t count = sizeof...(Formats);
  static constexpr auto name = [] {
    if constexpr (count == 0) {
      return fixed_string("");
    } else {
      auto joined = ((Formats::name + "/") + ... + fixed_string(""));
      fixed_string<joined.size() - 1> trimmed;
      for (std::size_t i = 0; i < trimmed.size(); ++i) trimmed.text[i] = joined.text[i];
      return trimmed;
    }
  }();

  static constexpr bool holds(std::uint32_t gguf_type) { return ((Formats::gguf_type == gguf_type) || ...); }

  /// Calls `f.template operator()<Format>()` for the format with this number, if the list has it.
  template <class F>
  static constexpr bool visit(std::uint32_t gguf_type, F&& f) {
    return ((Formats::gguf_type == gguf_type && (f.template operator()<Formats>(), true)) || ...);
  }
};

/// The number format of activations in products: f32, bf16, f16 or int8. F16 weights go with f16 and BF16 weights with bf16:
/// then a GPU's tensor cores multiply them as they are.
template <class Format>
struct activations {
  using format = Format;
};

/// The formats of cached keys and values, each on its own: f32, f16, bf16, e4m3 (fp8) or q8_0 (int8 in blocks of 32
/// under a scale). backend::cuda has f32 only for both.
template <class Key, class Value = Key>
struct kv {
  using key = Key;
  using value = Value;
};

namespace precision {

/// What a precision policy must have: weight_formats (a tenon::weights list), activation (f32, bf16, f16 or int8),
/// key and value (f32, f16, bf16, e4m3 or q8_0).
template <class P>
concept policy = engine_policy<P> && requires {
  { P::weight_formats::count } -> std::convertible_to<std::size_t>;
  typename P::activation;
  typename P::key;
  typename P::value;
};

namespace detail {

/// Inserts a format into a list that is sorted by number, once.
template <class Format, class Before, class After>
struct insert;
template <class Format, class... Before>
struct insert<Format, weights<Before...>, weights<>> {
  using type = weights<Before..., Format>;
};
template <class Format, class... Before, class First, class... After>
struct insert<Format, weights<Before...>, weights<First, After...>> {
  static constexpr auto pick() {
    if constexpr (Format::gguf_type == First::gguf_type) {
      return weights<Before..., First, After...>();
    } else if constexpr (Format::gguf_type < First::gguf_type) {
      return weights<Before..., Format, First, After...>();
    } else {
      return typename insert<Format, weights<Before..., First>, weights<After...>>::type();
    }
  }
  using type = decltype(pick());
};

template <class Sorted, class... Formats>
struct sort_formats {
  using type = Sorted;
};
template <class Sorted, class First, class... Rest>
struct sort_formats<Sorted, First, Rest...>
    : sort_formats<typename insert<First, weights<>, Sorted>::type, Rest...> {};

/// The parts of a mixed<...>, in any order, with the defaults for what is left out.
template <class Weights = weights<>, class Activation = int8, class Key = f16, class Value = f16>
struct parts {
  using weight_formats = Weights;
  using activation = Activation;
  using key = Key;
  using value = Value;
};

template <class Parts, class... Given>
struct collect {
  using type = Parts;
};
template <class W, class A, class K, class V, class... Formats, class... Rest>
struct collect<parts<W, A, K, V>, weights<Formats...>, Rest...>
    : collect<parts<typename sort_formats<weights<>, Formats...>::type, A, K, V>, Rest...> {};
template <class W, class A, class K, class V, class Format, class... Rest>
struct collect<parts<W, A, K, V>, activations<Format>, Rest...> : collect<parts<W, Format, K, V>, Rest...> {};
template <class W, class A, class K, class V, class Key, class Value, class... Rest>
struct collect<parts<W, A, K, V>, kv<Key, Value>, Rest...> : collect<parts<W, A, Key, Value>, Rest...> {};

}  // namespace detail

/// The one type behind mixed<...>: formats sorted, every part named.
template <class Weights, class Activation, class Key, class Value>
struct basic {
  using slot = tenon::slot::precision;
  using weight_formats = Weights;
  using activation = Activation;
  using key = Key;
  using value = Value;
  static constexpr auto name = "weights " + Weights::name + ", activations " + Activation::name + ", kv " +
                               Key::name + "/" + Value::name;
};

namespace detail {
template <class P>
using basic_of =
    basic<typename P::weight_formats, typename P::activation, typename P::key, typename P::value>;
}

/// weights<...>, activations<...> and kv<...>, in any order. Left out: all formats, int8, f16.
using all_formats = weights<f32, f16, bf16, q8_0, q4_0, q4_1>;
template <class... Parts>
using mixed = detail::basic_of<typename detail::collect<
    detail::parts<typename detail::collect<detail::parts<>, all_formats>::type::weight_formats>,
    Parts...>::type>;

/// Weights in whatever format the file has, the fastest activations, keys and values in 16 bits.
using from_file = mixed<>;
/// Everything in fp32 once decoded: the oracle that other choices are compared with.
using fp32 = mixed<activations<f32>, kv<f32>>;

}  // namespace precision
}  // namespace tenon
