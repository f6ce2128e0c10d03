// What a server measures over all of its requests, by vLLM's definitions. It is told of events, and reads no clock.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tenon/measure/histogram.hpp"
#include "tenon/measure/request_times.hpp"

namespace tenon::measure {

/// How a request ended, in vLLM's words.
enum class ending : std::uint8_t { stop, length, abort, error };
inline constexpr std::array<std::string_view, 4> ending_names = {"stop", "length", "abort", "error"};

/// What a request asked for.
struct request_shape {
  std::size_t samples = 1;
  std::size_t max_tokens = 0;
};

/// Recording does not allocate.
class serving_metrics {
 public:
  /// `longest`: tokens of the longest request, for the buckets of lengths.
  explicit serving_metrics(std::size_t longest = 131072)
      : prompt_length(length_buckets(longest)),
        generation_length(length_buckets(longest)),
        max_tokens(length_buckets(longest)) {}

  /// A step has been run.
  void step(std::size_t tokens) { step_tokens.observe(static_cast<double>(tokens)); }

  /// Tokens of a request are handed to the caller: one, or several that one step gave. Notes them in `times`.
  void deliver(request_times& times, clock::time_point now, std::size_t count = 1) {
    if (times.tokens == 0) {
      ttft.observe(seconds(times.arrival, now));
      prompt_tokens += times.prompt_tokens;
    } else {
      const double gap = seconds(times.last_token, now);
      inter_token.observe(gap);
      inter_token_share.observe(gap / static_cast<double>(count), count);
    }
    times.deliver(now, count);
    generation_tokens += count;
  }

  /// A request has ended. Without a token it counts in `endings` alone.
  void finish(const request_times& times, ending how, const request_shape& asked = {}) {
    ++endings[static_cast<std::size_t>(how)];
    if (times.tokens == 0) return;
    e2e.observe(times.e2e());
    queue.observe(times.queue());
    prefill.observe(times.prefill());
    decode.observe(times.decode());
    inference.observe(times.inference());
    if (times.tokens > 1) tpot.observe(times.tpot());
    prompt_length.observe(static_cast<double>(times.prompt_tokens));
    generation_length.observe(static_cast<double>(times.tokens));
    samples.observe(static_cast<double>(asked.samples));
    max_tokens.observe(static_cast<double>(asked.max_tokens));
  }

  // Seconds.
  histogram ttft{ttft_buckets};
  histogram inter_token{token_buckets};  // from one delivery to the next, over all requests
  histogram inter_token_share{
      token_buckets};             // the same by tokens: a gap before k tokens is k gaps of its k-th part
  histogram tpot{token_buckets};  // one for each request of two tokens or more
  histogram e2e{request_buckets};
  histogram queue{request_buckets};
  histogram prefill{request_buckets};
  histogram decode{request_buckets};
  histogram inference{request_buckets};
  // Tokens.
  histogram prompt_length;
  histogram generation_length;
  histogram max_tokens;
  histogram step_tokens{step_token_buckets};
  histogram samples{sample_buckets};
  std::uint64_t prompt_tokens = 0;
  std::uint64_t generation_tokens = 0;
  std::array<std::uint64_t, 4> endings = {};  // by measure::ending
};

}  // namespace tenon::measure
