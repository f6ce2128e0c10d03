// The host backend at run time: the thread team, the loaded model, the cache's memory and the step.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "tenon/backend/host/load.hpp"
#include "tenon/backend/host/ops.hpp"
#include "tenon/cache/block_copy.hpp"
#include "tenon/engine/options.hpp"
#include "tenon/model/llama.hpp"
#include "tenon/model/llama_forward.hpp"
#include "tenon/sample/row.hpp"
#include "tenon/sample/sampler.hpp"

namespace tenon::host {

namespace detail {

template <class Model>
struct heads_of {
  using type = head_shape;
};
template <class Model>
requires(Model::has_fixed_shape) struct heads_of<Model> {
  using type = fixed_head_shape<Model::shape.heads, Model::shape.kv_heads, Model::shape.head_dim,
                                Model::shape.rotated>;
};

}  // namespace detail

/// One model on this machine's processor. Everything but weights is specific to the types it is made of.
template <class Isa, class Model, precision::policy Precision, cache::layout_view View>
class runtime {
  using heads_type = typename detail::heads_of<Model>::type;
  using step_ops = ops<Isa, Precision, View, heads_type>;
  using formats = typename Precision::weight_formats;
  using store = typename step_ops::store;

 public:
  /// Starts the thread team.
  explicit runtime(const engine_options& options)
      : team_(std::make_unique<thread_team>(
            options.threads > 0 ? options.threads : static_cast<int>(std::thread::hardware_concurrency()))),
        scratch_(static_cast<std::size_t>(team_->size())) {}

  /// Loads the weights, and allocates cache and workspace for steps of this capacity. `tokens` is the size of
  /// the tokenizer's vocabulary, which may be smaller than the model's. Throws load_error.
  void load(const io::gguf_file& file, const model::description& description, const step_capacity& capacity,
            std::size_t tokens, const progress_callback& progress) {
    description_ = description;
    tokens_ = tokens;
    const model::llama_tensors tensors(file, description.shape);
    weights_ = load_llama<Isa, formats>(file, tensors, *team_, progress);
    if constexpr (!Model::has_fixed_shape) {
      const model::shape& s = description.shape;
      heads_ = {s.heads, s.kv_heads, s.head_dim, s.rotated};
    }
    const model::shape& s = description_.shape;
    workspace_ = workspace(s, forms(), capacity.max_tokens, capacity.max_batch);
    cache_ = store(s.layers, s.kv_heads, capacity.cache_rows, s.head_dim);
    swapped_ = store(s.layers, s.kv_heads, capacity.swap_rows, s.head_dim);
    for (thread_scratch& scratch : scratch_) scratch.attention = buffer<float>(attention_scratch(heads_));
    for (int i = 0; i < team_->size(); ++i) candidates_.emplace_back(tokens);
  }

  /// Makes copies of blocks of `block_size` rows, in this order.
  void copy_blocks(std::span<const cache::block_copy> copies, std::size_t block_size) {
    using enum cache::copy_kind;
    const std::size_t heads = description_.shape.kv_heads;
    team_->run([&](team_member& member) {
      member.for_each(description_.shape.layers * heads, [&](std::size_t i) {
        for (const cache::block_copy& copy : copies) {
          const store& from = copy.kind == from_host ? swapped_ : cache_;
          store& to = copy.kind == to_host ? swapped_ : cache_;
          to.copy_rows(i / heads, i % heads, from, static_cast<std::size_t>(copy.from) * block_size,
                       static_cast<std::size_t>(copy.to) * block_size, block_size);
        }
      });
    });
  }

  /// Runs the plan and draws a token for each of its sampled rows: choices[i] for rows[i].
  template <class Sampling>
  void step(const step_plan& plan, std::span<const View> views, std::span<const sampling::row<Sampling>> rows,
            std::span<sampling::result> choices) {
    team_->run([&](team_member& member) {
      forward(member, plan, views);
      member.for_each(rows.size(), [&](std::size_t i) {
        const float* logits = workspace_.logits.data() + i * description_.shape.vocabulary;
        choices[i] = draw({logits, tokens_}, rows[i], candidates_[static_cast<std::size_t>(member.rank())]);
      });
    });
  }

