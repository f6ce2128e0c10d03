// The scheduler by itself, over random traffic: a small engine without a model runs its plans and checks each
// of them.
#include <tenon/schedule/static_scheduler.hpp>

#include <rapidcheck.h>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace {

using tenon::scheduled_sequence;
using tenon::sequence_span;
using tenon::step_plan;
using tenon::token_id;

/// A sequence and how it has been served.
struct client {
  scheduled_sequence sequence;
  std::size_t wanted = 1;  // tokens to generate
  std::size_t generated = 0;
  std::size_t served_steps = 0;
  bool running = false, ended = false;
};

/// What an engine does with a scheduler. fault() is empty as long as every plan was right.
class driver {
 public:
  driver(std::size_t max_batch, std::size_t max_tokens)
      : max_batch_(max_batch), max_tokens_(max_tokens), scheduler_(max_batch, max_tokens) {}

  client& submit(std::size_t prompt, std::size_t wanted) {
    auto made = std::make_unique<client>();
    made->sequence.id = clients_.size() + 1;
    for (std::size_t i = 0; i < prompt; ++i) made->sequence.tokens.push_back(next_token_++);
    made->wanted = wanted;
    scheduler_.add(made->sequence);
    waiting_.push_back(made.get());
    clients_.push_back(std::move(made));
    return *clients_.back();
  }

  void cancel(client& c) {
    if (c.ended) return;
    expect(scheduler_.remove(c.sequence) == c.running, "remove() says whether it ran");
    std::erase(waiting_, &c);
    end(c);
  }

  bool step() {
    gather();
    if (scheduler_.idle()) return false;
    const step_plan& plan = scheduler_.plan();
    check(plan);
    scheduler_.commit();
    generate(plan);
    return true;
  }

  const std::vector<std::unique_ptr<client>>& clients() const { return clients_; }
  tenon::static_scheduler& scheduler() { return scheduler_; }
  const std::string& fault() const { return fault_; }

 private:
  void expect(bool holds, const std::string& what) {
    if (!holds && fault_.empty()) fault_ = what;
  }

  void gather() {
    const bool may = running_ == 0;
    scheduler_.gather([&](scheduled_sequence& sequence) {
      client& c = of(sequence);
      expect(may, "nothing is gathered before the batch has ended");
      expect(!waiting_.empty() && waiting_.front() == &c, "first come, first served");
      expect(slots_.insert(sequence.slot).second && sequence.slot < max_batch_, "each has its own slot");
      waiting_.pop_front();
      c.running = true;
      ++running_;
      return true;
    });
    expect(running_ <= max_batch_, "the batch has its limit");
    expect(!may || running_ == max_batch_ || waiting_.empty(), "a batch is filled while any wait");
  }

  void check(const step_plan& plan) {
    const auto owners = scheduler_.span_owners();
    expect(!plan.tokens.empty() && plan.tokens.size() <= max_tokens_, "a step has tokens, within its limit");
    expect(plan.tokens.size() == plan.positions.size(), "every token has a position");
    expect(plan.spans.size() == owners.size(), "every span has an owner");
    std::set<const void*> seen;
    std::size_t row = 0, sampled = 0;
    bool prompts_began = false;
    for (std::size_t s = 0; s < plan.spans.size(); ++s) {
      const sequence_span& span = plan.spans[s];
      const scheduled_sequence& sequence = *owners[s];
      expect(seen.insert(&sequence).second, "no sequence is in a step twice");
      expect(of(sequence).running, "only what was gathered runs");
      expect(span.first_row == row && span.count > 0, "spans follow one another");
      expect(span.slot == sequence.slot, "a span is in its sequence's slot");
      expect(span.first_position == sequence.computed, "a span goes on where the last ended");
      const bool decodes = sequence.tokens.size() - sequence.computed == 1;
      expect(!(decodes && prompts_began), "decodes come before prompts");
      prompts_began = prompts_began || !decodes;
      for (std::size_t i = 0; i < span.count; ++i, ++row) {
        expect(plan.positions[row] == sequence.computed + i, "positions follow one another");
        expect(plan.tokens[row] == sequence.tokens[sequence.computed + i], "tokens are the sequence's");
        expect(plan.span_of(row) == s, "span_of finds the span of a row");
      }
      if (sequence.computed + span.count == sequence.tokens.size()) {
        expect(sampled < plan.sampled_rows.size() && plan.sampled_rows[sampled] == row - 1,
               "the last token of a whole sequence is sampled");
        ++sampled;
      }
    }
    expect(row == plan.tokens.size() && sampled == plan.sampled_rows.size(), "nothing else is planned");
    std::size_t decoding = 0;
    for (const auto& c : clients_) {
      if (!c->running || c->sequence.tokens.size() - c->sequence.computed != 1) continue;
      ++decoding;
      expect(seen.count(&c->sequence) != 0 || plan.tokens.size() == max_tokens_, "every decode is served");
    }
    expect(plan.tokens.size() == max_tokens_ || seen.size() == running_, "room is left only if all have run");
  }

