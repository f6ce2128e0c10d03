// Engines on a device that is not there: the same requests, scheduler and cache, and a clock of their own.
#include <tenon/engine.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace tenon;
using std::chrono::seconds;

constexpr model::shape llama_7b{32, 4096, 32, 32, 128, 128, 11008, 32000, 4096, false};
constexpr model::shape llama_70b{80, 8192, 64, 8, 128, 128, 28672, 32000, 4096, false};

template <class Preemption>
using continuous =
    batching::continuous<batching::queue::fcfs, batching::prefill::chunked<512>, Preemption, 16>;

using a100 = backend::simulated<device::a100_80gb>;
using paged_engine = tenon::engine<model::llama, a100, precision::mixed<weights<f16>>, sampling::greedy,
                                   cache::paged<16>, continuous<batching::preemption::recompute<>>>;
using static_engine = paged_engine::with<batching::static_batch<16>>;
using swapping_engine = paged_engine::with<continuous<batching::preemption::swap<>>>;
using shared_engine = paged_engine::with<cache::prefix_shared<cache::paged<16>>>;
static_assert(paged_engine::has_virtual_clock);
using from_file_engine = paged_engine::with<precision::from_file>;

}  // namespace

TENON_INSTANTIATE(from_file_engine);  // whole, though a shape would not say which of its formats