  /// Runs the plan; returns the logits of its sampled rows, [rows, vocabulary of the model], which are valid
  /// until the next step.
  std::span<const float> logits(const step_plan& plan, std::span<const View> views) {
    team_->run([&](team_member& member) { forward(member, plan, views); });
    return {workspace_.logits.data(), plan.sampled_rows.size() * description_.shape.vocabulary};
  }

  /// Bytes for a file's weights, a cache and a workspace, before anything is loaded. Throws load_error for a
  /// file that would not load.
  static std::size_t weight_bytes(const io::gguf_file& file, const model::description& description) {
    std::size_t bytes = 0;
    const model::llama_tensors tensors(file, description.shape);  // the loop would not keep a temporary alive
    for (const model::tensor_use& use : tensors.uses()) {
      backend::check_format<formats>(file, use);
      if (use.rows == 0) bytes += use.columns * sizeof(float);
      formats::visit(use.tensor->type, [&]<class Format>() {
        if (use.rows != 0) bytes += matrix::bytes_of<Isa, Format>(use.rows, use.columns);
      });
    }
    return bytes;
  }
  static std::size_t cache_bytes(const model::description& description, const step_capacity& capacity) {
    const model::shape& s = description.shape;
    return s.layers * s.kv_heads * (capacity.cache_rows + capacity.swap_rows) *
           (cache_row_bytes<typename Precision::key>(s.head_dim) +
            cache_row_bytes<typename Precision::value>(s.head_dim));
  }
  static std::size_t workspace_bytes(const io::gguf_file& file, const model::description& description,
                                     const step_capacity& capacity) {
    activation_forms any;  // of all matrices: a bound, met when each place has the same formats
    for (const io::gguf_tensor& tensor : file.tensors()) {
      if (tensor.dimensions().size() == 2) any = any | form(tensor.type);
    }
    return workspace::bytes(description.shape, {any, any, any, any}, capacity.max_tokens, capacity.max_batch);
  }

  int threads() const { return team_->size(); }
  const llama_weights& weights() const { return weights_; }
  std::size_t cache_bytes() const { return cache_.bytes(); }

 private:
  void forward(team_member& member, const step_plan& plan, std::span<const View> views) {
    thread_scratch& scratch = scratch_[static_cast<std::size_t>(member.rank())];
    step_ops bound({member, scratch}, workspace_, cache_, plan, views, heads_,
                   description_.constants.rope_base);
    model::llama_forward(bound, weights_, description_.constants.norm_epsilon);
  }

  /// What a stage throws ends its request: an exception that left a thread would end the program.
  template <class Sampling>
  static sampling::result draw(std::span<const float> logits, const sampling::row<Sampling>& row,
                               sampling::scratch& candidates) noexcept {
    try {
      return sampling::sampler<Sampling>::sample(logits, *row.request, row.seed, row.token_index, candidates,
                                                 row.banned);
    } catch (...) {
      return {-1, sampling::fault::stage_threw};
    }
  }

  workspace_forms forms() const {
    workspace_forms all;
    all.sampled = form(weights_.output());
    for (const auto& layer : weights_.layers) {
      for (const matrix* each : {&layer.query, &layer.key, &layer.value, &layer.gate, &layer.up}) {
        all.normed = all.normed | form(*each);
      }
      all.attended = all.attended | form(layer.attention_output);
      all.gated = all.gated | form(layer.down);
    }
    return all;
  }
  static activation_forms form(const matrix& weights) { return form(weights.format); }
  static activation_forms form(std::uint32_t format) {
    activation_forms reads;
    formats::visit(format, [&]<class Format>() {
      using form = form_of<Isa, Format, typename Precision::activation>;
      reads = {std::is_same_v<form, as_float>, std::is_same_v<form, as_int8>, std::is_same_v<form, as_bf16>};
    });
    return reads;
  }

  std::unique_ptr<thread_team> team_;
  std::vector<thread_scratch> scratch_;
  std::vector<sampling::scratch> candidates_;  // one for each thread
  model::description description_;
  std::size_t tokens_ = 0;  // of the tokenizer; logits behind belong to no token
  llama_weights weights_;
  heads_type heads_;
  workspace workspace_;
  store cache_;
  store swapped_;
};

}  // namespace tenon::host