  void generate(const step_plan& plan) {
    const auto owners = scheduler_.span_owners();
    std::vector<client*> sampled;
    for (const std::size_t row : plan.sampled_rows) sampled.push_back(&of(*owners[plan.span_of(row)]));
    for (client* c : sampled) {
      expect(c->sequence.computed == c->sequence.tokens.size(), "commit() counts what was computed");
      c->sequence.tokens.push_back(next_token_++);
      if (++c->generated != c->wanted) continue;
      expect(scheduler_.remove(c->sequence), "what ran is removed as such");
      end(*c);
    }
  }

  void end(client& c) {
    if (c.running) {
      --running_;
      slots_.erase(c.sequence.slot);
    }
    c.running = false;
    c.ended = true;
  }

  client& of(const scheduled_sequence& sequence) { return *clients_[sequence.id - 1]; }

  std::size_t max_batch_, max_tokens_;
  tenon::static_scheduler scheduler_;
  std::vector<std::unique_ptr<client>> clients_;
  std::deque<client*> waiting_;
  std::set<std::size_t> slots_;
  std::size_t running_ = 0;
  token_id next_token_ = 0;
  std::string fault_;
};

/// Steps until all is done; false if that takes more steps than there are tokens.
bool finishes(driver& d) {
  std::size_t most = 1;
  for (const auto& c : d.clients()) most += c->sequence.tokens.size() + c->wanted;
  while (d.step()) {
    if (most-- == 0 || !d.fault().empty()) return false;
  }
  return true;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(static_scheduler)

BOOST_AUTO_TEST_CASE(any_traffic_is_served_to_its_end_within_the_limits) {
  BOOST_TEST(rc::check([] {
    const auto batch = *rc::gen::inRange<std::size_t>(1, 10);
    const auto tokens = batch + *rc::gen::inRange<std::size_t>(0, 40);
    driver d(batch, tokens);
    const int events = *rc::gen::inRange(1, 60);
    for (int i = 0; i < events; ++i) {
      const int what = *rc::gen::inRange(0, 10);
      if (what < 4) {
        d.submit(*rc::gen::inRange<std::size_t>(1, 90), *rc::gen::inRange<std::size_t>(1, 20));
      } else if (what == 4 && !d.clients().empty()) {
        d.cancel(*d.clients()[*rc::gen::inRange<std::size_t>(0, d.clients().size())]);
      } else {
        d.step();
      }
      if (!d.fault().empty()) RC_FAIL(d.fault());
    }
    if (!finishes(d)) RC_FAIL("not served: " + d.fault());
    for (const auto& c : d.clients()) RC_ASSERT(c->ended);
    return d.scheduler().idle() && d.scheduler().running() == 0 && d.scheduler().waiting() == 0;
  }));
}

BOOST_AUTO_TEST_CASE(a_prompt_is_cut_to_chunks_and_sampled_once) {
  driver d(4, 16);
  const client& c = d.submit(50, 1);
  std::vector<std::size_t> computed;
  while (d.step()) computed.push_back(c.sequence.computed);
  BOOST_TEST(computed == (std::vector<std::size_t>{16, 32, 48, 50}), boost::test_tools::per_element());
  BOOST_TEST(c.generated == 1u);
}

BOOST_AUTO_TEST_CASE(a_sequence_that_decodes_is_served_while_a_long_prompt_is_computed) {
  driver d(2, 8);
  const client& quick = d.submit(1, 10);
  const client& slow = d.submit(64, 1);
  for (std::size_t step = 1; step <= 9; ++step) {
    d.step();
    BOOST_TEST(quick.generated == step);
    BOOST_TEST(slow.sequence.computed == 7 * step);
  }
}

BOOST_AUTO_TEST_CASE(a_step_may_hold_many_prompts) {
  driver d(4, 64);
  for (int i = 0; i < 4; ++i) d.submit(10, 2);
  BOOST_TEST(d.step());
  BOOST_TEST(d.scheduler().span_owners().size() == 4u);
  for (const auto& c : d.clients()) BOOST_TEST(c->generated == 1u);
}

BOOST_AUTO_TEST_CASE(a_batch_is_gathered_when_the_last_has_ended_and_not_before) {
  driver d(2, 64);
  const client& brief = d.submit(3, 1);
  const client& lasting = d.submit(3, 5);
  const client& next = d.submit(3, 1);
  d.step();
  BOOST_TEST(brief.ended);
  for (int step = 0; step < 4; ++step) {
    BOOST_TEST(!next.running);
    d.step();
  }
  BOOST_TEST(lasting.ended);
  d.step();
  BOOST_TEST(next.ended);
  BOOST_TEST(d.fault() == "");
}

BOOST_AUTO_TEST_CASE(what_is_not_admitted_waits_in_its_place) {
  tenon::static_scheduler scheduler(4, 64);
  scheduled_sequence a{.id = 1, .tokens = {1, 2}}, b{.id = 2, .tokens = {3, 4}}, c{.id = 3, .tokens = {5}};
  for (scheduled_sequence* each : {&a, &b, &c}) scheduler.add(*each);
  scheduler.gather([](const scheduled_sequence& s) { return s.id != 2; });
  BOOST_TEST(scheduler.running() == 1u);  // c does not overtake b
  BOOST_TEST(scheduler.waiting() == 2u);
  BOOST_TEST(scheduler.remove(a));
  scheduler.gather([](const scheduled_sequence&) { return true; });
  BOOST_TEST(scheduler.running() == 2u);
  BOOST_TEST(b.slot == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
