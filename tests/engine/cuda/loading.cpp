// Loading onto the device: what is planned and reported, and what is refused in words.
#include "engine/cuda/engines.hpp"
#include "tenon/backend/cuda/error.hpp"

#include <boost/test/unit_test.hpp>

#include <cuda_runtime_api.h>

#include <string>
#include <vector>

namespace {

using namespace tenon;
using namespace tenon::test;

std::size_t free_memory() {
  std::size_t free = 0, total = 0;
  BOOST_REQUIRE(cudaMemGetInfo(&free, &total) == cudaSuccess);
  return free;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(loading)

BOOST_AUTO_TEST_CASE(what_is_planned_is_what_is_allocated) {
  for (const std::string model : {"hd80_4q2kv_v262", "base_5e5"}) {
    const engine_options options{.max_batch = 3, .context = 64, .max_step_tokens = 32};
    const auto file = io::gguf_file::open(tiny_model(model));
    const memory_plan plan = cuda_fp32_engine::plan(file, options);
    const std::size_t before = free_memory();
    const cuda_fp32_engine engine = cuda_fp32_engine::load(tiny_model(model), options);
    // The runtime gives whole pieces of 512 bytes; there are some forty buffers.
    const std::size_t used = before - free_memory();
    BOOST_TEST(used >= plan.total());
    BOOST_TEST(used <= plan.total() + 64 * 512);
  }
}

BOOST_AUTO_TEST_CASE(a_device_that_is_too_small_is_refused_before_anything_is_loaded) {
  const std::size_t before = free_memory();
  try {
    const auto engine = cuda_fp32_engine::load(tiny_model("base_5e5"), {.max_batch = 9, .context = 1u << 30});
    BOOST_TEST(engine.context() < (1u << 20));  // the model's own context, which fits
  } catch (const error& refusal) {
    BOOST_TEST(std::string(refusal.what()).find("lower context to") != std::string::npos, refusal.what());
  }
  BOOST_TEST(free_memory() == before);
}

BOOST_AUTO_TEST_CASE(progress_rises_to_the_total) {
  std::vector<load_progress> seen;
  const auto engine =
      cuda_fp32_engine::load(tiny_model("base_5e5"),
                             {.context = 64, .progress = [&](const load_progress& p) { seen.push_back(p); }});
  BOOST_REQUIRE(!seen.empty());
  for (std::size_t i = 1; i < seen.size(); ++i) BOOST_TEST(seen[i].done > seen[i - 1].done);
  BOOST_TEST(seen.back().done == seen.back().total);
}

BOOST_AUTO_TEST_CASE(a_device_that_is_not_there_is_an_error_of_the_runtime) {
  BOOST_CHECK_THROW(cuda_fp32_engine::load(tiny_model("base_5e5"), {.context = 64, .device = 99}),
                    cuda_error);
}

BOOST_AUTO_TEST_SUITE_END()
