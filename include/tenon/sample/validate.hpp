// Checks a request's parameters before anything runs for it.
#pragma once

#include <cstdint>
#include <string>

#include "tenon/core/concat.hpp"
#include "tenon/core/error.hpp"
#include "tenon/sample/params.hpp"

namespace tenon::sampling {

/// Most answers to one request, so that a slip of a client's cannot fill the memory.
inline constexpr std::int32_t most_samples = 1024;

/// Throws request_error when a parameter is out of its range: the message names the field, its value and the
/// range. What depends on the model (context length, vocabulary) is the engine's to check.
template <class Policy>
[[gnu::cold]] void validate(const params<Policy>& request) {
  if constexpr (requires { Policy::validate(request); }) Policy::validate(request);
  const auto refuse = [](const char* name, long long value, const std::string& why) {
    throw request_error(concat(name, " is ", value, ": ", why));
  };
  if (request.max_tokens < 1) refuse("max_tokens", request.max_tokens, "it must be 1 or more");
  if (request.min_tokens < 0) refuse("min_tokens", request.min_tokens, "it must be 0 or more");
  if (request.min_tokens > request.max_tokens) {
    refuse("min_tokens", request.min_tokens,
           concat("it must be at most max_tokens, which is ", request.max_tokens));
  }
  if (request.n < 1 || request.n > most_samples)
    refuse("n", request.n, concat("it must be from 1 to ", most_samples));
  if (!(request.timeout >= 0 && request.timeout <= 1e9))
    throw request_error(
        concat("timeout is ", std::to_string(request.timeout), ": it must be from 0 to 1e9 seconds"));
  for (const std::string& stop : request.stop) {
    if (stop.empty())
      throw request_error("stop has an empty string, which every text contains; leave it out");
  }
  for (const token_id id : request.stop_token_ids) {
    if (id < 0) refuse("stop_token_ids", id, "token ids are 0 or more");
  }
}

}  // namespace tenon::sampling
