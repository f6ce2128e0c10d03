// Stop strings over streamed text. A stop string may lie across any number of pieces, so text that may be the
// begin of one is held back until it is known not to be; nothing else is ever held.
#pragma once

#include "tenon/core/error.hpp"
#include "tenon/text/utf8.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tenon::text {

/// Finds the first of several strings in text that comes in pieces. The earliest place in the text wins,
/// whatever the order of the stop strings and wherever the pieces are cut; the text ends before it. Only text
/// given to push() can match, so a stop string in the prompt, or one that begins there, does not count.
///
/// One Knuth-Morris-Pratt automaton per stop string: the work per byte is constant (amortised) for each of
/// them.
class stop_matcher {
 public:
  stop_matcher() = default;

  /// An empty stop string, or one that is not valid UTF-8 and so can never be in the text, is a
  /// request_error.
  [[gnu::cold]] explicit stop_matcher(const std::vector<std::string>& stops) {
    for (const std::string& stop : stops) add(stop);
  }

  /// Makes room, so that push() of up to `piece_bytes` bytes does not allocate.
  void reserve(std::size_t piece_bytes) { buffer_.reserve(longest_ + piece_bytes); }

  /// Takes the next piece of text and returns what may be sent now: all text but the longest tail that may
  /// begin a stop string. Empty once a stop string was found. The view is valid until the next call.
  std::string_view push(std::string_view piece) {
    buffer_.erase(0, sent_);
    sent_ = 0;
    if (matched()) return {};
    std::size_t undecided = 0;  // what is in the buffer now is there because it may begin a stop string
    std::size_t seen = buffer_.size();
    buffer_.append(piece);
    while (seen < buffer_.size()) {
      const char byte = buffer_[seen++];
      undecided = step(byte, seen);
      if (found_ <= undecided) return end(found_);
    }
    sent_ = undecided;
    if (found_ != none) found_ -= sent_;
    return std::string_view(buffer_).substr(0, sent_);
  }

  /// Ends the stream: returns the text that was held back, up to a stop string if one was complete in it.
  std::string_view finish() {
    buffer_.erase(0, sent_);
    sent_ = 0;
    if (matched()) return {};
    if (found_ != none) return end(found_);
    sent_ = buffer_.size();
    return buffer_;
  }

  /// Whether a stop string was found. Text pushed afterwards is ignored.
  bool matched() const { return matched_; }
  /// Which stop string it was, as an index into the list given. Only meaningful when matched().
  std::size_t matched_index() const { return found_index_; }
  /// Bytes held back at the moment.
  std::size_t held() const { return buffer_.size() - sent_; }

  /// Forgets the text, keeps the stop strings and the reserved room: ready for another stream.
  void reset() {
    buffer_.clear();
    sent_ = 0;
    found_ = none;
    matched_ = false;
    for (automaton& stop : stops_) stop.state = 0;
  }

 private:
  static constexpr std::size_t none = (std::numeric_limits<std::size_t>::max)();

  struct automaton {
    std::string text;
    std::vector<std::size_t>
        border;             // border[i]: longest proper prefix of text[0, i) that is also its suffix
    std::size_t state = 0;  // how much of `text` the text seen so far ends in
  };

  [[gnu::cold]] void add(const std::string& stop) {
    if (stop.empty()) throw request_error("a stop string is empty: it would stop at once; leave it out");
    if (valid_utf8_prefix(stop) != stop.size())
      throw request_error(
          "a stop string is not valid UTF-8 and can never occur in the text; check its encoding");
    automaton added{stop, std::vector<std::size_t>(stop.size() + 1, 0), 0};
    for (std::size_t i = 1, k = 0; i < stop.size(); ++i) {
      while (k != 0 && stop[i] != stop[k]) k = added.border[k];
      if (stop[i] == stop[k]) ++k;
      added.border[i + 1] = k;
    }
    longest_ = (std::max)(longest_, stop.size());
    stops_.push_back(std::move(added));
  }

  // Reads one byte, after which `seen` bytes of the buffer are read. Notes the earliest complete stop string
  // in found_, and returns where the earliest one begins that more text may complete (`seen` if there is
  // none).
  std::size_t step(char byte, std::size_t seen) {
    std::size_t open = 0;
    for (std::size_t i = 0; i < stops_.size(); ++i) {
      automaton& stop = stops_[i];
      while (stop.state != 0 && byte != stop.text[stop.state]) stop.state = stop.border[stop.state];
      if (byte == stop.text[stop.state]) ++stop.state;
      if (stop.state == stop.text.size()) {
        const std::size_t begin = seen - stop.text.size();
        if (begin < found_) found_ = begin, found_index_ = i;
        stop.state = stop.border[stop.state];
      }
      open = (std::max)(open, stop.state);
    }
    return seen - open;
  }

  // The text ends at `place` of the buffer.
  std::string_view end(std::size_t place) {
    matched_ = true;
    buffer_.resize(place);
    sent_ = place;
    return buffer_;
  }

  std::vector<automaton> stops_;
  std::size_t longest_ = 0;
  std::string buffer_;  // text that was not sent, after the sent_ bytes that the last call returned
  std::size_t sent_ = 0;
  std::size_t found_ = none;  // where the earliest complete stop string begins in buffer_
  std::size_t found_index_ = 0;
  bool matched_ = false;
};

}  // namespace tenon::text
