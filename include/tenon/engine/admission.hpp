// What a request must be to be let in, and what is made of it then.
#pragma once

#include <sys/random.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tenon/core/concat.hpp"
#include "tenon/core/error.hpp"
#include "tenon/engine/request.hpp"
#include "tenon/sample/row.hpp"
#include "tenon/sample/validate.hpp"
#include "tenon/text/tokenizer.hpp"

namespace tenon {

/// The engine's limits on requests.
struct request_limits {
  std::size_t context = 0;        // positions of one sequence
  std::size_t vocabulary = 0;     // tokens that the tokenizer knows
  std::size_t longest_token = 0;  // in bytes

  bool knows(token_id token) const { return token >= 0 && static_cast<std::size_t>(token) < vocabulary; }

  /// Throws request_error for a prompt that no engine of these limits can read.
  [[gnu::cold]] void check_prompt(std::span<const token_id> prompt) const {
    if (prompt.empty()) throw request_error("the prompt is empty; give at least one token");
    if (prompt.size() > context) {
      throw request_error(concat("the prompt has ", prompt.size(), " tokens, but the context holds ", context,
                                 "; shorten it, or load the engine with a larger context"));
    }
    for (const token_id token : prompt) {
      if (!knows(token)) {
        throw request_error(
            concat("the prompt has the token ", token, ", but the vocabulary ends at ", vocabulary - 1));
      }
    }
  }
  /// The same for one that is to be answered.
  [[gnu::cold]] void check_request(std::span<const token_id> prompt,
                                   std::span<const token_id> stop_token_ids) const {
    check_prompt(prompt);
    if (prompt.size() == context) {
      throw request_error(concat("the prompt fills the context of ", context,
                                 " tokens, which leaves no room for an answer; shorten it"));
    }
    for (const token_id token : stop_token_ids) {
      if (!knows(token)) {
        throw request_error(
            concat("stop_token_ids has ", token, ", but the vocabulary ends at ", vocabulary - 1));
      }
    }
  }
};

/// The bytes of the longest token.
[[gnu::cold]] inline std::size_t longest_token(const text::tokenizer& tokenizer) {
  std::size_t longest = 0;
  for (std::size_t id = 0; id < tokenizer.size(); ++id)
    longest = (std::max)(longest, tokenizer.bytes(static_cast<token_id>(id)).size());
  return longest;
}

/// A seed for a request that brings none.
[[gnu::cold]] inline std::uint64_t random_seed() {
  std::uint64_t seed = 0;
  if (::getentropy(&seed, sizeof seed) != 0) {
    throw request_error("the system has no random numbers to give; set the request's seed");
  }
  return seed;
}

/// A request with all the memory it will need. Throws request_error for what is wrong with it.
template <class Params>
[[gnu::cold]] std::unique_ptr<active_request<Params>> admit(const request_limits& limits,
                                                            const text::tokenizer& tokenizer,
                                                            std::vector<token_id> prompt, Params params,
                                                            request_callbacks callbacks,
                                                            measure::clock::time_point arrival) {
  limits.check_request(prompt, params.stop_token_ids);
  sampling::validate(params);
  auto made = std::make_unique<active_request<Params>>();
  made->stops = text::stop_matcher(params.stop);
  made->prompt_size = prompt.size();
  made->sequence.limit =
      (std::min)(limits.context, prompt.size() + static_cast<std::size_t>(params.max_tokens));
  made->sequence.tokens = std::move(prompt);
  made->sequence.tokens.reserve(made->sequence.limit);
  made->sequence.priority = params.priority;
  made->sequence.client = params.client;
  if (!params.ignore_eos) {
    made->ends.assign(tokenizer.end_of_generation().begin(), tokenizer.end_of_generation().end());
  }
  made->ends.insert(made->ends.end(), params.stop_token_ids.begin(), params.stop_token_ids.end());
  if (made->ends.size() > sampling::most_end_tokens) {
    throw request_error(concat("stop_token_ids has ", params.stop_token_ids.size(),
                               " tokens; with the model's own end tokens a request has at most ",
                               sampling::most_end_tokens));
  }
  std::size_t longest_stop = 0;
  for (const std::string& stop : params.stop) longest_stop = (std::max)(longest_stop, stop.size());
  const std::size_t piece_bytes = 3 * (limits.longest_token + 4);  // each byte may become U+FFFD
  made->detokenizer.reserve(limits.longest_token);
  made->stops.reserve(piece_bytes);
  made->text.reserve(2 * (piece_bytes + longest_stop));
  made->seed = params.seed ? *params.seed : random_seed();
  made->params = std::move(params);
  made->callbacks = std::move(callbacks);
  if (made->params.timeout > 0)
    made->sequence.deadline = arrival + std::chrono::duration_cast<measure::clock::duration>(
                                            std::chrono::duration<double>(made->params.timeout));
  made->times.arrival = arrival;
  made->times.prompt_tokens = made->prompt_size;
  return made;
}

}  // namespace tenon
