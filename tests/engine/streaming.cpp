// Requests while they run: pieces of text, callbacks, cancelling, and generate() as a range.
#include "engine/engines.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

namespace {

using namespace tenon;
using namespace tenon::test;

const std::string model_name = "hd8_4q4kv_ff33_v321";
const std::vector<token_id> prompt = {107, 104, 111, 35, 50};

fp32_engine load(const engine_options& options = {.max_batch = 3, .context = 64, .threads = 2}) {
  return fp32_engine::load(tiny_model(model_name), options);
}

/// What the callbacks of a request were given.
struct listener {
  std::vector<token_id> tokens;
  std::string text;
  std::size_t broken_pieces = 0;  // that are no valid UTF-8
  finish_reason last = finish_reason::none;
  int ends = 0;
  request_result result;

  void take(const piece& p) {
    tokens.push_back(p.token);
    text += p.text;
    broken_pieces += text::valid_utf8_prefix(p.text) != p.text.size();
    last = p.finish;
  }
  request_callbacks callbacks() {
    return {.on_piece = [this](const piece& p) { take(p); },
            .on_finish =
                [this](const request_result& r) {
                  ++ends;
                  result = r;
                }};
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(streaming)

BOOST_AUTO_TEST_CASE(pieces_are_valid_text_and_join_to_the_result) {
  // The model's tokens are bytes, so that what is drawn at random is hardly ever valid UTF-8 by itself.
  fp32_engine engine = load();
  std::size_t characters = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    listener heard;
    fp32_engine::params request = {.temperature = 3.0f, .seed = seed, .max_tokens = 50, .ignore_eos = true};
    if (seed % 2 == 1)
      request.stop = {"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd", "e\xef\xbf\xbd"};
    engine.submit(prompt, request, heard.callbacks());
    run_to_end(engine);
    BOOST_TEST(heard.broken_pieces == 0u);
    BOOST_TEST(heard.ends == 1);
    BOOST_TEST(heard.text == heard.result.text);
    BOOST_TEST(heard.tokens == heard.result.tokens, boost::test_tools::per_element());
    BOOST_TEST(to_string(heard.last) == to_string(heard.result.finish));
    const std::string whole = text::to_utf8(engine.tokenizer().decode(heard.tokens));
    BOOST_TEST(whole.substr(0, heard.text.size()) == heard.text);
    if (heard.result.finish == finish_reason::length) BOOST_TEST(whole == heard.text);
    characters += heard.text.size();
  }
  BOOST_TEST(characters > 1000u);
}

BOOST_AUTO_TEST_CASE(a_callback_may_cancel_its_request_and_others) {
  fp32_engine engine = load();
  const auto expected = greedy_tokens(engine, prompt, 20);
  listener own, other, good;
  request_id other_id = 0;
  request_callbacks callbacks = own.callbacks();
  request_id own_id = 0;
  callbacks.on_piece = [&](const piece& p) {
    own.take(p);
    if (own.tokens.size() == 4) {
      engine.cancel(own_id);
      engine.cancel(other_id);
      engine.cancel(own_id);
    }
  };
  own_id = engine.submit(prompt, greedy<fp32_engine>(20), callbacks);
  other_id = engine.submit(prompt, greedy<fp32_engine>(20), other.callbacks());
  engine.submit(prompt, greedy<fp32_engine>(20), good.callbacks());
  run_to_end(engine);
  BOOST_TEST(own.tokens.size() == 4u);
  BOOST_TEST(other.tokens.size() == 3u);  // it comes later in the same step
  for (const listener* each : {&own, &other}) {
    BOOST_TEST(each->ends == 1);
    BOOST_TEST(to_string(each->result.finish) == "cancelled");
    BOOST_TEST(each->result.text == each->text);
    BOOST_TEST(each->result.tokens == each->tokens, boost::test_tools::per_element());
  }
  BOOST_TEST(good.tokens == expected, boost::test_tools::per_element());
  BOOST_TEST(good.ends == 1);
}

BOOST_AUTO_TEST_CASE(ending_one_may_cancel_all_others) {
  for (const bool from_outside : {false, true}) {
    fp32_engine engine = load({.max_batch = 2, .context = 64, .threads = 1});
    std::vector<listener> heard(5);
    std::vector<request_id> ids(5);
    for (std::size_t i = 0; i < 5; ++i) {
      request_callbacks callbacks = heard[i].callbacks();
      callbacks.on_finish = [&, i](const request_result& result) {
        ++heard[i].ends;
        heard[i].result = result;
        for (const request_id id : ids) engine.cancel(id);
      };
      ids[i] = engine.submit(prompt, greedy<fp32_engine>(i == 0 ? 3 : 20), callbacks);
    }
    engine.step();
    if (from_outside) engine.cancel(ids[3]);  // which waits
    run_to_end(engine);
    BOOST_TEST(engine.idle());
    for (const listener& each : heard) BOOST_TEST(each.ends == 1);
    BOOST_TEST(to_string(heard[0].result.finish) == (from_outside ? "cancelled" : "length"));
    BOOST_TEST(to_string(heard[4].result.finish) == "cancelled");
    BOOST_TEST(heard[4].tokens.empty());
  }
}

BOOST_AUTO_TEST_CASE(a_callback_may_submit) {
  fp32_engine engine = load();
  const auto expected = greedy_tokens(engine, prompt, 6);
  listener first, second, third;
  request_callbacks callbacks = first.callbacks();
  callbacks.on_piece = [&](const piece& p) {
    first.take(p);
    if (first.tokens.size() != 2) return;
    request_callbacks next = second.callbacks();
    next.on_finish = [&](const request_result&) {
      ++second.ends;
      engine.submit(prompt, greedy<fp32_engine>(6), third.callbacks());
    };
    engine.submit(prompt, greedy<fp32_engine>(6), next);
  };
  engine.submit(prompt, greedy<fp32_engine>(6), callbacks);
  run_to_end(engine);
  for (const listener* each : {&first, &second, &third}) {
    BOOST_TEST(each->ends == 1);
    BOOST_TEST(each->tokens == expected, boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(a_request_cancelled_at_any_step_leaves_nothing_behind) {
  fp32_engine engine = load({.max_batch = 2, .context = 64, .max_step_tokens = 4, .threads = 2});
  const auto expected = greedy_tokens(engine, prompt, 6);
  const std::vector<token_id> long_prompt(40, 107);
  for (int steps = 0; steps < 24; ++steps) {
    listener heard;
    const request_id id = engine.submit(long_prompt, greedy<fp32_engine>(12), heard.callbacks());
    const request_id waiting = engine.submit(long_prompt, greedy<fp32_engine>(12));
    for (int i = 0; i < steps; ++i) engine.step();
    engine.cancel(id);
    engine.cancel(waiting);
    const std::size_t streamed = heard.tokens.size();
    BOOST_TEST(engine.idle());
    BOOST_TEST(heard.ends == 1);
    BOOST_TEST(greedy_tokens(engine, prompt, 6) == expected, boost::test_tools::per_element());
    BOOST_TEST(heard.tokens.size() == streamed);
    BOOST_TEST(engine.take(waiting).has_value());
  }
  engine.cancel(12345);  // there is no such request
}

BOOST_AUTO_TEST_CASE(generate_is_a_range_of_pieces_with_a_result) {
  fp32_engine engine = load();
  const request_result expected = complete(engine, prompt, greedy<fp32_engine>(20));
  auto pieces = engine.generate(prompt, greedy<fp32_engine>(20));
  std::string text;
  std::vector<token_id> tokens;
  for (const piece& p : pieces) {
    text += p.text;
    tokens.push_back(p.token);
  }
  BOOST_TEST(text == expected.text);
  BOOST_TEST(tokens == expected.tokens, boost::test_tools::per_element());
  BOOST_TEST(pieces.result().text == expected.text);
  BOOST_TEST(to_string(pieces.result().finish) == "length");
  BOOST_TEST(engine.idle());
}

BOOST_AUTO_TEST_CASE(generate_takes_text_and_lets_other_requests_advance) {
  fp32_engine engine = load();
  const std::vector<token_id> typed = engine.prompt_tokens("the <|im_end|>");
  BOOST_TEST(typed.size() > 10u);  // what looks like a control token is text
  BOOST_TEST(engine.prompt_tokens("the <|im_end|>", text::special_tokens::recognise).back() == 2);
  const auto expected = greedy_tokens(engine, typed, 8);
  const auto expected_beside = greedy_tokens(engine, prompt, 5);
  const request_id beside = engine.submit(prompt, greedy<fp32_engine>(5));
  std::vector<token_id> tokens;
  for (const piece& p : engine.generate("the <|im_end|>", greedy<fp32_engine>(8))) tokens.push_back(p.token);
  BOOST_TEST(tokens == expected, boost::test_tools::per_element());
  BOOST_TEST(engine.take(beside).value().tokens == expected_beside, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(leaving_the_loop_early_cancels) {
  fp32_engine engine = load();
  int pieces = 0;
  for (const piece& p : engine.generate(prompt, greedy<fp32_engine>(20))) {
    BOOST_TEST(p.id > 0u);
    if (++pieces == 3) break;
  }
  BOOST_TEST(pieces == 3);
  BOOST_TEST(engine.idle());
  { const auto never_begun = engine.generate(prompt, greedy<fp32_engine>(20)); }
  BOOST_TEST(engine.idle());
}

BOOST_AUTO_TEST_CASE(an_error_is_thrown_where_generate_is_used) {
  std::vector<std::byte> file = read_bytes(tiny_model(model_name));
  std::fill_n(row_of(file, "token_embd.weight", 99), 32, std::numeric_limits<float>::quiet_NaN());
  fp32_engine engine = fp32_engine::load(file, {.context = 64, .threads = 1});
  BOOST_CHECK_THROW(engine.generate("", greedy<fp32_engine>(4)), request_error);
  const std::vector<token_id> poisoned = {107, 99};
  const auto use = [&] {
    for (const piece& p : engine.generate(poisoned, greedy<fp32_engine>(4))) BOOST_TEST(p.text == "never");
  };
  BOOST_CHECK_THROW(use(), request_error);
  BOOST_TEST(engine.idle());
  BOOST_TEST(greedy_tokens(engine, prompt, 4).size() == 4u);
}

BOOST_AUTO_TEST_SUITE_END()
