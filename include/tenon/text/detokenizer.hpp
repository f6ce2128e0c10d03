// The streaming detokenizer: bytes of successive tokens in, text out. A token is bytes, not text: a character
// may lie in two or three tokens, so only the running byte string can be decoded.
#pragma once

#include "tenon/text/utf8.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace tenon::text {

/// Turns a stream of bytes into valid UTF-8. Every character goes out as soon as its last byte is there;
/// bytes that are no UTF-8 become U+FFFD, one per maximal subpart, so the joined text is the same however the
/// stream was cut.
class detokenizer {
 public:
  detokenizer() = default;

  /// Makes room, so that push() of up to `piece_bytes` bytes does not allocate.
  void reserve(std::size_t piece_bytes) { text_.reserve((piece_bytes + 3) * replacement_character.size()); }

  /// Takes the bytes of the next token and returns all text that is complete now. Valid until the next call.
  std::string_view push(std::string_view bytes) {
    text_.clear();
    for (const char byte : bytes) {
      pending_[held_++] = byte;
      emit_complete();
    }
    return text_;
  }

  /// Ends the stream: a character that was cut off becomes one U+FFFD. The object is then as new.
  std::string_view finish() {
    text_.clear();
    if (held_ != 0) text_ += replacement_character;
    held_ = 0;
    return text_;
  }

  /// Bytes that wait for the rest of their character: 0 to 3.
  std::size_t held() const { return held_; }

 private:
  void emit_complete() {
    while (held_ != 0) {
      const utf8_unit unit = next_utf8({pending_, held_});
      if (unit.what == utf8_unit::kind::cut) return;
      if (unit.what == utf8_unit::kind::whole) text_.append(pending_, unit.length);
      else text_ += replacement_character;
      held_ -= unit.length;
      for (std::size_t i = 0; i < held_; ++i) pending_[i] = pending_[i + unit.length];
    }
  }

  std::string text_;
  char pending_[4] = {};
  std::size_t held_ = 0;
};

/// `bytes` as valid UTF-8: what a detokenizer makes of them in one piece.
inline std::string to_utf8(std::string_view bytes) {
  detokenizer stream;
  std::string text{stream.push(bytes)};
  text += stream.finish();
  return text;
}

}  // namespace tenon::text
