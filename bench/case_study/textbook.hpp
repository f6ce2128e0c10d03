// The figures that a textbook reports of a 7B model in 16 bits on an A100, and what they say of its systems.
#pragma once

#include <cstddef>
#include <tenon/engine.hpp>

namespace case_study {

/// A system as reported: before, a static batch of 8; after, a continuous batch of 16.
struct reported_system {
  std::size_t batch;
  double ttft_ms, tpot_ms, output_throughput;
};
inline constexpr reported_system reported_static{8, 800, 45, 180};
inline constexpr reported_system reported_continuous{16, 450, 38, 420};

/// It says that 90 % of the bandwidth is used to read this much in a step of 45 ms.
inline constexpr double reported_bytes = 22.6e9;

/// A 7B model: 32 layers of 32 heads of 128, as Llama 2's.
inline constexpr tenon::model::shape model_7b{32, 4096, 32, 32, 128, 128, 11008, 32000, 4096, false};

/// Tokens of a request at most, prompt and answer.
inline constexpr std::size_t max_length = 2048;

/// A step in which a batch decodes, on an A100 with good kernels.
struct decode_step {
  double bytes = 0;    // that have to move
  double seconds = 0;  // of the device
};
inline decode_step decode_step_of(std::size_t batch, std::size_t context) {
  using namespace tenon;
  model::step_counts step;
  step.steps = step.sampling_steps = 1;
  step.tokens = step.sampled = batch;
  for (std::size_t i = 0; i < batch; ++i) step.add_span<cache::contiguous::view>(context - 1, 1);
  const auto sizes = model::model_bytes::of<f16, f16, f16>(model_7b);
  simulated::step_time time(device::a100_80gb::describe(), model_7b,
                            simulated::weights_of<f16, f16>(model_7b), sizes.kv_token, batch, batch);
  return {model::bytes(sizes, step), time.seconds(step, true)};
}

/// What the host of each system must have taken between two steps, if its kernels were good and requests were half of the longest
/// kind: its TPOT less the device's step, in microseconds. tests/bench/case_study holds them.
inline constexpr std::size_t static_gap_us = 33700;
inline constexpr std::size_t continuous_gap_us = 24100;

}  // namespace case_study
