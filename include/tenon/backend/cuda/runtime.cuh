// What is behind cuda::runtime: the device, the loaded model, the cache's memory, and the step, eager or as a graph.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tenon/backend/cuda/banned_tokens.hpp"
#include "tenon/backend/cuda/device.hpp"
#include "tenon/backend/cuda/graph.hpp"
#include "tenon/backend/cuda/kernel/sample.cuh"
#include "tenon/backend/cuda/kv_store.hpp"
#include "tenon/backend/cuda/load.hpp"
#include "tenon/backend/cuda/ops.cuh"
#include "tenon/backend/cuda/runtime.hpp"
#include "tenon/backend/cuda/step_inputs.cuh"
#include "tenon/backend/cuda/workspace.hpp"
#include "tenon/backend/host/thread_team.hpp"
#include "tenon/model/llama_forward.hpp"

namespace tenon::cuda {

namespace detail {

/// The batch sizes that graphs are captured for: a step is padded to the next. Powers of two first, then every eighth.
inline std::vector<std::size_t> graph_buckets(std::size_t max_batch) {
  std::vector<std::size_t> sizes;
  for (std::size_t size = 1; size < max_batch; size += size < 8 ? size : 8) sizes.push_back(size);
  sizes.push_back(max_batch);
  return sizes;
}

/// A step in which every sequence decodes: each row is a span, and is sampled.
inline bool is_decode(const step_plan& plan) {
  return plan.tokens.size() == plan.spans.size() && plan.sampled_rows.size() == plan.spans.size();
}

/// What attention needs for steps of this capacity. Sequences that share a prefix hold more positions than there are rows.
inline attention_sizes attention_size(const model::shape& s, const step_capacity& capacity) {
  return attention_sizes::of(capacity.max_tokens, capacity.max_batch, capacity.max_batch * capacity.context,
                             static_cast<int>(s.heads), static_cast<int>(s.kv_heads),
                             static_cast<int>(s.head_dim));
}

/// Refuses shapes that the kernels do not take.
[[gnu::cold]] inline void check_shape(const io::gguf_file& file, const model::shape& s) {
  const auto refuse = [&](const std::string& what) {
    throw file.fault(0, concat(what, ", which the kernels of backend::cuda do not take; use backend::host"));
  };
  if (s.hidden % 4 != 0) refuse(concat("the embedding_length is ", s.hidden, ", not a multiple of 4"));
  if (!attention_takes(static_cast<int>(s.heads), static_cast<int>(s.kv_heads), static_cast<int>(s.head_dim)))
    refuse(concat("there are ", s.heads, " heads of ", s.head_dim, " on ", s.kv_heads, " key-value heads"));
}

}  // namespace detail

template <class Model, precision::policy Precision, cache::layout_view View, class Sampling, class Execution,
          class Instrumentation, class Gemm>
struct runtime<Model, Precision, View, Sampling, Execution, Instrumentation, Gemm>::state {
  using request = row_request<Sampling>;
  using store = kv_store<typename Precision::key, typename Precision::value>;
  using products = engine_products<Precision, Gemm>;
  using step_ops = ops<Model, Precision, View, request, Instrumentation, products>;
  using range = typename Instrumentation::range;

  explicit state(const engine_options& options)
      : device(device_info::of(options.device)),
        on(options.stream != nullptr ? stream(options.stream) : stream()),
        host_threads(options.threads) {}

  device_info device;
  stream on;
  int host_threads;
  model::description description;
  std::size_t tokens = 0;  // of the tokenizer; logits behind belong to no token
  loaded_weights weights;
  // Of steps; there once load() has been called.
  std::optional<workspace> memory;
  std::optional<attention_memory> attention;
  std::optional<products> gemm;
  std::optional<store> cache;
  swapped_rows swapped;
  std::optional<step_inputs<View, request>> inputs;
  std::optional<banned_tokens> banned;
  std::optional<sampler<Sampling>> sampling;
  device_buffer<chosen_token> chosen;
  pinned_buffer<chosen_token> choices;
  pinned_buffer<float> logits;  // made by the first call of runtime::logits()
  std::vector<std::size_t> buckets;
  std::vector<graph> graphs;  // one for each bucket

  /// Puts the forward pass for the plan in `inputs` on the stream.
  void forward(std::size_t rows, std::size_t sampled, attention_extent extent) {
    const range stage("forward");
    extent.splits = attention_split_blocks(extent.spans, static_cast<int>(description.shape.kv_heads),
                                           device.multiprocessors);
    step_ops bound(
        {on, description, *memory, *attention, *gemm, *cache, inputs->on_device(), rows, sampled, extent});
    model::llama_forward(bound, weights.parts, description.constants.norm_epsilon);
  }

