// The alphabet of byte-level BPE vocabularies: every byte has a printable character that stands for it, so
// that tokens can be written as text. Printable Latin-1 stands for itself; the other 68 bytes are U+0100 and
// up, in order. Source: bytes_to_unicode() in openai/gpt-2, src/encoder.py.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tenon::text {

namespace detail {

inline constexpr std::size_t stand_in_count = 0x100 + 68;  // one past the largest code point of the alphabet

constexpr bool stands_for_itself(std::size_t byte) {
  return (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
}

constexpr std::array<std::uint16_t, 256> make_stand_ins() {
  std::array<std::uint16_t, 256> table{};
  std::uint16_t next = 0x100;
  for (std::size_t byte = 0; byte < 256; ++byte)
    table[byte] = stands_for_itself(byte) ? static_cast<std::uint16_t>(byte) : next++;
  return table;
}

constexpr std::array<std::int16_t, stand_in_count> make_stand_in_bytes() {
  std::array<std::int16_t, stand_in_count> table{};
  for (std::int16_t& byte : table) byte = -1;
  const auto stand_ins = make_stand_ins();
  for (std::size_t byte = 0; byte < 256; ++byte) table[stand_ins[byte]] = static_cast<std::int16_t>(byte);
  return table;
}

inline constexpr auto stand_ins = make_stand_ins();
inline constexpr auto stand_in_bytes = make_stand_in_bytes();

}  // namespace detail

/// Appends `bytes` to `text`, each as its stand-in: " the" gives "\u0120the".
inline void append_stand_ins(std::string& text, std::string_view bytes) {
  for (const char byte : bytes) {
    const unsigned code = detail::stand_ins[static_cast<unsigned char>(byte)];
    if (code < 0x80) {
      text += static_cast<char>(code);
    } else {
      text += static_cast<char>(0xc0 | (code >> 6));
      text += static_cast<char>(0x80 | (code & 0x3f));
    }
  }
}

/// Appends to `bytes` what the stand-ins in `text` stand for. Text with a character from outside the alphabet
/// stands for itself as a whole (as in the `tokenizers` library's byte-level decoder).
inline void append_bytes(std::string& bytes, std::string_view text) {
  const std::size_t before = bytes.size();
  for (std::size_t i = 0; i < text.size();) {
    std::size_t code = static_cast<unsigned char>(text[i++]);
    if (code >= 0x80) {  // the rest of the alphabet has two bytes of UTF-8, led by C2 to C5
      const bool two = code >= 0xc2 && code <= 0xc5 && i < text.size() && (text[i] & 0xc0) == 0x80;
      code =
          two ? (code & 0x1f) << 6 | (static_cast<unsigned char>(text[i++]) & 0x3f) : detail::stand_in_count;
    }
    if (code >= detail::stand_in_count || detail::stand_in_bytes[code] < 0) {
      bytes.resize(before);
      bytes += text;
      return;
    }
    bytes += static_cast<char>(detail::stand_in_bytes[code]);
  }
}

}  // namespace tenon::text
