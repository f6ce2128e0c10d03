// Reading numbers out of arguments and files.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <string_view>
#include <system_error>
#include <vector>

namespace serve {

/// The parts of a text between separators; at least one.
inline std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = (std::min)(text.find(separator, at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

/// All of a text as a number; false when it is none.
template <class Number>
bool read_number(std::string_view text, Number& into) {
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), into);
  return fault == std::errc() && end == text.data() + text.size();
}

/// Tokens of the longest prompt or answer that anything here asks for.
inline constexpr std::size_t longest_length = std::size_t{1} << 24;

/// All of a text as a number of tokens.
inline bool read_length(std::string_view text, std::size_t& into) {
  return read_number(text, into) && into >= 1 && into <= longest_length;
}

}  // namespace serve
