// An engine whose products are cuBLASLt's, beside one with our own kernels and the same rounding of activations.
#include "backend/cublaslt/engine.hpp"

#include "engine/rounded_cache.hpp"

#include <boost/test/unit_test.hpp>

#include <string>

namespace {

using namespace tenon;
using namespace tenon::test;

template <class Engine>
Engine load() {
  return Engine::load(tiny_model("bf16_hd64_6q2kv_v263"), {.max_batch = 2, .context = 64, .threads = 1});
}

}  // namespace

BOOST_AUTO_TEST_SUITE(engine)

/// A sum in another order may round an activation to its other neighbour, and that moves all behind it by as much as
/// rounding does: the first token, where hardly anything can, is our own kernels', and the others are as close to the
/// reference.
BOOST_AUTO_TEST_CASE(logits_are_those_of_our_own_kernels_but_for_the_order_of_sums) {
  const auto prompt = some_prompts(1, 40)[0];
  const reference::reference_llama model(io::gguf_file::open(tiny_model("bf16_hd64_6q2kv_v263").string()));
  const auto exact = model.all_logits(prompt);
  auto own = load<own_bf16_engine>();
  auto library = load<cublaslt_engine>();
  const auto expected = all_logits(own, prompt), seen = all_logits(library, prompt);
  BOOST_TEST(mean_difference({seen[0]}, {expected[0]}) < 1e-5);
  const double ours = mean_difference(exact, expected), theirs = mean_difference(exact, seen);
  BOOST_TEST(ours < 0.05);
  BOOST_TEST(theirs < 1.25 * ours, "off by " << theirs << ", and our own by " << ours);
}

BOOST_AUTO_TEST_CASE(steps_of_the_library_are_graphs_too_and_give_the_same_tokens) {
  auto own = load<own_bf16_engine>();
  auto library = load<cublaslt_engine>();
  for (const auto& prompt : some_prompts(2, 12))
    BOOST_TEST(greedy_tokens(library, prompt, 6) == greedy_tokens(own, prompt, 6),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(the_plan_counts_the_librarys_memory_and_the_name_tells_of_it) {
  const auto file = io::gguf_file::open(tiny_model("bf16_hd64_6q2kv_v263").string());
  const engine_options options{.max_batch = 2, .context = 64};
  BOOST_TEST(cublaslt_engine::plan(file, options).workspace >
             own_bf16_engine::plan(file, options).workspace + (std::size_t{32} << 20));
  BOOST_TEST(std::string(cublaslt_engine::description()).find("backend cuda, cuBLASLt") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
