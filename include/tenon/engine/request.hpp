// A request inside an engine: its sequence, its parameters and the text that it has produced.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/engine/result.hpp"
#include "tenon/sample/params.hpp"
#include "tenon/text/detokenizer.hpp"
#include "tenon/text/stop_matcher.hpp"
#include "tenon/text/tokenizer.hpp"

namespace tenon {

/// Everything about one request. Its buffers are sized when it is made: a decode step does not allocate.
template <class Params>
struct active_request {
  schedule::sequence sequence;
  Params params;
  std::uint64_t seed = 0;
  std::size_t prompt_size = 0;
  std::vector<token_id> ends;  // tokens that end it
  request_callbacks callbacks;
  text::detokenizer detokenizer;
  text::stop_matcher stops;
  std::string text;            // of the last piece
  std::size_t text_bytes = 0;  // of all pieces
  finish_reason finish = finish_reason::none;
  std::string error;
  measure::request_times times;

  std::size_t generated() const { return sequence.tokens.size() - prompt_size; }

  /// Tokens that may not be drawn now.
  std::span<const token_id> banned() const {
    return generated() < static_cast<std::size_t>(params.min_tokens) ? std::span<const token_id>(ends)
                                                                     : std::span<const token_id>();
  }

  /// Takes the next token: extends the sequence and the text, and decides whether the request has ended.
  void accept(token_id token, const text::tokenizer& tokenizer) {
    sequence.tokens.push_back(token);
    text.clear();
    const bool ended = std::find(ends.begin(), ends.end(), token) != ends.end();
    if (ended) finish = finish_reason::stop;
    if (!ended && !tokenizer.is_control(token)) {
      text += stops.push(detokenizer.push(tokenizer.bytes(token)));
      if (stops.matched()) finish = finish_reason::stop;
    }
    if (finish == finish_reason::none && sequence.tokens.size() >= sequence.limit)
      finish = finish_reason::length;
    if (finish != finish_reason::none && !stops.matched()) {
      text += stops.push(detokenizer.finish());
      if (!stops.matched()) text += stops.finish();
      if (stops.matched()) finish = finish_reason::stop;
    }
    text_bytes += text.size();
  }

  piece current_piece() const { return {sequence.id, sequence.tokens.back(), text, finish}; }

  /// The result of a request that has ended.
  request_result result(const text::tokenizer& tokenizer) const {
    request_result made;
    made.id = sequence.id;
    made.tokens.assign(sequence.tokens.begin() + static_cast<std::ptrdiff_t>(prompt_size),
                       sequence.tokens.end());
    // The same text again, all at once; what a stop string cut off is cut off by its length.
    std::vector<token_id> shown = made.tokens;
    if (!shown.empty() && std::find(ends.begin(), ends.end(), shown.back()) != ends.end()) shown.pop_back();
    made.text = text::to_utf8(tokenizer.decode(shown)).substr(0, text_bytes);
    made.finish = finish;
    made.error = error;
    made.times = times;
    return made;
  }
};

}  // namespace tenon
