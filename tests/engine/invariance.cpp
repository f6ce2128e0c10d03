// Batch invariance, bitwise: the logits from which each token of a request is chosen do not depend on what
// else is in the batch, on how prompts are cut, or on the number of threads.
#include "engine/engines.hpp"
#include "support/json.hpp"

#include <boost/test/unit_test.hpp>

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

namespace {

using namespace tenon;
using namespace tenon::test;

/// A sampling stage that notes a fingerprint of each row of logits that it sees, and changes nothing.
struct witness {
  static constexpr auto name = fixed_string("witness");
  struct params {
    std::vector<std::uint64_t>* seen = nullptr;
  };
  static void apply(sampling::candidates& c, const params& request) {
    std::uint64_t print = c.size();
    for (const float logit : c.logits()) print = print * 0x100000001b3u + std::bit_cast<std::uint32_t>(logit);
    request.seen->push_back(print);
  }
};

/// Weights as in the file: fp32 products for the tiny models, int8 ones for SmolLM2.
using witness_engine = engine<model::llama, sampling::chain<witness, sampling::temperature, sampling::top_p>,
                              batching::static_batch<9>>;

struct outcome {
  std::vector<token_id> tokens;
  std::vector<std::uint64_t> rows;
  bool operator==(const outcome&) const = default;
};

/// Every second request takes the best token, the others draw.
witness_engine::params request_for(std::size_t i, int max_tokens, outcome& into) {
  return {.temperature = i % 2 == 0 ? 0.0f : 0.9f,
          .top_p = 0.95f,
          .seed = 1000 + i,
          .custom = {{.seen = &into.rows}},
          .max_tokens = max_tokens,
          .ignore_eos = true};
}

using prompts = std::vector<std::vector<token_id>>;

/// Runs all prompts on an engine with these options. With `cancelled`, others run beside them and are
/// cancelled after some steps.
std::vector<outcome> run(const std::filesystem::path& file, const engine_options& options, const prompts& all,
                         int max_tokens, bool cancelled = false) {
  witness_engine engine = witness_engine::load(file, options);
  std::vector<outcome> outcomes(all.size());
  std::vector<request_id> ids, others;
  std::vector<outcome> ignored(all.size());  // one each: the rows of a step are sampled by several threads
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (cancelled && i % 2 == 1) {
      others.push_back(engine.submit(all[all.size() - 1 - i], request_for(i, max_tokens + 50, ignored[i])));
    }
    ids.push_back(engine.submit(all[i], request_for(i, max_tokens, outcomes[i])));
  }
  for (std::size_t steps = 0; engine.step(); ++steps) {
    if (!others.empty() && steps % 3 == 2) {
      engine.cancel(others.back());
      others.pop_back();
    }
  }
  for (std::size_t i = 0; i < all.size(); ++i) outcomes[i].tokens = engine.take(ids[i]).value().tokens;
  return outcomes;
}

/// One request at a time, each prompt in one piece, one thread.
std::vector<outcome> alone(const std::filesystem::path& file, std::size_t context, const prompts& all,
                           int max_tokens) {
  return run(file, {.max_batch = 1, .context = context, .max_step_tokens = context, .threads = 1}, all,
             max_tokens);
}

void check_same(const std::vector<outcome>& expected, const std::vector<outcome>& got) {
  BOOST_REQUIRE(expected.size() == got.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    BOOST_TEST_CONTEXT("request " << i) {
      BOOST_TEST(expected[i].rows.size() == expected[i].tokens.size());
      BOOST_TEST(got[i].tokens == expected[i].tokens, boost::test_tools::per_element());
      BOOST_TEST(got[i].rows == expected[i].rows, boost::test_tools::per_element());
    }
  }
}

const std::vector<std::string> tiny_models = {
    "hd64_9q3kv_v262",     "hd80_4q2kv_v262", "hd96_3q3kv_v263",       "hd32_7q1kv_v265",
    "hd8_4q4kv_ff33_v321", "base_5e5",        "hd128_key_length_2q1kv"};

constexpr std::size_t tiny_context = 96;
constexpr int tiny_tokens = 6;

