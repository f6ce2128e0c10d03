// Replays a workload against an engine in the same process. One thread submits what is due and steps the engine, so a
// request that arrives while a step runs is submitted after it; its time runs from the arrival all the same.
#pragma once

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <tenon/core/concat.hpp>
#include <tenon/core/error.hpp>
#include <tenon/engine/result.hpp>
#include <tenon/measure/request_times.hpp>
#include <thread>
#include <utility>
#include <vector>

#include "serve/planned_request.hpp"

namespace serve {

using time_point = tenon::measure::clock::time_point;

/// What the driver asks of an engine; tenon::engine has it.
template <class E>
concept steppable = requires(E& engine, std::span<const tenon::token_id> prompt, typename E::params params,
                             time_point now) {
  engine.submit(prompt, std::move(params), tenon::request_callbacks{});
  engine.step();
  { engine.idle() } -> std::convertible_to<bool>;
  { engine.wake_at(now) } -> std::convertible_to<std::optional<time_point>>;
  { engine.context() } -> std::convertible_to<std::size_t>;
};

/// What the driver asks of a clock: steady_clock below, or one of a test.
template <class C>
concept sleeping_clock = requires(C& clock, time_point moment) {
  { clock.now() } -> std::same_as<time_point>;
  clock.sleep_until(moment);
};

struct steady_clock {
  time_point now() const { return tenon::measure::clock::now(); }
  void sleep_until(time_point moment) const { std::this_thread::sleep_until(moment); }
};

/// What became of a request.
struct request_record {
  time_point due;  // when the workload has it arrive
  tenon::measure::request_times
      times;  // its arrival is when it was sent: later than due where it had to wait for a place
  std::vector<time_point> deliveries;  // of its tokens
  std::string text;
  std::string error;  // why it failed; empty for one that completed

  bool completed() const { return error.empty(); }
};

/// One run of a workload. At most `max_concurrency` requests are in the engine (0: any number, an open loop): the next
/// is sent when it is due and one has ended.
template <steppable Engine, sleeping_clock Clock>
class driver {
 public:
  /// All of these outlive the driver. `prompts` has one for each request.
  driver(Engine& engine, Clock& clock, std::span<const planned_request> requests,
         std::span<const std::vector<tenon::token_id>> prompts, std::size_t max_concurrency)
      : engine_(engine),
        clock_(clock),
        requests_(requests),
        prompts_(prompts),
        records_(requests.size()),
        places_(max_concurrency == 0 ? requests.size() : (std::min)(max_concurrency, requests.size())) {}

  std::vector<request_record> run() && {
    start_ = clock_.now();
    free_since_.assign(places_, start_);
    while (ended_ < requests_.size()) {
      send_what_is_due();
      const time_point wake = next_wake();
      if (wake > clock_.now()) {
        clock_.sleep_until(wake);
      } else if (!engine_.idle()) {
        engine_.step();
      }
    }
    return std::move(records_);
  }

 private:
  bool can_send() const { return sent_ < requests_.size() && !free_since_.empty(); }
  time_point due(std::size_t i) const {
    return start_ + std::chrono::duration_cast<tenon::measure::clock::duration>(
                        std::chrono::duration<double>(requests_[i].arrival));
  }

  /// When there is something to do: the engine's next step, or a request to send.
  time_point next_wake() {
    const auto step = engine_.wake_at(clock_.now());
    if (!can_send()) return step.value_or(start_);
    return step ? (std::min)(*step, due(sent_)) : due(sent_);
  }

  void send_what_is_due() {
    while (can_send() && due(sent_) <= clock_.now()) send(sent_++);
  }

  void send(std::size_t i) {
    request_record& record = records_[i];
    record.due = due(i);
    record.times.arrival = (std::max)(record.due, free_since_.front());
    free_since_.pop_front();
    record.times.prompt_tokens = prompts_[i].size();
    record.deliveries.reserve(requests_[i].output_len);
    const std::size_t wanted = prompts_[i].size() + requests_[i].output_len;
    if (wanted > engine_.context()) {
      return end(record, tenon::concat("it takes ", wanted, " tokens, but the context holds ",
                                       engine_.context(), "; lower --length-scale"));
    }
    typename Engine::params params;
    params.max_tokens = static_cast<std::int32_t>(requests_[i].output_len);
    params.ignore_eos = true;
    try {
      engine_.submit(prompts_[i], std::move(params),
                     {.on_piece = [this, &record](const tenon::piece&) { deliver(record); },
                      .on_finish =
                          [this, &record](const tenon::request_result& result) {
                            record.text = result.text;
                            record.times.scheduled = result.times.scheduled;
                            end(record, result.finish == tenon::finish_reason::length ? "" : fault(result));
                          }});
    } catch (const tenon::request_error& refused) {
      end(record, refused.what());
    }
  }

  void deliver(request_record& record) {
    record.deliveries.push_back(clock_.now());
    record.times.deliver(record.deliveries.back());
  }

  void end(request_record& record, std::string error) {
    record.error = std::move(error);
    ++ended_;
    free_since_.push_back(clock_.now());
  }

  static std::string fault(const tenon::request_result& result) {
    return result.error.empty() ? tenon::concat("it ended by ", to_string(result.finish)) : result.error;
  }

  Engine& engine_;
  Clock& clock_;
  std::span<const planned_request> requests_;
  std::span<const std::vector<tenon::token_id>> prompts_;
  std::vector<request_record> records_;
  std::size_t places_;
  std::deque<time_point> free_since_;  // of the places that are free, ascending
  time_point start_;
  std::size_t sent_ = 0, ended_ = 0;
};

}  // namespace serve
