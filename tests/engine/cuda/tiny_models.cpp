// The CUDA engine on eight small models with the head sizes, head ratios and vocabularies that break kernels: against an
// independent forward pass, and token for token against the host engine.
#include "engine/cuda/engines.hpp"
#include "engine/tiny_check.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

namespace {

using namespace tenon;
using namespace tenon::test;

using host_engine = cuda_fp32_engine::with<execution::eager>::with<backend::host>;

const engine_options options{.max_batch = 9, .context = 64, .max_step_tokens = 24, .threads = 2};

/// A request that draws, with a seed of its own.
template <class Engine>
typename Engine::params drawing(std::size_t i) {
  return {
      .temperature = 0.8f, .top_k = 40, .top_p = 0.9f, .seed = 100 + i, .max_tokens = 6, .ignore_eos = true};
}

template <class Engine>
std::vector<std::vector<token_id>> draw_all(const std::string& model) {
  Engine engine = Engine::load(tiny_model(model), options);
  std::vector<request_id> ids;
  const auto prompts = some_prompts(9, 25);
  for (std::size_t i = 0; i < prompts.size(); ++i)
    ids.push_back(engine.submit(prompts[i], drawing<Engine>(i)));
  run_to_end(engine);
  std::vector<std::vector<token_id>> tokens;
  for (const request_id id : ids) tokens.push_back(engine.take(id).value().tokens);
  return tokens;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(tiny_models)

BOOST_AUTO_TEST_CASE(fp32_on_cuda_gives_the_listed_logits_and_tokens) {
  check_models<cuda_fp32_engine>(fp32_bound);
}

BOOST_AUTO_TEST_CASE(what_is_drawn_on_cuda_is_what_the_host_draws) {
  for (const std::string model : {"hd64_9q3kv_v262", "hd80_4q2kv_v262", "hd128_key_length_2q1kv"}) {
    BOOST_TEST_CONTEXT(model) {
      BOOST_TEST((draw_all<cuda_fp32_engine>(model) == draw_all<host_engine>(model)));
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
