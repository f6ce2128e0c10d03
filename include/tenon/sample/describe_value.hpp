// Numbers as text for error messages: the shortest text that reads back as the same number.
#pragma once

#include <charconv>
#include <string>

namespace tenon::sampling::detail {

template <class Number>
[[gnu::cold]] std::string text_of(Number value) {
  char text[64];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  return std::string(text, end);
}

}  // namespace tenon::sampling::detail
