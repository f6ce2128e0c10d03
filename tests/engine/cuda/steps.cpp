// What a decode step costs besides its kernels: one launch of a graph, one wait, and no memory.
#include "engine/cuda/engines.hpp"
#include "engine/cuda/runtime_calls.hpp"

#include "tenon/backend/cuda/error.hpp"

#include <boost/test/unit_test.hpp>

#include <vector>

namespace {

using namespace tenon;
using namespace tenon::test;

cuda_smollm_engine load_smollm(std::size_t max_batch) {
  return cuda_smollm_engine::load(TENON_TEST_MODEL, {.max_batch = max_batch, .context = 64, .threads = 2});
}

}  // namespace

BOOST_AUTO_TEST_SUITE(steps)

BOOST_AUTO_TEST_CASE(a_decode_step_of_one_sequence_is_one_graph_of_at_most_six_kernels_a_layer,
                     *boost::unit_test::precondition(smollm_is_here)) {
  auto engine = load_smollm(1);
  BOOST_REQUIRE(!calls_so_far().kernels_of_graphs.empty());
  const std::size_t kernels = calls_so_far().kernels_of_graphs.back();
  // What comes before the layers and behind them is fewer than a kernel for each layer.
  BOOST_TEST(kernels < 7 * smollm_shape.layers);
  BOOST_TEST(kernels > smollm_shape.layers);
  BOOST_TEST_MESSAGE(kernels << " kernels for " << smollm_shape.layers << " layers");

  auto request = greedy<cuda_smollm_engine>(8);
  request.ignore_eos = true;
  engine.submit(std::vector<token_id>{5, 6}, request);
  engine.step();  // the prompt
  engine.step();
  const runtime_calls before = calls_so_far();
  for (int i = 0; i < 3; ++i) engine.step();
  const runtime_calls after = calls_so_far();
  BOOST_TEST(!engine.idle());
  BOOST_TEST(after.graph_launches - before.graph_launches == 3u);
  BOOST_TEST(after.waits - before.waits == 3u);
  BOOST_TEST(after.copies - before.copies == 0u);  // they are in the graph
  BOOST_TEST(after.allocations - before.allocations == 0u);
  BOOST_TEST(after.kernels_of_graphs.size() == before.kernels_of_graphs.size());
}

BOOST_AUTO_TEST_CASE(eager_steps_of_any_shape_allocate_nothing_once_the_engine_is_there) {
  auto engine = cuda_eager_engine::load(tiny_model("hd64_9q3kv_v262"), {.max_batch = 4, .context = 64});
  const std::size_t before = calls_so_far().allocations;
  for (const auto& prompt : some_prompts(4, 20)) {
    typename cuda_eager_engine::params request{
        .temperature = 0.8f, .top_p = 0.9f, .seed = 3, .max_tokens = 6};
    request.min_tokens = 4;
    for (token_id stop = 0; stop < 200; ++stop) request.stop_token_ids.push_back(stop);
    engine.submit(prompt, request);
    engine.step();
  }
  run_to_end(engine);
  BOOST_TEST(calls_so_far().allocations == before);
}

BOOST_AUTO_TEST_CASE(a_device_whose_memory_runs_out_at_any_allocation_refuses_the_engine_and_keeps_nothing) {
  const auto load = [] {
    return cuda_eager_engine::load(tiny_model("base_5e5"), {.max_batch = 2, .context = 32});
  };
  const auto free_bytes = [] {
    std::size_t free = 0, total = 0;
    cuda::check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
    return free;
  };
  auto engine = load();
  const std::vector<token_id> prompt = {5, 6, 7}, expected = greedy_tokens(engine, prompt, 4);
  const std::size_t free_before = free_bytes();
  std::size_t refused = 0;
  for (std::size_t point = 1;; ++point) {
    BOOST_REQUIRE(point < 200u);
    fail_allocation(point);
    try {
      const auto another = load();
      break;
    } catch (const cuda_error& refusal) {
      BOOST_TEST(refusal.code() == cudaErrorMemoryAllocation);
    }
    ++refused;
    BOOST_TEST(free_bytes() == free_before);
    BOOST_TEST((greedy_tokens(engine, prompt, 4) == expected));
  }
  fail_allocation(0);
  BOOST_TEST(refused > 20u);
}

BOOST_AUTO_TEST_SUITE_END()
