// What a request may ask for, how it ends, and that one which cannot be served leaves the others alone.
#include "engine/engines.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace {

using namespace tenon;
using namespace tenon::test;
using params = fp32_engine::params;

constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();
constexpr float infinite = std::numeric_limits<float>::infinity();
constexpr token_id end_of_turn = 2;  // the tiny models' <|im_end|>

const std::string model_name = "hd8_4q4kv_ff33_v321";
const std::vector<token_id> prompt = {107, 104, 111, 35, 50};

fp32_engine load(const engine_options& options = {.max_batch = 4, .context = 64, .threads = 2}) {
  return fp32_engine::load(tiny_model(model_name), options);
}

/// Did the action throw a request_error with these words?
template <class Action>
boost::test_tools::predicate_result refused(Action action, const std::string& words) {
  try {
    action();
  } catch (const request_error& error) {
    if (std::string(error.what()).find(words) != std::string::npos) return true;
    boost::test_tools::predicate_result no(false);
    no.message() << "\"" << words << "\" is not in: " << error.what();
    return no;
  }
  boost::test_tools::predicate_result no(false);
  no.message() << "nothing was thrown";
  return no;
}

/// The prompt's greedy tokens, and a model that would rather end than give the token at `end_at`: the row of
/// the output matrix for that token is copied to the end-of-turn token, which wins the tie.
struct ending_model {
  std::vector<token_id> tokens;
  std::size_t end_at;
  std::vector<std::byte> file;

  ending_model() : file(read_bytes(tiny_model(model_name))) {
    fp32_engine plain = load();
    tokens = greedy_tokens(plain, prompt, 16);
    const auto again = [&](std::size_t i) { return std::find(tokens.begin(), tokens.end(), tokens[i]); };
    end_at = 5;
    while (again(end_at) != tokens.begin() + static_cast<std::ptrdiff_t>(end_at)) ++end_at;
    const float* from = row_of(file, "output.weight", static_cast<std::size_t>(tokens[end_at]));
    std::copy_n(from, 32, row_of(file, "output.weight", end_of_turn));
  }
  fp32_engine load_it() const {
    return fp32_engine::load(file, {.max_batch = 4, .context = 64, .threads = 2});
  }
  std::vector<token_id> before_end() const {
    return {tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(end_at)};
  }
};