/// Calls `check(file, prompts, expected)` for each tiny model.
template <class Check>
void for_tiny_models(Check check) {
  const prompts all = some_prompts(9, 70);
  for (const std::string& name : tiny_models) {
    BOOST_TEST_CONTEXT(name)
    check(tiny_model(name), all, alone(tiny_model(name), tiny_context, all, tiny_tokens));
  }
}

/// Prompts of SmolLM2 of 15 to 65 tokens.
prompts border_prompts() {
  prompts all;
  const json cases = load_cases("ref_borders.json");
  for (std::size_t i = 0; i < 9; ++i) all.push_back(numbers<token_id>(cases[i].at("ids")));
  return all;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(invariance)

BOOST_AUTO_TEST_CASE(a_batch_changes_no_bit_of_any_request) {
  for_tiny_models(
      [](const std::filesystem::path& file, const prompts& all, const std::vector<outcome>& expected) {
        for (std::size_t batch = 2; batch <= 9; ++batch) {
          BOOST_TEST_CONTEXT("batch of " << batch) {
            const engine_options options = {.max_batch = batch,
                                            .context = tiny_context,
                                            .max_step_tokens = batch % 3 == 0 ? 16u : 512u,
                                            .threads = static_cast<int>(1 + batch % 2)};
            check_same(expected, run(file, options, all, tiny_tokens));
          }
        }
      });
}

BOOST_AUTO_TEST_CASE(cutting_prompts_to_chunks_changes_no_bit) {
  for_tiny_models(
      [](const std::filesystem::path& file, const prompts& all, const std::vector<outcome>& expected) {
        for (const std::size_t chunk : {1u, 7u, 16u, 64u}) {
          BOOST_TEST_CONTEXT("chunks of " << chunk) {
            const engine_options options = {
                .max_batch = 1, .context = tiny_context, .max_step_tokens = chunk, .threads = 2};
            check_same(expected, run(file, options, all, tiny_tokens));
          }
        }
      });
}

BOOST_AUTO_TEST_CASE(cancelling_others_changes_no_bit) {
  for_tiny_models(
      [](const std::filesystem::path& file, const prompts& all, const std::vector<outcome>& expected) {
        const engine_options options = {
            .max_batch = 5, .context = tiny_context, .max_step_tokens = 20, .threads = 2};
        check_same(expected, run(file, options, all, tiny_tokens, true));
      });
}

BOOST_AUTO_TEST_CASE(scores_have_the_same_bits_whatever_the_rows_of_a_step) {
  const std::vector<token_id> tokens = some_prompts(1, 60)[0];
  std::vector<std::vector<float>> expected;
  for (const std::size_t rows : {1u, 2u, 4u, 5u, 9u}) {
    fp32_engine engine = fp32_engine::load(tiny_model("hd80_4q2kv_v262"), {.max_batch = rows, .threads = 2});
    const auto logits = all_logits(engine, tokens);
    if (expected.empty()) expected = logits;
    BOOST_TEST((logits == expected), rows << " rows");
  }
}

BOOST_AUTO_TEST_CASE(smollm_in_int8_is_invariant_too, *boost::unit_test::precondition(smollm_is_here)) {
  constexpr std::size_t context = 128;
  constexpr int tokens = 5;
  const prompts all = border_prompts();
  const std::vector<outcome> expected = alone(TENON_TEST_MODEL, context, all, tokens);
  struct variant {
    std::size_t batch, chunk;
    int threads;
    bool cancelled;
  };
  for (const variant v : {variant{1, 1, 2, false}, variant{1, 7, 2, false}, variant{1, 64, 1, false},
                          variant{2, 16, 1, false}, variant{3, 512, 2, false}, variant{4, 33, 2, false},
                          variant{5, 512, 2, true}, variant{7, 64, 1, false}, variant{9, 512, 2, false}}) {
    BOOST_TEST_CONTEXT("batch " << v.batch << ", chunk " << v.chunk << ", threads " << v.threads) {
      const engine_options options = {
          .max_batch = v.batch, .context = context, .max_step_tokens = v.chunk, .threads = v.threads};
      check_same(expected, run(TENON_TEST_MODEL, options, all, tokens, v.cancelled));
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
