// How a step is executed changes no token: graphs or eager launches, alone or in company, prompts whole or in chunks.
#include "engine/cuda/engines.hpp"

#include <boost/test/unit_test.hpp>

#include <limits>
#include <string>
#include <vector>

namespace {

using namespace tenon;
using namespace tenon::test;

using prompts = std::vector<std::vector<token_id>>;
using outcomes = std::vector<std::vector<token_id>>;

constexpr std::size_t context = 64;
const std::string model_name = "hd64_9q3kv_v262";

/// Requests of differing lengths, so that batches shrink as they end; every second draws.
template <class Engine>
typename Engine::params request_for(std::size_t i) {
  return {.temperature = i % 2 == 0 ? 0.0f : 0.9f,
          .top_p = 0.95f,
          .seed = 1000 + i,
          .max_tokens = static_cast<int>(3 + i % 5),
          .ignore_eos = true};
}

template <class Engine>
outcomes run(Engine& engine, const prompts& all) {
  std::vector<request_id> ids;
  for (std::size_t i = 0; i < all.size(); ++i) ids.push_back(engine.submit(all[i], request_for<Engine>(i)));
  run_to_end(engine);
  outcomes tokens;
  for (const request_id id : ids) tokens.push_back(engine.take(id).value().tokens);
  return tokens;
}

template <class Engine>
outcomes run(const prompts& all, std::size_t max_batch, std::size_t max_step_tokens) {
  Engine engine =
      Engine::load(tiny_model(model_name),
                   {.max_batch = max_batch, .context = context, .max_step_tokens = max_step_tokens});
  return run(engine, all);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(execution)

BOOST_AUTO_TEST_CASE(graphs_and_eager_launches_give_the_same_tokens_in_any_batch_and_chunks) {
  const prompts all = some_prompts(9, 17);
  const outcomes alone = run<cuda_eager_engine>(all, 1, context);
  BOOST_TEST((run<cuda_eager_engine>(all, 9, 400) == alone));
  BOOST_TEST((run<cuda_fp32_engine>(all, 1, context) == alone));
  BOOST_TEST((run<cuda_fp32_engine>(all, 9, 400) == alone));
  BOOST_TEST((run<cuda_fp32_engine>(all, 5, 7) == alone));
}

BOOST_AUTO_TEST_CASE(two_engines_in_one_process_do_not_mix) {
  const prompts all = some_prompts(2, 12);
  const engine_options small{.max_batch = 2, .context = context};
  cuda_fp32_engine a = cuda_fp32_engine::load(tiny_model(model_name), small);
  cuda_eager_engine b = cuda_eager_engine::load(tiny_model("base_5e5"), small);
  const auto expected_a = greedy_tokens(a, all[0], 6), expected_b = greedy_tokens(b, all[1], 6);
  const request_id in_a = a.submit(all[0], greedy<cuda_fp32_engine>(6));
  const request_id in_b = b.submit(all[1], greedy<cuda_eager_engine>(6));
  for (bool more = true; more;) {
    more = a.step();
    more = b.step() || more;
  }
  BOOST_TEST(a.take(in_a).value().tokens == expected_a, boost::test_tools::per_element());
  BOOST_TEST(b.take(in_b).value().tokens == expected_b, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(min_tokens_keeps_end_tokens_away_on_the_device_too) {
  cuda_fp32_engine engine =
      cuda_fp32_engine::load(tiny_model(model_name), {.max_batch = 2, .context = context});
  const prompts all = some_prompts(1, 12);
  auto request = greedy<cuda_fp32_engine>(8);
  request.ignore_eos = true;
  const std::vector<token_id> free = complete(engine, all[0], request).tokens;
  request.stop_token_ids = {free[0], free[1]};
  BOOST_TEST(complete(engine, all[0], request).tokens.size() == 1u);
  request.min_tokens = 3;
  const std::vector<token_id> kept = complete(engine, all[0], request).tokens;
  BOOST_REQUIRE(kept.size() >= 3u);
  for (std::size_t i = 0; i < 3; ++i) BOOST_TEST((kept[i] != free[0] && kept[i] != free[1]));
}

BOOST_AUTO_TEST_CASE(nan_logits_end_their_request_and_no_other) {
  std::vector<std::byte> file = read_bytes(tiny_model(model_name));
  const prompts all = some_prompts(2, 12);
  cuda_fp32_engine sound = cuda_fp32_engine::load(file, {.max_batch = 2, .context = context});
  const auto expected = greedy_tokens(sound, all[0], 4);
  const token_id poison = 7;
  *row_of(file, "token_embd.weight", static_cast<std::size_t>(poison)) =
      std::numeric_limits<float>::quiet_NaN();
  cuda_fp32_engine engine = cuda_fp32_engine::load(file, {.max_batch = 2, .context = context});
  const request_id bad = engine.submit(std::vector<token_id>{3, poison}, greedy<cuda_fp32_engine>(4));
  const request_id good = engine.submit(all[0], greedy<cuda_fp32_engine>(4));
  run_to_end(engine);
  BOOST_TEST(engine.take(good).value().tokens == expected, boost::test_tools::per_element());
  const request_result result = engine.take(bad).value();
  BOOST_TEST((result.finish == finish_reason::error));
  BOOST_TEST(result.error.find("NaN") != std::string::npos, result.error);
}

BOOST_AUTO_TEST_SUITE_END()
