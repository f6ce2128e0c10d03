// When things happened to a request, and the field's metrics from that. All times are of one monotonic clock.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>

namespace tenon::measure {

using clock = std::chrono::steady_clock;

/// Seconds from one moment to another.
inline double seconds(clock::time_point from, clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

/// The events of one request. `tokens` counts the output tokens handed to the caller so far.
struct request_times {
  clock::time_point arrival;  // before tokenising
  clock::time_point queued;   // after it; no earlier than the arrival, which stands for it when it is not set
  clock::time_point scheduled;    // began to run; the last time before its first token
  clock::time_point first_token;  // handed to the caller
  clock::time_point last_token;
  std::size_t prompt_tokens = 0;
  std::size_t tokens = 0;

  /// Notes that tokens were handed to the caller: one, or several that one step gave.
  void deliver(clock::time_point now, std::size_t count = 1) {
    if (tokens == 0) first_token = now;
    last_token = now;
    tokens += count;
  }

  /// Time to first token: queue, tokenising, prefill and the first sample. 0 without a token.
  double ttft() const { return tokens > 0 ? seconds(arrival, first_token) : 0.0; }
  /// Time per output token after the first. 0 with fewer than two tokens.
  double tpot() const {
    return tokens > 1 ? seconds(first_token, last_token) / static_cast<double>(tokens - 1) : 0.0;
  }
  /// End-to-end latency; equals ttft() + tpot() * (tokens - 1), and tokenise() + queue() + inference().
  double e2e() const { return tokens > 0 ? seconds(arrival, last_token) : 0.0; }
  double tokenise() const { return seconds(arrival, since()); }
  /// The wait before its steps. What had to leave before its first token has waited up to its return.
  double queue() const { return seconds(since(), scheduled); }
  /// From then to the first token.
  double prefill() const { return tokens > 0 ? seconds(scheduled, first_token) : 0.0; }
  /// From the first token to the last. Having to leave in between makes it longer.
  double decode() const { return tokens > 0 ? seconds(first_token, last_token) : 0.0; }
  double inference() const { return tokens > 0 ? seconds(scheduled, last_token) : 0.0; }

 private:
  clock::time_point since() const { return (std::max)(arrival, queued); }
};

}  // namespace tenon::measure
