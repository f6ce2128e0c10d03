// A string with its length in its type: policies name themselves with it, and an engine's description is
// joined from those names at compile time.
#pragma once

#include <cstddef>
#include <string_view>

namespace tenon {

/// N characters and a terminating zero, usable as a constant expression and as a template argument.
template <std::size_t N>
struct fixed_string {
  char text[N + 1] = {};

  constexpr fixed_string() = default;
  constexpr fixed_string(const char (&literal)[N + 1]) {  // NOLINT: implicit, so that literals can be used
    for (std::size_t i = 0; i != N; ++i) text[i] = literal[i];
  }

  static constexpr std::size_t size() { return N; }
  constexpr std::string_view view() const { return {text, N}; }
  constexpr operator std::string_view() const { return view(); }
};

template <std::size_t N>
fixed_string(const char (&)[N]) -> fixed_string<N - 1>;

template <std::size_t A, std::size_t B>
constexpr fixed_string<A + B> operator+(const fixed_string<A>& a, const fixed_string<B>& b) {
  fixed_string<A + B> joined;
  for (std::size_t i = 0; i != A; ++i) joined.text[i] = a.text[i];
  for (std::size_t i = 0; i != B; ++i) joined.text[A + i] = b.text[i];
  return joined;
}

template <std::size_t A, std::size_t B>
constexpr auto operator+(const fixed_string<A>& a, const char (&b)[B]) {
  return a + fixed_string<B - 1>(b);
}

template <std::size_t A, std::size_t B>
constexpr auto operator+(const char (&a)[A], const fixed_string<B>& b) {
  return fixed_string<A - 1>(a) + b;
}

namespace detail {
constexpr std::size_t decimal_digits(unsigned long long value) {
  std::size_t digits = 1;
  while (value >= 10) value /= 10, ++digits;
  return digits;
}
}  // namespace detail

/// A number in decimal, as in the 16 of "paged<16>".
template <unsigned long long Value>
constexpr auto decimal() {
  fixed_string<detail::decimal_digits(Value)> digits;
  unsigned long long rest = Value;
  for (std::size_t i = digits.size(); i-- > 0; rest /= 10)
    digits.text[i] = static_cast<char>('0' + rest % 10);
  return digits;
}

}  // namespace tenon
