#include "serve/drive.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

using namespace serve;
using std::chrono::milliseconds;
using tenon::measure::seconds;

namespace {

/// Time that passes only where the engine works and the driver sleeps.
struct virtual_clock {
  time_point moment{std::chrono::hours(1)};
  time_point now() const { return moment; }
  void sleep_until(time_point wake) { moment = (std::max)(moment, wake); }
};

/// Gives each of its requests a token in every step of 10 ms, the first one after `prefill` steps.
class fake_engine {
 public:
  struct params {
    std::int32_t max_tokens = 0;
    bool ignore_eos = false;
  };

  explicit fake_engine(virtual_clock& clock, int prefill = 1) : clock_(clock), prefill_(prefill) {}

  void submit(std::span<const tenon::token_id> prompt, params request, tenon::request_callbacks callbacks) {
    if (prompt[0] == refused) throw tenon::request_error("not this one");
    BOOST_TEST(request.ignore_eos);
    sequences_.push_back({prompt[0], request.max_tokens, prefill_, clock_.now(), std::move(callbacks)});
    most_ = (std::max)(most_, sequences_.size());
  }

  bool step() {
    clock_.moment += milliseconds(10);
    for (std::size_t i = 0; i < sequences_.size();) {
      sequence& s = sequences_[i];
      if (--s.steps_left < 1) {
        s.callbacks.on_piece({});
        --s.tokens_left;
      }
      if (s.tokens_left > 0 && s.first != faulty) {
        ++i;
        continue;
      }
      tenon::request_result result;
      result.finish = s.first == faulty ? tenon::finish_reason::error : tenon::finish_reason::length;
      result.error = s.first == faulty ? "it broke" : "";
      result.text = "text " + std::to_string(s.first);
      result.times.scheduled = s.submitted;
      const auto callbacks = std::move(s.callbacks);
      sequences_.erase(sequences_.begin() + static_cast<std::ptrdiff_t>(i));
      callbacks.on_finish(result);
    }
    return true;
  }

  bool idle() const { return sequences_.empty(); }
  std::optional<time_point> wake_at(time_point now) const {
    return idle() ? std::nullopt : std::optional((std::max)(now, not_before));
  }
  std::size_t context() const { return 100; }
  std::size_t most() const { return most_; }

  static constexpr tenon::token_id refused = 1000, faulty = 2000;
  time_point not_before = time_point::min();

 private:
  struct sequence {
    tenon::token_id first;
    std::int32_t tokens_left;
    int steps_left;
    time_point submitted;
    tenon::request_callbacks callbacks;
  };
  virtual_clock& clock_;
  int prefill_;
  std::vector<sequence> sequences_;
  std::size_t most_ = 0;
};

std::vector<std::vector<tenon::token_id>> prompts_for(const std::vector<planned_request>& requests) {
  std::vector<std::vector<tenon::token_id>> prompts;
  for (const planned_request& r : requests)
    prompts.emplace_back(r.input_len, static_cast<tenon::token_id>(prompts.size()));
  return prompts;
}

std::vector<request_record> replay(const std::vector<planned_request>& requests) {
  virtual_clock clock;
  fake_engine engine(clock);
  return driver(engine, clock, requests, prompts_for(requests), 0).run();
}

bool near(double a, double b) { return std::abs(a - b) < 1e-9; }

}  // namespace

BOOST_AUTO_TEST_SUITE(drive)

BOOST_AUTO_TEST_CASE(a_request_alone_has_the_engines_times) {
  const auto records = replay({{0.5, 3, 4}});
  BOOST_TEST(records.size() == 1u);
  const auto& r = records[0];
  BOOST_TEST(r.completed());
  BOOST_TEST(r.text == "text 0");
  BOOST_TEST(r.times.prompt_tokens == 3u);
  BOOST_TEST(r.times.tokens == 4u);
  BOOST_TEST(near(r.times.ttft(), 0.01));
  BOOST_TEST(near(r.times.tpot(), 0.01));
  BOOST_TEST(near(r.times.queue(), 0));
  BOOST_TEST(r.deliveries.size() == 4u);
}

