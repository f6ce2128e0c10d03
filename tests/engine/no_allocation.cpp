// A decode step allocates nothing, on any thread.
#include "engine/counted_memory.hpp"
#include "engine/engines.hpp"

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace {

using namespace tenon;
using namespace tenon::test;

/// Allocations in 24 decode steps of a batch of four, whose prompts have been computed and which do not end.
template <class Engine>
std::size_t allocations_while_decoding(const typename Engine::params& request) {
  Engine engine = Engine::load(tiny_model("hd80_4q2kv_v262"), {.max_batch = 4, .context = 96, .threads = 2});
  std::size_t bytes = 0;
  for (const auto& prompt : some_prompts(4, 30)) {
    engine.submit(prompt, request, {.on_piece = [&bytes](const piece& p) { bytes += p.text.size(); }});
  }
  engine.step();  // all prompts at once, and the first tokens
  engine.step();
  const std::size_t before = allocations_so_far();
  for (int step = 0; step < 24; ++step) engine.step();
  const std::size_t after = allocations_so_far();
  BOOST_TEST(!engine.idle());
  BOOST_TEST(bytes > 0u);
  return after - before;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(no_allocation)

BOOST_AUTO_TEST_CASE(the_count_counts_every_thread) {
  fp32_engine engine = fp32_engine::load(tiny_model("base_5e5"), {.context = 64, .threads = 2});
  const std::size_t before = allocations_so_far();
  engine.submit(std::vector<token_id>{107, 104}, greedy<fp32_engine>(4));
  BOOST_TEST(allocations_so_far() > before);
}

BOOST_AUTO_TEST_CASE(greedy_decoding_allocates_nothing) {
  int8_engine::params request = greedy<int8_engine>(60);
  request.ignore_eos = true;
  BOOST_TEST(allocations_while_decoding<int8_engine>(request) == 0u);
}

BOOST_AUTO_TEST_CASE(drawing_with_stop_strings_allocates_nothing) {
  fp32_engine::params request = {
      .temperature = 1.3f,
      .top_k = 50,
      .top_p = 0.95f,
      .min_p = 0.001f,
      .seed = 5,
      .max_tokens = 60,
      .min_tokens = 55,  // so that end tokens are banned in every step
      .stop = {"a stop string that is quite long and never comes up", "\xef\xbf\xbd!!!!"}};
  BOOST_TEST(allocations_while_decoding<fp32_engine>(request) == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
