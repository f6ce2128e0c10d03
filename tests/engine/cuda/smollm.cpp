// SmolLM2 on CUDA, as the user would run it, against the host engine.
#include "engine/cuda/engines.hpp"

#include <boost/test/unit_test.hpp>

#include <vector>

namespace {
using namespace tenon;
using namespace tenon::test;

using host_engine = cuda_smollm_engine::with<execution::eager>::with<backend::host>;
}  // namespace

BOOST_AUTO_TEST_SUITE(smollm)

BOOST_AUTO_TEST_CASE(sixteen_tokens_are_the_host_engines, *boost::unit_test::precondition(smollm_is_here)) {
  const engine_options options{.max_batch = 4, .context = 128, .threads = 2};
  host_engine host = host_engine::load(TENON_TEST_MODEL, options);
  cuda_smollm_engine cuda = cuda_smollm_engine::load(TENON_TEST_MODEL, options);
  const std::vector<text::message> chat = {{"user", "What is the capital of France?"}};
  const std::vector<token_id> prompt = host.chat_tokens(chat);
  BOOST_TEST(greedy_tokens(cuda, prompt, 16) == greedy_tokens(host, prompt, 16),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