  /// The same, then sampling, and the way of the tokens back.
  void forward_and_sample(std::size_t rows, std::size_t sampled, const attention_extent& extent) {
    inputs->copy(on);
    forward(rows, sampled, extent);
    if (sampled == 0) return;
    const range stage("sample");
    sampling->run(on, memory->logits.data(), logit_stride(description.shape.vocabulary), sampled, tokens,
                  inputs->on_device().requests, chosen.data());
    check(cudaMemcpyAsync(choices.data(), chosen.data(), sampled * sizeof(chosen_token),
                          cudaMemcpyDeviceToHost, on.get()),
          "cudaMemcpyAsync");
  }

  void write_requests(std::span<const sampling::row<Sampling>> rows, std::size_t padded) {
    banned->clear();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const token_id* place = banned->add(rows[i].banned);
      inputs->requests()[i] = make_row_request<Sampling>(*rows[i].request, rows[i].seed, rows[i].token_index,
                                                         place, static_cast<int>(rows[i].banned.size()));
    }
    for (std::size_t i = rows.size(); i < padded; ++i) inputs->requests()[i] = inputs->requests()[0];
    banned->copy(on);
  }

  void capture_graphs(std::size_t max_batch) {
    buckets = detail::graph_buckets(max_batch);
    for (const std::size_t size : buckets) {
      const attention_extent decodes{.spans = static_cast<int>(size), .longest = 1, .has_split = true};
      graphs.push_back(graph::capture(on, [&] { forward_and_sample(size, size, decodes); }));
    }
  }
};

#define TENON_DETAIL_RUNTIME                                                                   \
  template <class Model, precision::policy Precision, cache::layout_view View, class Sampling, \
            class Execution, class Instrumentation, class Gemm>
#define TENON_DETAIL_RUNTIME_CLASS runtime<Model, Precision, View, Sampling, Execution, Instrumentation, Gemm>

TENON_DETAIL_RUNTIME
[[gnu::cold]] TENON_DETAIL_RUNTIME_CLASS::runtime(const engine_options& options) {
  const device_scope here(options.device);
  state_ = std::make_unique<state>(options);
  state_->device.require();
}
TENON_DETAIL_RUNTIME
TENON_DETAIL_RUNTIME_CLASS::runtime(runtime&&) noexcept = default;
TENON_DETAIL_RUNTIME
TENON_DETAIL_RUNTIME_CLASS& TENON_DETAIL_RUNTIME_CLASS::operator=(runtime&&) noexcept = default;
TENON_DETAIL_RUNTIME
TENON_DETAIL_RUNTIME_CLASS::~runtime() = default;

TENON_DETAIL_RUNTIME
[[gnu::cold]] void TENON_DETAIL_RUNTIME_CLASS::load(const io::gguf_file& file,
                                                    const model::description& description,
                                                    const step_capacity& capacity, std::size_t tokens,
                                                    const progress_callback& progress) {
  state& s = *state_;
  const device_scope here(s.device.ordinal);
  const model::shape& shape = description.shape;
  detail::check_shape(file, shape);
  const memory_plan needed{weight_bytes(file, description), cache_bytes(description, capacity),
                           workspace_bytes(file, description, capacity), capacity.max_batch,
                           capacity.context};
  std::size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
  if (const std::string shortage = needed.shortage(free); !shortage.empty())
    throw error(concat("device ", s.device.ordinal, " (", s.device.name, "): ", shortage));

  s.description = description;
  s.tokens = tokens;
  {
    host::thread_team team(s.host_threads > 0 ? s.host_threads
                                              : static_cast<int>(std::thread::hardware_concurrency()));
    const model::llama_tensors tensors(file, shape);
    s.weights = load_llama<typename state::products>(file, tensors, team, progress);
  }
  s.memory.emplace(shape, forms_of<typename state::products>(s.weights.parts), capacity.max_tokens,
                   capacity.max_batch, s.on);
  s.gemm.emplace(shape, capacity.max_tokens);
  s.attention.emplace(detail::attention_size(shape, capacity), s.on);
  s.cache.emplace(shape.layers, shape.kv_heads, capacity.cache_rows, shape.head_dim, s.on);
  s.swapped = s.cache->make_swapped(capacity.swap_rows);
  s.inputs.emplace(capacity);
  s.banned.emplace(capacity.max_batch);
  s.sampling.emplace(capacity.max_batch, tokens, s.on);
  s.chosen = device_buffer<chosen_token>(capacity.max_batch);
  s.choices = pinned_buffer<chosen_token>(capacity.max_batch);
  s.on.synchronize();
  if constexpr (Execution::replays_graphs) s.capture_graphs(capacity.max_batch);
}

