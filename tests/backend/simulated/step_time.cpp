// A step is the sum of its kernels.
#include <tenon/backend/simulated/step_time.hpp>
#include <tenon/cache/contiguous.hpp>
#include <tenon/format/f16.hpp>

#include <boost/test/unit_test.hpp>

#include <cstddef>

namespace {

using namespace tenon;
using namespace tenon::simulated;
using view = cache::contiguous::view;

constexpr model::shape llama_7b{32, 4096, 32, 32, 128, 128, 11008, 32000, 4096, false};
constexpr double kv_token = 512 * 1024;

simulated::step_time time_on(const device::description& d) {
  return {d, llama_7b, weights_of<f16, f16>(llama_7b), kv_token, 4096, 256};
}

/// `batch` sequences with `context` tokens each get one more.
model::step_counts decode(std::size_t batch, std::size_t context) {
  model::step_counts step;
  step.tokens = step.sampled = batch;
  for (std::size_t i = 0; i < batch; ++i) step.add_span<view>(context, 1);
  return step;
}

model::step_counts prefill(std::size_t tokens) {
  model::step_counts step;
  step.tokens = tokens;
  step.sampled = 1;
  step.add_span<view>(0, tokens);
  return step;
}

BOOST_AUTO_TEST_SUITE(step_time)

BOOST_AUTO_TEST_CASE(a_step_is_the_sum_of_its_kernels) {
  constexpr device::description d = device::a100_80gb::describe();
  const std::size_t rows = 24, hidden = 4096, vocabulary = 32000;
  const model::step_counts step = decode(rows, 700);
  const auto product = [&](std::size_t outputs, std::size_t inputs) {
    return product_time(d, {rows, outputs, inputs, 2.0 * static_cast<double>(outputs * inputs)},
                        arithmetic::f16);
  };
  const double norm = moving(d, 6.0 * rows * hidden);
  double expected = moving(d, rows * (2.0 + 4.0) * hidden) + moving(d, 4.0 * rows * 128) + norm;
  for (int layer = 0; layer < 32; ++layer) {
    expected += product(3 * hidden, hidden) + moving(d, 4.0 * rows * 3 * hidden) + product(hidden, hidden) +
                product(2 * 11008, hidden) + product(hidden, 11008) + (layer < 31 ? 2 : 1) * norm;
    expected += moving(d, rows * (701 * kv_token / 32 + 4.0 * hidden));
  }
  expected += norm + product(vocabulary, hidden) + moving(d, 4.0 * rows * vocabulary);
  const double kernels = 3 + 6 * 32 + 3;
  simulated::step_time time = time_on(d);
  BOOST_TEST(time.seconds(step, true) == expected + kernels * d.graph_launch,
             boost::test_tools::tolerance(1e-9));
  BOOST_TEST(time.seconds(step, false) == expected + kernels * d.eager_launch,
             boost::test_tools::tolerance(1e-9));
}

BOOST_AUTO_TEST_CASE(a_7b_model_on_an_a100_takes_11_ms_for_8_and_13_ms_for_16_sequences_at_most) {
  simulated::step_time time = time_on(device::a100_80gb::describe());
  BOOST_TEST(time.seconds(decode(8, 512), true) < 11e-3);
  BOOST_TEST(time.seconds(decode(16, 512), true) < 13e-3);
  BOOST_TEST(time.seconds(decode(8, 512), true) > 13.21e9 / 2039e9);  // no faster than its weights arrive
}

BOOST_AUTO_TEST_CASE(contexts_cost_what_their_keys_and_values_do) {
  constexpr device::description d = device::h100_sxm::describe();
  simulated::step_time time = time_on(d);
  const double more = time.seconds(decode(16, 2000), true) - time.seconds(decode(16, 1000), true);
  BOOST_TEST(more == 16 * 1000 * kv_token / (d.bandwidth_efficiency * d.bandwidth),
             boost::test_tools::tolerance(1e-9));
}

BOOST_AUTO_TEST_CASE(a_long_prompt_is_bound_by_its_operations) {
  constexpr device::description d = device::a100_80gb::describe();
  simulated::step_time time = time_on(d);
  const double seconds = time.seconds(prefill(2048), false);
  const double least = model::flops(llama_7b, prefill(2048)) / d.flops_16;
  BOOST_TEST(seconds > least / d.product_efficiency);
  BOOST_TEST(seconds < 2 * least);
}

BOOST_AUTO_TEST_CASE(two_devices_take_more_than_half_of_the_time_and_less_than_all) {
  simulated::step_time one = time_on(device::a100_80gb::describe());
  simulated::step_time two = time_on(device::tensor_parallel<device::a100_80gb, 2>::describe());
  for (const model::step_counts& step : {decode(16, 1000), prefill(1024)}) {
    const double ratio = two.seconds(step, true) / one.seconds(step, true);
    BOOST_TEST(ratio > 0.5);
    BOOST_TEST(ratio < 0.9);
  }
}

BOOST_AUTO_TEST_CASE(without_nvlink_long_prompts_gain_little) {
  using two = device::tensor_parallel<device::a100_80gb, 2>;
  using apart = device::tensor_parallel<device::over_pcie<device::a100_80gb>, 2>;
  static_assert(apart::name.view() == "2 x A100-80GB (PCIe)");
  const double slower = time_on(apart::describe()).seconds(prefill(1024), false) -
                        time_on(two::describe()).seconds(prefill(1024), false);
  const double sums = 2 * 32 * 1024 * 4096 * 2.0;  // bytes: two a layer
  BOOST_TEST(slower == sums * (1 / 20e9 - 1 / 160e9) + 64 * 5e-6, boost::test_tools::tolerance(1e-6));
}

BOOST_AUTO_TEST_CASE(rows_without_a_sample_skip_the_output_matrix) {
  simulated::step_time time = time_on(device::a100_80gb::describe());
  model::step_counts chunk = prefill(512);
  const double sampled = time.seconds(chunk, false);
  chunk.sampled = 0;
  BOOST_TEST(sampled - time.seconds(chunk, false) >= 2.0 * 32000 * 4096 / 2039e9);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
