// Whole engines that others have measured on devices that backend::simulated describes.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <tenon/engine.hpp>
#include <vector>

namespace simulated_error {

/// What was published of a run.
enum class figure {
  output_tokens_per_second,  // of all requests, from the first to the last token's end
  first_token_ms,
};

/// Requests that are there at once.
struct published_run {
  std::string_view source, device, model, weights;
  std::size_t batch, prompt, output;
  figure what;
  double value;
};

inline constexpr tenon::model::shape llama_2_7b{32, 4096, 32, 32, 128, 128, 11008, 32000, 4096, false};
inline constexpr tenon::model::shape mistral_7b{32, 4096, 32, 8, 128, 128, 14336, 32000, 32768, false};

/// LMDeploy: its benchmark of 0.2 on an A100 in 16 bits (docs/en/benchmark/a100_fp16.md). TensorRT-LLM: performance.md of 0.5.
/// gpt-fast, calm, yalm: their READMEs; gpt-fast's card was held to 330 W.
inline constexpr published_run published_runs[] = {
    {"LMDeploy", "A100-80GB", "Llama-2-7B", "f16", 1, 128, 128, figure::output_tokens_per_second, 102},
    {"LMDeploy", "A100-80GB", "Llama-2-7B", "f16", 16, 128, 128, figure::output_tokens_per_second, 1272},
    {"LMDeploy", "A100-80GB", "Llama-2-7B", "f16", 16, 128, 2048, figure::output_tokens_per_second, 1011},
    {"LMDeploy", "A100-80GB", "Llama-2-7B", "f16", 16, 2048, 2048, figure::output_tokens_per_second, 602},
    {"LMDeploy", "A100-80GB", "Llama-2-7B", "f16", 32, 128, 128, figure::output_tokens_per_second, 2125},
    {"LMDeploy", "A100-80GB", "Llama-2-7B", "f16", 64, 128, 128, figure::output_tokens_per_second, 3024},
    {"TensorRT-LLM", "A100-80GB", "Llama-2-7B", "f16", 64, 128, 128, figure::output_tokens_per_second, 3486},
    {"TensorRT-LLM", "A100-80GB", "Llama-2-7B", "f16", 1, 128, 1, figure::first_token_ms, 16},
    {"TensorRT-LLM", "A100-80GB", "Llama-2-7B", "f16", 1, 2048, 1, figure::first_token_ms, 133},
    {"gpt-fast", "A100-80GB", "Llama-2-7B", "f16", 1, 5, 200, figure::output_tokens_per_second, 104.9},
    {"calm", "RTX-4090", "Llama-2-7B", "f16", 1, 1, 256, figure::output_tokens_per_second, 67},
    {"yalm", "RTX-4090", "Mistral-7B", "f16", 1, 1, 256, figure::output_tokens_per_second, 63.8},
    {"calm", "RTX-4090", "Llama-2-7B", "e4m3", 1, 1, 256, figure::output_tokens_per_second, 128},
    {"gpt-fast", "A100-80GB", "Llama-2-7B", "q8_0", 1, 5, 200, figure::output_tokens_per_second, 155.6},
    {"gpt-fast", "A100-80GB", "Llama-2-7B", "q4_0", 1, 5, 200, figure::output_tokens_per_second, 196.8},
};

/// The same figure on a simulated device.
template <class Engine>
double simulated_figure(const published_run& run) {
  const tenon::model::shape& shape = run.model == "Mistral-7B" ? mistral_7b : llama_2_7b;
  Engine engine = Engine::simulate(
      shape, {.max_batch = run.batch, .context = run.prompt + run.output, .max_step_tokens = 2048});
  const auto begin = engine.now();
  const std::vector<tenon::token_id> prompt(run.prompt, 'a');
  tenon::request_id id = 0;
  for (std::size_t i = 0; i < run.batch; ++i)
    id = engine.submit(prompt, {.max_tokens = static_cast<std::int32_t>(run.output), .ignore_eos = true});
  while (engine.step()) continue;
  const double seconds = tenon::measure::seconds(begin, engine.now());
  if (run.what == figure::first_token_ms) return 1e3 * engine.take(id).value().times.ttft();
  return static_cast<double>(run.batch * run.output) / seconds;
}

template <class Device, class HostGap, class Weight>
using engine_on = tenon::engine<
    tenon::model::llama, tenon::backend::simulated<Device, HostGap>,
    tenon::precision::mixed<tenon::weights<Weight>, tenon::activations<tenon::f16>>, tenon::cache::paged<16>,
    tenon::sampling::greedy,
    tenon::batching::continuous<tenon::batching::queue::fcfs, tenon::batching::prefill::chunked<2048>,
                                tenon::batching::preemption::recompute<>, 64>>;

/// What a run comes to where the host takes so long between two steps; 0 for a device that is not known here.
template <class HostGap>
double simulate(const published_run& run) {
  using namespace tenon;
  const bool a100 = run.device == device::a100_80gb::name.view();
  if (a100 && run.weights == "f16") return simulated_figure<engine_on<device::a100_80gb, HostGap, f16>>(run);
  if (a100 && run.weights == "q8_0")
    return simulated_figure<engine_on<device::a100_80gb, HostGap, q8_0>>(run);
  if (a100 && run.weights == "q4_0")
    return simulated_figure<engine_on<device::a100_80gb, HostGap, q4_0>>(run);
  const bool rtx_4090 = run.device == device::rtx_4090::name.view();
  if (rtx_4090 && run.weights == "f16")
    return simulated_figure<engine_on<device::rtx_4090, HostGap, f16>>(run);
  if (rtx_4090 && run.weights == "e4m3")
    return simulated_figure<engine_on<device::rtx_4090, HostGap, e4m3>>(run);
  return 0;
}

}  // namespace simulated_error