TENON_DETAIL_RUNTIME
void TENON_DETAIL_RUNTIME_CLASS::copy_blocks(std::span<const cache::block_copy> copies,
                                             std::size_t block_size) {
  state& s = *state_;
  const device_scope here(s.device.ordinal);
  for (const cache::block_copy& copy : copies) {
    s.cache->copy_rows(copy.kind, s.swapped, static_cast<std::size_t>(copy.from) * block_size,
                       static_cast<std::size_t>(copy.to) * block_size, block_size, s.on);
  }
}

TENON_DETAIL_RUNTIME
void TENON_DETAIL_RUNTIME_CLASS::step(const step_plan& plan, std::span<const View> views,
                                      std::span<const sampling::row<Sampling>> rows,
                                      std::span<sampling::result> choices) {
  state& s = *state_;
  const device_scope here(s.device.ordinal);
  const typename state::range stage("step");
  if (Execution::replays_graphs && detail::is_decode(plan)) {
    const auto bucket = std::lower_bound(s.buckets.begin(), s.buckets.end(), rows.size());
    s.inputs->write(plan, views, *bucket, s.description.shape);
    s.write_requests(rows, *bucket);
    s.graphs[static_cast<std::size_t>(bucket - s.buckets.begin())].launch(s.on);
  } else {
    const attention_extent extent = s.inputs->write(plan, views, plan.tokens.size(), s.description.shape);
    s.write_requests(rows, rows.size());
    s.forward_and_sample(plan.tokens.size(), rows.size(), extent);
  }
  s.on.synchronize();
  for (std::size_t i = 0; i < rows.size(); ++i) choices[i] = {s.choices[i].token, s.choices[i].fault};
}

TENON_DETAIL_RUNTIME
std::span<const float> TENON_DETAIL_RUNTIME_CLASS::logits(const step_plan& plan,
                                                          std::span<const View> views) {
  state& s = *state_;
  const device_scope here(s.device.ordinal);
  const std::size_t vocabulary = s.description.shape.vocabulary, rows = plan.sampled_rows.size();
  if (s.logits.size() < rows * vocabulary) s.logits = pinned_buffer<float>(rows * vocabulary);
  const attention_extent extent = s.inputs->write(plan, views, plan.tokens.size(), s.description.shape);
  s.inputs->copy(s.on);
  s.forward(plan.tokens.size(), rows, extent);
  check(cudaMemcpy2DAsync(s.logits.data(), vocabulary * sizeof(float), s.memory->logits.data(),
                          logit_stride(vocabulary) * sizeof(float), vocabulary * sizeof(float), rows,
                          cudaMemcpyDeviceToHost, s.on.get()),
        "cudaMemcpy2DAsync");
  s.on.synchronize();
  return {s.logits.data(), rows * vocabulary};
}

TENON_DETAIL_RUNTIME
[[gnu::cold]] std::size_t TENON_DETAIL_RUNTIME_CLASS::weight_bytes(const io::gguf_file& file,
                                                                   const model::description& description) {
  std::size_t bytes = 0;
  const model::llama_tensors tensors(file, description.shape);  // the loop would not keep a temporary alive
  for (const model::tensor_use& use : tensors.uses())
    bytes += device_bytes<typename state::products>(file, tensors, use);
  return bytes;
}

TENON_DETAIL_RUNTIME
[[gnu::cold]] std::size_t TENON_DETAIL_RUNTIME_CLASS::cache_bytes(const model::description& description,
                                                                  const step_capacity& capacity) {
  const model::shape& s = description.shape;
  return state::store::bytes(s.layers, s.kv_heads, capacity.cache_rows, s.head_dim);
}

TENON_DETAIL_RUNTIME
[[gnu::cold]] std::size_t TENON_DETAIL_RUNTIME_CLASS::workspace_bytes(const io::gguf_file& file,
                                                                      const model::description& description,
                                                                      const step_capacity& capacity) {
  activation_forms any;  // of all matrices: a bound, met when each place has the same formats
  for (const io::gguf_tensor& tensor : file.tensors()) {
    if (tensor.dimensions().size() == 2) any = any | state::products::reads(tensor.type);
  }
  const model::shape& s = description.shape;
  return workspace::bytes(s, {any, any, any, any}, capacity.max_tokens, capacity.max_batch) +
         detail::attention_size(s, capacity).bytes() +
         step_inputs<View, typename state::request>::bytes(capacity) +
         sampler<Sampling>::bytes(capacity.max_batch, s.vocabulary) +
         state::products::bytes(s, capacity.max_tokens) + banned_tokens::bytes(capacity.max_batch) +
         capacity.max_batch * sizeof(chosen_token);
}

#undef TENON_DETAIL_RUNTIME
#undef TENON_DETAIL_RUNTIME_CLASS

}  // namespace tenon::cuda
