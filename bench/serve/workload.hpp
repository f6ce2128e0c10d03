// A workload: requests with their arrivals and lengths, and the tokens of their prompts. The same for a seed,
// on every machine.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <tenon/core/types.hpp>
#include <vector>

#include "serve/lengths.hpp"
#include "serve/planned_request.hpp"
#include "serve/random_stream.hpp"
#include "serve/text.hpp"

namespace serve {

/// How lengths that were drawn or recorded become those of a request.
struct length_fit {
  double scale = 1;            // to a smaller world; a length is at least 1
  std::size_t prefix_len = 0;  // tokens before each prompt, the same for all, that are not scaled

  planned_request request(double arrival, double input, double output) const {
    return {arrival, prefix_len + scaled(input), scaled(output)};
  }

 private:
  std::size_t scaled(double length) const {
    return static_cast<std::size_t>(
        std::clamp(std::round(length * scale), 1.0, static_cast<double>(longest_length)));
  }
};

/// Requests of these arrivals, with lengths of the model.
inline std::vector<planned_request> plan_requests(std::span<const double> arrivals,
                                                  const length_model& lengths, const length_fit& fit,
                                                  std::uint64_t seed) {
  random_stream input(seed, purpose::input_lengths), output(seed, purpose::output_lengths);
  std::vector<planned_request> requests;
  for (const double arrival : arrivals)
    requests.push_back(
        fit.request(arrival, lengths.input.at(input.uniform()), lengths.output.at(output.uniform())));
  return requests;
}

/// The first `count` requests of a trace; the first one arrives at 0.
inline std::vector<planned_request> cut_trace(std::span<const planned_request> trace, std::size_t count,
                                              const length_fit& fit) {
  std::vector<planned_request> requests;
  for (const planned_request& r : trace.first((std::min)(count, trace.size())))
    requests.push_back(fit.request(r.arrival - trace.front().arrival, static_cast<double>(r.input_len),
                                   static_cast<double>(r.output_len)));
  return requests;
}

/// Tokens without a meaning.
inline std::vector<tenon::token_id> random_tokens(std::size_t count, std::size_t vocabulary,
                                                  random_stream random) {
  std::vector<tenon::token_id> tokens(count);
  for (tenon::token_id& token : tokens) token = static_cast<tenon::token_id>(random.below(vocabulary));
  return tokens;
}

/// A prompt for each request. The first `prefix_len` tokens are the same in all.
inline std::vector<std::vector<tenon::token_id>> make_prompts(std::span<const planned_request> requests,
                                                              std::size_t prefix_len, std::size_t vocabulary,
                                                              std::uint64_t seed) {
  const auto prefix = random_tokens(prefix_len, vocabulary, random_stream(seed, purpose::prefix));
  std::vector<std::vector<tenon::token_id>> prompts;
  for (const planned_request& request : requests) {
    const random_stream own(seed, purpose::prompts, static_cast<std::uint32_t>(prompts.size()));
    prompts.push_back(random_tokens(request.input_len, vocabulary, own));
    std::copy_n(prefix.begin(), (std::min)(prefix_len, request.input_len), prompts.back().begin());
  }
  return prompts;
}

}  // namespace serve