namespace {

std::vector<token_id> prompt_of(std::size_t length, token_id first = 0) {
  std::vector<token_id> tokens(length);
  for (std::size_t i = 0; i < length; ++i)
    tokens[i] = static_cast<token_id>((static_cast<std::size_t>(first) + i) % 256);
  return tokens;
}

/// Runs requests of these prompt lengths that are there at once; their results.
template <class Engine>
std::vector<request_result> run(Engine& engine, const std::vector<std::size_t>& lengths,
                                std::int32_t tokens) {
  std::vector<request_id> ids;
  for (const std::size_t length : lengths)
    ids.push_back(engine.submit(prompt_of(length, static_cast<token_id>(ids.size())),
                                {.seed = ids.size(), .max_tokens = tokens, .ignore_eos = true}));
  while (engine.step()) continue;
  std::vector<request_result> results;
  for (const request_id id : ids) results.push_back(engine.take(id).value());
  return results;
}

template <class Engine>
std::string refusal(const model::shape& shape, const engine_options& options) {
  try {
    Engine::simulate(shape, options);
  } catch (const error& refused) {
    return refused.what();
  }
  return "";
}

BOOST_AUTO_TEST_SUITE(engine)

BOOST_AUTO_TEST_CASE(a_request_takes_the_time_of_its_steps) {
  auto e = paged_engine::simulate(llama_7b);
  const auto begin = e.now();
  const request_result result = run(e, {300}, 20)[0];
  BOOST_TEST(result.tokens.size() == 20u);
  BOOST_TEST(result.times.e2e() == measure::seconds(begin, e.now()));
  BOOST_TEST(result.times.tpot() > 13.21e9 / 2039e9);  // no faster than the weights arrive
  BOOST_TEST(result.times.tpot() < 10e-3);
  BOOST_TEST(result.times.ttft() > 300 * 2 * 6.6e9 / 312e12);  // or than 300 tokens are computed
  BOOST_TEST(result.times.ttft() < 50e-3);
  BOOST_TEST(e.work().tokens == 319u);
}

BOOST_AUTO_TEST_CASE(every_run_is_the_same) {
  const auto once = [] {
    auto e = paged_engine::simulate(llama_7b, {.cache_tokens = 4096});
    return run(e, {100, 2000, 3, 700, 700, 1500, 64, 1}, 200);
  };
  const auto first = once(), second = once();
  for (std::size_t i = 0; i < first.size(); ++i) {
    BOOST_TEST(first[i].tokens == second[i].tokens, boost::test_tools::per_element());
    BOOST_TEST(first[i].text == second[i].text);
    BOOST_TEST(first[i].times.e2e() == second[i].times.e2e());
  }
}

BOOST_AUTO_TEST_CASE(time_stands_still_without_steps_but_can_be_advanced) {
  auto e = paged_engine::simulate(llama_7b);
  const auto begin = e.now();
  BOOST_TEST((e.now() == begin));
  e.advance_to(begin + seconds(5));
  BOOST_TEST((e.now() == begin + seconds(5)));
  e.advance_to(begin + seconds(3));
  BOOST_TEST((e.now() == begin + seconds(5)));
  BOOST_TEST(!e.step());
  BOOST_TEST((e.now() == begin + seconds(5)));
}

BOOST_AUTO_TEST_CASE(tokens_do_not_depend_on_policies) {
  auto paged = paged_engine::simulate(llama_7b, {.cache_tokens = 4096});
  auto at_once = static_engine::simulate(llama_7b);
  const std::vector<std::size_t> lengths = {100, 900, 3, 700, 33, 1500, 64, 1};
  const auto one = run(paged, lengths, 50), other = run(at_once, lengths, 50);
  for (std::size_t i = 0; i < lengths.size(); ++i)
    BOOST_TEST(one[i].tokens == other[i].tokens, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(sequences_that_come_and_go_wait_less_than_those_of_static_batches) {
  const auto mean_e2e = [](auto engine) {
    std::vector<request_id> ids;
    for (std::int32_t i = 0; i < 64; ++i)
      ids.push_back(engine.submit(prompt_of(200, i), {.max_tokens = 10 + 7 * (i % 16), .ignore_eos = true}));
    while (engine.step()) continue;
    double sum = 0;
    for (const request_id id : ids) sum += engine.take(id).value().times.e2e();
    return sum / static_cast<double>(ids.size());
  };
  BOOST_TEST(mean_e2e(paged_engine::simulate(llama_7b)) < 0.9 * mean_e2e(static_engine::simulate(llama_7b)));
}

BOOST_AUTO_TEST_CASE(a_prefix_that_is_cached_is_not_computed_again) {
  auto e = shared_engine::simulate(llama_7b);
  const double first = run(e, {2048}, 2)[0].times.ttft();
  const double again = run(e, {2048}, 2)[0].times.ttft();
  BOOST_TEST(again < 0.2 * first);
  BOOST_TEST(e.counters().prefix_hits > 2000u);
}

BOOST_AUTO_TEST_CASE(what_is_swapped_crosses_to_the_host_and_back) {
  const std::vector<std::size_t> lengths(8, 500);
  auto swapping = swapping_engine::simulate(llama_7b, {.cache_tokens = 4400});
  const auto results = run(swapping, lengths, 100);
  BOOST_TEST(swapping.counters().swaps_out > 0u);
  auto roomy = swapping_engine::simulate(llama_7b);
  const double without = run(roomy, lengths, 100).back().times.e2e();
  const double moved = 2 * 500 * 512 * 1024 / 25e9;  // one sequence, out and in
  BOOST_TEST(results.back().times.e2e() > without + moved);
}

BOOST_AUTO_TEST_CASE(graphs_save_launches) {
  auto graph = paged_engine::simulate(llama_7b);
  auto eager = paged_engine::with<execution::eager>::simulate(llama_7b);
  const double saved = run(eager, {10}, 50)[0].times.tpot() - run(graph, {10}, 50)[0].times.tpot();
  constexpr auto d = device::a100_80gb::describe();
  BOOST_TEST(saved == (6 * 32 + 6) * (d.eager_launch - d.graph_launch), boost::test_tools::tolerance(1e-4));
}

BOOST_AUTO_TEST_CASE(guessing_ahead_divides_the_time_of_a_longer_step) {
  using guess = device::speculative<3, 60, 10>;
  static_assert(guess::tokens_per_step > 2.17 && guess::tokens_per_step < 2.18);  // 1 + 0.6 + 0.36 + 0.216
  using guessing_engine =
      paged_engine::with<backend::simulated<device::a100_80gb, device::host_gap<100>, guess>>;
  auto plain = paged_engine::simulate(llama_7b);
  auto guessing = guessing_engine::simulate(llama_7b);
  const double before = run(plain, {10}, 50)[0].times.tpot(), after = run(guessing, {10}, 50)[0].times.tpot();
  BOOST_TEST(after > before / guess::tokens_per_step);
  BOOST_TEST(after <
             1.35 * before / guess::tokens_per_step);  // three drafts at a tenth each, and the check's rows
  BOOST_TEST(guessing_engine::description().find("3 guesses, 60% right") != std::string_view::npos);
}

BOOST_AUTO_TEST_CASE(a_model_that_is_too_large_says_so_and_fits_on_several) {
  BOOST_TEST(
      refusal<paged_engine>(llama_70b, {}) ==
      "A100-80GB: the engine needs 152094 MiB (131560 MiB weights, 20480 MiB cache for 16 sequences of 4096 "
      "tokens, "
      "54 MiB workspace), but 76294 MiB are free; use a model in a smaller format, or a smaller model");
  using on_four = paged_engine::with<backend::simulated<device::tensor_parallel<device::a100_80gb, 4>>>;
  auto e = on_four::simulate(llama_70b);
  const double tpot = run(e, {100}, 10)[0].times.tpot();
  BOOST_TEST(tpot > 137e9 / 4 / 2039e9);
  BOOST_TEST(tpot < 40e-3);
  BOOST_TEST(on_four::plan(llama_70b).weights == 2 * (llama_70b.parameters() - 161 * 8192));  // norms apart
}

BOOST_AUTO_TEST_CASE(text_is_bytes_where_there_is_no_file) {
  auto e = paged_engine::simulate(llama_7b);
  std::string text;
  for (const piece& next : e.generate("Once upon a time", {.max_tokens = 12})) text += next.text;
  BOOST_TEST(text.size() == 12u);
  BOOST_TEST(e.work().tokens == 16u + 11u);
  BOOST_CHECK_THROW(e.chat_tokens({}), load_error);
}

BOOST_AUTO_TEST_CASE(it_cannot_score) {
  auto e = paged_engine::simulate(llama_7b);
  const auto tokens = prompt_of(3);
  BOOST_CHECK_EXCEPTION(e.score(tokens, {}), request_error, [](const request_error& refused) {
    return std::string_view(refused.what()) ==
           "a simulated model computes no logits; score with backend::host or backend::cuda";
  });
  BOOST_TEST(run(e, {3}, 2)[0].tokens.size() == 2u);
}

BOOST_AUTO_TEST_CASE(a_vocabulary_without_room_for_bytes_is_refused) {
  model::shape small = llama_7b;
  small.vocabulary = 255;
  BOOST_TEST(refusal<paged_engine>(small, {}) == "a vocabulary of 255 tokens has no room for the 256 bytes");
}

BOOST_AUTO_TEST_CASE(a_fixed_shape_is_held) {
  using fixed = paged_engine::with<model::fixed_shape<model::llama, llama_7b>>;
  BOOST_TEST(refusal<fixed>(llama_7b, {}).empty());
  BOOST_TEST(refusal<fixed>(llama_70b, {}) ==
             "the model does not have the engine's fixed shape: layers is 80 in the file and 32 in the "
             "engine's type; build "
             "an engine for this file, or one without fixed_shape");
}

BOOST_AUTO_TEST_CASE(of_a_file_only_the_head_is_read) {
  auto e = from_file_engine::load(TENON_TEST_MODEL);
  BOOST_TEST(e.shape().layers == 30u);
  std::string text;
  for (const piece& next : e.generate("Once upon a time", {.max_tokens = 12})) text += next.text;
  BOOST_TEST(text.size() == 12u);
  BOOST_TEST(e.work().tokens == 4u + 11u);
  // 96 MB of weights, but 400 kernels: starting them is most of it.
  const double tpot = run(e, {1}, 10)[0].times.tpot();
  BOOST_TEST(tpot > 96e6 / 2039e9 + 186 * 2.5e-6);
  BOOST_CHECK_THROW(paged_engine::load(TENON_TEST_MODEL), load_error);  // which holds f16 alone
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
