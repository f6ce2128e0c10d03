// Text out of a file, made fit for a message or a terminal: a file is not trusted to hold readable names.
#pragma once

#include "tenon/core/concat.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace tenon::io::detail {

/// Bytes of the valid UTF-8 sequence at the start of `text` (not empty), or 0 when there is none.
/// Overlong forms, surrogates and what lies above U+10FFFF are not valid.
constexpr std::size_t utf8_sequence(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  const unsigned lowest = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
  const unsigned highest = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
  if (byte(1) < lowest || byte(1) > highest) return 0;
  for (std::size_t i = 2; i < length; ++i) {
    if (byte(i) < 0x80 || byte(i) > 0xbf) return 0;
  }
  return length;
}

/// `text` as valid UTF-8 without control characters: other bytes become \xNN. What is longer than about
/// `limit` bytes is cut and ends in "...".
[[gnu::cold]] inline std::string printable(std::string_view text, std::size_t limit = 80) {
  constexpr char digits[] = "0123456789abcdef";
  std::string readable;
  while (!text.empty()) {
    if (readable.size() >= limit) return readable + "...";
    const std::size_t length = utf8_sequence(text);
    const auto first = static_cast<unsigned char>(text[0]);
    if (length == 0 || first < 0x20 || first == 0x7f) {
      readable += {'\\', 'x', digits[first >> 4], digits[first & 15]};
      text.remove_prefix(1);
    } else {
      readable += text.substr(0, length);
      text.remove_prefix(length);
    }
  }
  return readable;
}

/// As printable, in single quotes.
[[gnu::cold]] inline std::string quoted(std::string_view text) { return concat("'", printable(text), "'"); }

}  // namespace tenon::io::detail

namespace tenon::io {
using detail::printable;
}
