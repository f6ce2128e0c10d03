// The request fields that belong to the built-in sampling stages. A field is a number in the request of an
// engine whose stages read it; in the request of any other engine it is a placeholder, and to set it stops
// the build with a sentence.
#pragma once

#include <cstdint>

namespace tenon::sampling {

/// A set of fields: what a stage reads, or a chain.
enum class field : std::uint8_t { none = 0, temperature = 1, top_k = 2, top_p = 4, min_p = 8, all = 15 };

constexpr field operator|(field a, field b) {
  return static_cast<field>(static_cast<std::uint8_t>(a) | static_cast<std::uint8_t>(b));
}

/// Whether `set` has all of `wanted`.
constexpr bool contains(field set, field wanted) {
  return (static_cast<std::uint8_t>(set) & static_cast<std::uint8_t>(wanted)) ==
         static_cast<std::uint8_t>(wanted);
}

namespace detail {

template <class>
inline constexpr bool never = false;

/// Stands where a field is missing. It takes no room. Giving it a value is the mistake that its sentence
/// explains.
template <field F>
struct absent;

template <>
struct absent<field::temperature> {
  constexpr absent() = default;
  template <class Value>
  absent(const Value&) {  // NOLINT: implicit, to catch every value
    static_assert(
        never<Value>,
        "tenon: no stage of this engine's sampling policy reads 'temperature'; add sampling::temperature to "
        "its sampling::chain<...>, or leave the field out");
  }
};

template <>
struct absent<field::top_k> {
  constexpr absent() = default;
  template <class Value>
  absent(const Value&) {  // NOLINT
    static_assert(never<Value>,
                  "tenon: no stage of this engine's sampling policy reads 'top_k'; add sampling::top_k to "
                  "its sampling::chain<...>, or leave the field out");
  }
};

template <>
struct absent<field::top_p> {
  constexpr absent() = default;
  template <class Value>
  absent(const Value&) {  // NOLINT
    static_assert(never<Value>,
                  "tenon: no stage of this engine's sampling policy reads 'top_p'; add sampling::top_p to "
                  "its sampling::chain<...>, or leave the field out");
  }
};

template <>
struct absent<field::min_p> {
  constexpr absent() = default;
  template <class Value>
  absent(const Value&) {  // NOLINT
    static_assert(never<Value>,
                  "tenon: no stage of this engine's sampling policy reads 'min_p'; add sampling::min_p to "
                  "its sampling::chain<...>, or leave the field out");
  }
};

template <bool Read, field F, class Value>
struct stage_field {
  using type = Value;
  static constexpr Value initial(Value value) { return value; }
};
template <field F, class Value>
struct stage_field<false, F, Value> {
  using type = absent<F>;
  static constexpr type initial(Value) { return {}; }
};

}  // namespace detail
}  // namespace tenon::sampling