// The second arrives 5 ms into a step, is submitted at its end, and has its token after the next: 15 ms, not 10.
BOOST_AUTO_TEST_CASE(a_request_that_arrives_during_a_step_is_timed_from_its_arrival) {
  const auto records = replay({{0, 1, 3}, {0.005, 1, 1}});
  BOOST_TEST(near(records[1].times.ttft(), 0.015));
  BOOST_TEST(near(records[1].times.queue(), 0.005));
  BOOST_TEST(near(seconds(records[0].due, records[1].due), 0.005));
  BOOST_TEST(near(seconds(records[0].times.last_token, records[1].times.last_token), -0.01));
}

BOOST_AUTO_TEST_CASE(the_driver_sleeps_until_the_next_arrival_and_until_the_engine_wants_to_be_woken) {
  const auto apart = replay({{0, 1, 1}, {10, 1, 1}});
  BOOST_TEST(near(seconds(apart[0].due, apart[1].times.last_token), 10.01));

  virtual_clock clock;
  fake_engine engine(clock);
  engine.not_before = clock.now() + milliseconds(50);
  const std::vector<planned_request> requests = {{0, 1, 1}, {0.02, 1, 1}};
  const auto gathered = driver(engine, clock, requests, prompts_for(requests), 0).run();
  BOOST_TEST(near(gathered[0].times.ttft(), 0.06));
  BOOST_TEST(near(gathered[1].times.ttft(), 0.04));  // it was let in while the first one waited
}

BOOST_AUTO_TEST_CASE(an_open_loop_sends_all_that_is_due) {
  const std::vector<planned_request> requests(9, {0, 1, 5});
  virtual_clock clock;
  fake_engine engine(clock);
  const auto records = driver(engine, clock, requests, prompts_for(requests), 0).run();
  BOOST_TEST(engine.most() == 9u);
  for (const auto& r : records) BOOST_TEST(near(r.times.e2e(), 0.05));
}

// Two places, four requests at once, of 20, 40, 10 and 10 ms: the third is sent when the first has ended, the fourth when
// the third has.
BOOST_AUTO_TEST_CASE(a_closed_loop_sends_when_a_place_is_free_and_times_from_then) {
  const std::vector<planned_request> requests = {{0, 1, 2}, {0, 1, 4}, {0, 1, 1}, {0, 1, 1}, {1, 1, 1}};
  virtual_clock clock;
  fake_engine engine(clock);
  const auto records = driver(engine, clock, requests, prompts_for(requests), 2).run();
  BOOST_TEST(engine.most() == 2u);
  const double sent[] = {0, 0, 0.02, 0.03, 1};
  for (std::size_t i = 0; i < records.size(); ++i)
    BOOST_TEST(near(seconds(records[0].due, records[i].times.arrival), sent[i]));
  BOOST_TEST(near(seconds(records[3].due, records[3].times.arrival), 0.03));
  BOOST_TEST(near(records[3].times.ttft(), 0.01));
  BOOST_CHECK(records[4].times.arrival == records[4].due);  // places were free before it was due
}

BOOST_AUTO_TEST_CASE(a_request_that_fails_costs_no_other) {
  virtual_clock clock;
  fake_engine engine(clock);
  const std::vector<planned_request> requests = {{0, 1, 3}, {0, 1, 3}, {0, 1, 3}, {0, 60, 41}, {0, 60, 40}};
  auto prompts = prompts_for(requests);
  prompts[0][0] = fake_engine::refused;
  prompts[1][0] = fake_engine::faulty;
  const auto records = driver(engine, clock, requests, prompts, 1).run();
  BOOST_TEST(records[0].error == "not this one");
  BOOST_TEST(records[1].error == "it broke");
  BOOST_TEST(records[2].completed());
  BOOST_TEST(records[2].times.tokens == 3u);
  BOOST_TEST(records[3].error == "it takes 101 tokens, but the context holds 100; lower --length-scale");
  BOOST_TEST(records[4].completed());
}

BOOST_AUTO_TEST_SUITE_END()