std::string shown(const fp32_engine& engine, const std::vector<token_id>& tokens) {
  return text::to_utf8(engine.tokenizer().decode(tokens));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(requests)

BOOST_AUTO_TEST_CASE(bad_requests_are_refused_in_words_and_the_others_go_on) {
  fp32_engine engine = load();
  const std::vector<token_id> expected = greedy_tokens(engine, prompt, 12);
  const auto with = [](auto change) {
    params request = greedy<fp32_engine>(4);
    change(request);
    return request;
  };
  const auto submits = [&](const params& request) {
    return [&engine, request] { engine.submit(prompt, request); };
  };
  const request_id first = engine.submit(prompt, greedy<fp32_engine>(12));
  engine.step();

  using ids = std::vector<token_id>;
  BOOST_TEST(refused([&] { engine.submit("", greedy<fp32_engine>(4)); }, "the prompt is empty"));
  BOOST_TEST(refused([&] { engine.submit(ids{}, greedy<fp32_engine>(4)); }, "the prompt is empty"));
  BOOST_TEST(refused([&] { engine.submit(ids{107, 321}, greedy<fp32_engine>(4)); }, "token 321"));
  BOOST_TEST(refused([&] { engine.submit(ids{-1}, greedy<fp32_engine>(4)); }, "token -1"));
  BOOST_TEST(refused([&] { engine.submit(ids(64, 107), greedy<fp32_engine>(4)); }, "no room for an answer"));
  BOOST_TEST(refused([&] { engine.submit(ids(65, 107), greedy<fp32_engine>(4)); }, "has 65 tokens"));
  BOOST_TEST(refused(submits(with([](params& r) { r.max_tokens = 0; })), "max_tokens"));
  BOOST_TEST(refused(submits(with([](params& r) { r.max_tokens = -5; })), "max_tokens"));
  BOOST_TEST(refused(submits(with([](params& r) { r.min_tokens = -1; })), "min_tokens"));
  BOOST_TEST(refused(submits(with([](params& r) { r.min_tokens = 5; })), "min_tokens"));
  for (const float bad : {not_a_number, -1.0f, infinite, -infinite}) {
    BOOST_TEST(refused(submits(with([&](params& r) { r.temperature = bad; })), "temperature"));
    BOOST_TEST(refused(submits(with([&](params& r) { r.top_p = bad; })), "top_p"));
    BOOST_TEST(refused(submits(with([&](params& r) { r.min_p = bad; })), "min_p"));
  }
  BOOST_TEST(refused(submits(with([](params& r) { r.top_p = 1.5f; })), "top_p"));
  BOOST_TEST(refused(submits(with([](params& r) { r.top_k = -2; })), "top_k"));
  BOOST_TEST(refused(submits(with([](params& r) { r.stop = {"a", ""}; })), "stop"));
  BOOST_TEST(refused(submits(with([](params& r) { r.stop = {"\xff"}; })), "stop"));
  BOOST_TEST(refused(submits(with([](params& r) { r.stop_token_ids = {321}; })), "stop_token_ids"));
  BOOST_TEST(refused(submits(with([](params& r) { r.stop_token_ids = {-1}; })), "stop_token_ids"));
  BOOST_TEST(refused(submits(with([](params& r) { r.stop_token_ids.assign(257, 5); })), "at most 256"));

  const request_id last = engine.submit(prompt, greedy<fp32_engine>(12));
  run_to_end(engine);
  BOOST_TEST(engine.take(first).value().tokens == expected, boost::test_tools::per_element());
  BOOST_TEST(engine.take(last).value().tokens == expected, boost::test_tools::per_element());
  BOOST_TEST(engine.idle());
}

BOOST_AUTO_TEST_CASE(nan_logits_end_their_request_and_no_other) {
  // The embedding of one token is NaN. The output matrix is another one, so that other rows do not see it.
  std::vector<std::byte> file = read_bytes(tiny_model(model_name));
  std::fill_n(row_of(file, "token_embd.weight", 99), 32, not_a_number);
  fp32_engine engine = fp32_engine::load(file, {.max_batch = 3, .context = 64, .threads = 2});
  const auto expected = greedy_tokens(engine, prompt, 10);
  BOOST_REQUIRE((std::find(expected.begin(), expected.end(), 99) == expected.end()));

  std::vector<token_id> poisoned(40, 107);
  poisoned[20] = 99;
  const request_id before = engine.submit(prompt, greedy<fp32_engine>(10));
  const request_id bad = engine.submit(poisoned, greedy<fp32_engine>(10));
  const request_id after = engine.submit(prompt, greedy<fp32_engine>(10));
  const request_id sampled = engine.submit(poisoned, {.temperature = 0.7f, .max_tokens = 10});
  run_to_end(engine);
  for (const request_id id : {bad, sampled}) {
    const request_result result = engine.take(id).value();
    BOOST_TEST(to_string(result.finish) == "error");
    BOOST_TEST(result.error.find("NaN") != std::string::npos);
    BOOST_TEST(result.error.find("request " + std::to_string(id)) != std::string::npos);
    BOOST_TEST(result.tokens.empty());
    BOOST_TEST(result.text == "");
  }
  BOOST_TEST(engine.take(before).value().tokens == expected, boost::test_tools::per_element());
  BOOST_TEST(engine.take(after).value().tokens == expected, boost::test_tools::per_element());
  // What it left in the cache of its slot is not seen by the next one there.
  for (int slot = 0; slot < 3; ++slot) engine.submit(poisoned, greedy<fp32_engine>(10));
  run_to_end(engine);
  std::vector<request_id> ids;
  for (int slot = 0; slot < 3; ++slot) ids.push_back(engine.submit(prompt, greedy<fp32_engine>(10)));
  run_to_end(engine);
  for (const request_id id : ids) {
    BOOST_TEST(engine.take(id).value().tokens == expected, boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(scoring_refuses_what_requests_refuse) {
  fp32_engine engine = load();
  const auto score = [&](const std::vector<token_id>& ids) {
    return [&engine, ids] { engine.score(ids, [](std::size_t, std::span<const float>) {}); };
  };
  BOOST_TEST(refused(score({}), "empty"));
  BOOST_TEST(refused(score({321}), "321"));
  BOOST_TEST(refused(score(std::vector<token_id>(65, 107)), "65 tokens"));
  BOOST_TEST(all_logits(engine, std::vector<token_id>(64, 107)).size() == 64u);
  engine.submit(prompt, greedy<fp32_engine>(2));
  BOOST_TEST(refused(score({107}), "idle"));
}

BOOST_AUTO_TEST_CASE(max_tokens_is_exact) {
  fp32_engine engine = load();
  const auto expected = greedy_tokens(engine, prompt, 12);
  BOOST_REQUIRE(expected.size() == 12u);
  for (const int n : {1, 2, 11}) {
    const request_result result = complete(engine, prompt, greedy<fp32_engine>(n));
    BOOST_TEST(result.tokens == std::vector<token_id>(expected.begin(), expected.begin() + n),
               boost::test_tools::per_element());
    BOOST_TEST(to_string(result.finish) == "length");
  }
}

BOOST_AUTO_TEST_CASE(a_full_context_ends_a_request_with_length) {
  fp32_engine engine = load();
  const std::vector<token_id> long_prompt(33, 107), longest(63, 107);
  const request_result result = complete(engine, long_prompt, greedy<fp32_engine>(64));
  BOOST_TEST(result.tokens.size() == 31u);
  BOOST_TEST(to_string(result.finish) == "length");
  BOOST_TEST(complete(engine, longest, greedy<fp32_engine>(64)).tokens.size() == 1u);
  fp32_engine wide = load({.context = 128, .threads = 1});
  BOOST_TEST(greedy_tokens(wide, long_prompt, 31) == result.tokens, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(an_end_of_generation_token_ends_a_request_with_stop) {
  const ending_model model;
  fp32_engine engine = model.load_it();
  const request_result result = complete(engine, prompt, greedy<fp32_engine>(16));
  std::vector<token_id> expected = model.before_end();
  BOOST_TEST(result.text == shown(engine, expected));
  expected.push_back(end_of_turn);
  BOOST_TEST(result.tokens == expected, boost::test_tools::per_element());
  BOOST_TEST(to_string(result.finish) == "stop");
}

BOOST_AUTO_TEST_CASE(ignore_eos_goes_on_after_it) {
  const ending_model model;
  fp32_engine engine = model.load_it();
  params request = greedy<fp32_engine>(16);
  request.ignore_eos = true;
  const request_result result = complete(engine, prompt, request);
  BOOST_TEST(result.tokens.size() == 16u);
  BOOST_TEST(result.tokens[model.end_at] == end_of_turn);
  BOOST_TEST(to_string(result.finish) == "length");
  BOOST_TEST(result.text == shown(engine, result.tokens));  // control tokens are no text
}

BOOST_AUTO_TEST_CASE(min_tokens_keeps_end_tokens_away_until_then) {
  const ending_model model;
  fp32_engine engine = model.load_it();
  params request = greedy<fp32_engine>(16);
  request.min_tokens = static_cast<int>(model.end_at) + 1;
  const request_result result = complete(engine, prompt, request);
  BOOST_REQUIRE(result.tokens.size() > model.end_at);
  for (std::size_t i = 0; i <= model.end_at; ++i) BOOST_TEST(result.tokens[i] == model.tokens[i]);
  request.min_tokens = static_cast<int>(model.end_at);
  BOOST_TEST(complete(engine, prompt, request).tokens.size() == model.end_at + 1);
  // Stop tokens of the request are kept away too.
  request = greedy<fp32_engine>(16);
  request.stop_token_ids = {model.tokens[0]};
  request.min_tokens = 1;
  BOOST_TEST(complete(engine, prompt, request).tokens[0] != model.tokens[0]);
}

BOOST_AUTO_TEST_CASE(a_stop_token_ends_a_request_and_is_no_part_of_its_text) {
  const ending_model model;
  fp32_engine engine = load();
  params request = greedy<fp32_engine>(16);
  request.stop_token_ids = {320, model.tokens[model.end_at]};
  const request_result result = complete(engine, prompt, request);
  std::vector<token_id> expected = model.before_end();
  BOOST_TEST(result.text == shown(engine, expected));
  expected.push_back(model.tokens[model.end_at]);
  BOOST_TEST(result.tokens == expected, boost::test_tools::per_element());
  BOOST_TEST(to_string(result.finish) == "stop");
}

BOOST_AUTO_TEST_CASE(any_stop_string_cuts_the_text_where_it_first_comes_up) {
  fp32_engine engine = load({.max_batch = 1, .context = 64, .threads = 1});
  const request_result whole = complete(engine, prompt, greedy<fp32_engine>(24));
  std::vector<std::size_t> characters;  // where each begins
  for (std::size_t at = 0; at < whole.text.size();) {
    characters.push_back(at);
    at += text::next_utf8(std::string_view(whole.text).substr(at)).length;
  }
  characters.push_back(whole.text.size());
  BOOST_REQUIRE(characters.size() > 12u);
  for (std::size_t begin = 0; begin + 1 < characters.size(); ++begin) {
    for (std::size_t length = 1; length <= 5 && begin + length < characters.size(); ++length) {
      const std::string stop =
          whole.text.substr(characters[begin], characters[begin + length] - characters[begin]);
      params request = greedy<fp32_engine>(24);
      request.stop = {"never in this text", stop};
      const request_result cut = complete(engine, prompt, request);
      BOOST_TEST(cut.text == whole.text.substr(0, whole.text.find(stop)));
      BOOST_TEST(to_string(cut.finish) == "stop");
      BOOST_TEST(std::equal(cut.tokens.begin(), cut.tokens.end(), whole.tokens.begin()));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_seed_decides_what_is_drawn) {
  fp32_engine engine = load();
  const auto drawn = [&](std::optional<std::uint64_t> seed) {
    return complete(engine, prompt, {.temperature = 1.5f, .seed = seed, .max_tokens = 24}).tokens;
  };
  BOOST_TEST(drawn(7) == drawn(7), boost::test_tools::per_element());
  BOOST_TEST((drawn(7) != drawn(8)));
  BOOST_TEST((drawn(std::nullopt) != drawn(std::nullopt)));
}

BOOST_AUTO_TEST_CASE(a_result_can_be_taken_once) {
  fp32_engine engine = load();
  const request_id id = engine.submit(prompt, greedy<fp32_engine>(3));
  BOOST_TEST(!engine.take(id).has_value());  // it runs
  run_to_end(engine);
  BOOST_TEST(engine.take(id).has_value());
  BOOST_TEST(!engine.take(id).has_value());
  BOOST_TEST(!engine.take(id + 1).has_value());
}

BOOST_AUTO_TEST_CASE(times_are_of_the_request_itself) {
  fp32_engine engine = load();
  const request_result result = complete(engine, prompt, greedy<fp32_engine>(9));
  const measure::request_times& t = result.times;
  BOOST_TEST(t.prompt_tokens == prompt.size());
  BOOST_TEST(t.tokens == 9u);
  BOOST_TEST((t.arrival <= t.scheduled && t.scheduled < t.first_token && t.first_token < t.last_token));
  BOOST_TEST(std::abs(t.e2e() - t.ttft() - 8 * t.tpot()) < 1e-9);
}

BOOST_AUTO_TEST_SUITE_END()
