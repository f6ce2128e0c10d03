// What comes out of an engine: pieces of text while a request runs, and the whole at its end.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/core/types.hpp"
#include "tenon/measure/request_times.hpp"
#include "tenon/schedule/sequence.hpp"

namespace tenon {

/// Why a request ended.
enum class finish_reason {
  none,       // it runs
  stop,       // an end-of-generation token, a stop token or a stop string
  length,     // max_tokens, or the context is full
  cancelled,  // by cancel()
  timeout,    // its timeout has passed
  error,      // see request_result::error
};

/// The field's names: "stop", "length"; empty for none.
constexpr std::string_view to_string(finish_reason reason) {
  switch (reason) {
    case finish_reason::stop:
      return "stop";
    case finish_reason::length:
      return "length";
    case finish_reason::cancelled:
      return "cancelled";
    case finish_reason::timeout:
      return "timeout";
    case finish_reason::error:
      return "error";
    case finish_reason::none:
      break;
  }
  return "";
}

/// One token's share of a request's text. `text` is whole characters of valid UTF-8, may be empty (a
/// character or a stop string may be incomplete), and is valid until the engine's next step.
struct piece {
  request_id id = 0;
  token_id token = 0;
  std::string_view text;
  finish_reason finish = finish_reason::none;
};

/// A request that has ended.
struct request_result {
  request_id id = 0;
  std::vector<token_id> tokens = {};  // generated, with the token that ended it
  std::string text = {};              // all that was streamed
  finish_reason finish = finish_reason::none;
  std::string error = {};  // what was wrong, when finish is error
  measure::request_times times = {};
};

/// Called by the engine's step, on the thread that calls it. They may submit and cancel; they must
/// neither step nor throw.
struct request_callbacks {
  std::function<void(const piece&)> on_piece = {};
  /// With it, the engine keeps no result for take().
  std::function<void(const request_result&)> on_finish = {};
};

/// Called by score(): the logits [vocabulary] after token i, valid during the call. No template parameter, so
/// that an engine that was compiled elsewhere is not compiled again for each caller.
using score_callback = std::function<void(std::size_t i, std::span<const float> logits)>;

}  // namespace tenon
