// UTF-8, read one unit at a time. Shared by the tokenizer (which must know where text stops being text) and
// by the streaming detokenizer (which must know whether more bytes can complete a character).
#pragma once

#include <cstddef>
#include <string_view>

namespace tenon::text {

/// What stands in the place of bytes that are no UTF-8: U+FFFD, itself encoded as UTF-8.
inline constexpr std::string_view replacement_character = "\xef\xbf\xbd";

/// The first unit of a byte string: a whole character, a start of one that the bytes end in, or bytes that no
/// continuation can make valid.
struct utf8_unit {
  enum class kind { whole, cut, invalid };
  std::size_t length;  ///< bytes of the unit, 1 to 4
  kind what;
};

/// Reads the unit at the start of `bytes`, which must not be empty. Invalid bytes are grouped as the Unicode
/// standard recommends (section 3.9, "maximal subparts", table 3-7) and as the WHATWG decoder does: one
/// U+FFFD per unit.
constexpr utf8_unit next_utf8(std::string_view bytes) {
  using enum utf8_unit::kind;
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {1, whole};
  if (lead < 0xc2 || lead > 0xf4) return {1, invalid};
  const std::size_t length = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  // The second byte is narrower after four leads: no overlong forms, no surrogates, nothing above U+10FFFF.
  unsigned char low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
  unsigned char high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
  for (std::size_t i = 1; i < length; ++i) {
    if (i == bytes.size()) return {i, cut};
    if (byte(i) < low || byte(i) > high) return {i, invalid};
    low = 0x80;
    high = 0xbf;
  }
  return {length, whole};
}

/// The number of bytes at the start of `bytes` that are whole characters.
constexpr std::size_t valid_utf8_prefix(std::string_view bytes) {
  std::size_t end = 0;
  while (end < bytes.size()) {
    const utf8_unit unit = next_utf8(bytes.substr(end));
    if (unit.what != utf8_unit::kind::whole) break;
    end += unit.length;
  }
  return end;
}

}  // namespace tenon::text
