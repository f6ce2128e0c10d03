// Joins words and numbers into one string, for messages. One call into code that is compiled once: chains of
// std::string's operator+ are inlined at every use, and make up a good part of a program's size and compile
// time.
#pragma once

#include <charconv>
#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>

namespace tenon {

namespace detail {

/// A word, or a number with its digits.
class concat_part {
 public:
  template <class Text>
  requires std::convertible_to<const Text&, std::string_view> concat_part(const Text& text)
      : text_(text) {}  // NOLINT: implicit, so that a list of parts can be written down
  template <std::integral Number>
  concat_part(Number number) {  // NOLINT
    if constexpr (std::signed_integral<Number>) {
      write_signed(static_cast<long long>(number));
    } else {
      write_unsigned(static_cast<unsigned long long>(number));
    }
  }
  concat_part(const concat_part&) = delete;  // the text may lie in the part itself
  concat_part& operator=(const concat_part&) = delete;

  std::string_view text() const { return text_; }

 private:
  [[gnu::noinline, gnu::cold]] void write_signed(long long number) {
    text_ = {digits_, static_cast<std::size_t>(std::to_chars(digits_, digits_ + sizeof(digits_), number).ptr -
                                               digits_)};
  }
  [[gnu::noinline, gnu::cold]] void write_unsigned(unsigned long long number) {
    text_ = {digits_, static_cast<std::size_t>(std::to_chars(digits_, digits_ + sizeof(digits_), number).ptr -
                                               digits_)};
  }

  std::string_view text_;
  char digits_[24];
};

[[gnu::noinline, gnu::cold]] inline std::string join(std::initializer_list<concat_part> parts) {
  std::size_t size = 0;
  for (const concat_part& part : parts) size += part.text().size();
  std::string joined;
  joined.reserve(size);
  for (const concat_part& part : parts) joined.append(part.text());
  return joined;
}

}  // namespace detail

/// The parts, one behind the other: concat("layer ", 3, " of ", name).
template <class... Parts>
std::string concat(const Parts&... parts) {
  return detail::join({parts...});
}

}  // namespace tenon
