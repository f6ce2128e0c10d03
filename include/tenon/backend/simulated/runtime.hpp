// The simulated backend at run time: the same interface as the others', without weights, cache and arithmetic. A step draws
// tokens that mean nothing, and lets the time pass that the device would take.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tenon/backend/simulated/clock.hpp"
#include "tenon/backend/simulated/device.hpp"
#include "tenon/backend/simulated/step_time.hpp"
#include "tenon/backend/simulated/weights.hpp"
#include "tenon/cache/block_copy.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/core/error.hpp"
#include "tenon/engine/capacity.hpp"
#include "tenon/engine/options.hpp"
#include "tenon/io/gguf.hpp"
#include "tenon/model/llama.hpp"
#include "tenon/policy/cache.hpp"
#include "tenon/policy/precision.hpp"
#include "tenon/sample/result.hpp"
#include "tenon/sample/row.hpp"
#include "tenon/schedule/step_plan.hpp"
#include "tenon/text/tokenizer.hpp"

namespace tenon::simulated {

namespace detail {
template <class Formats>
struct first_of;
template <class First, class... Rest>
struct first_of<weights<First, Rest...>> {
  using type = First;
};
template <class Formats>
using first_format = typename first_of<Formats>::type;
}  // namespace detail

/// One model on one device, or on several that share each layer.
template <device::policy Device, class HostGap, class Speculation, precision::policy Precision,
          cache::layout_view View, class Execution>
class runtime {
  using key = typename Precision::key;
  using value = typename Precision::value;

 public:
  explicit runtime(const engine_options&) : device_(Device::describe()) {}

  /// The weights of a file, or of a shape.
  static llama_weights weights_of(const io::gguf_file& file, const model::shape& shape) {
    return simulated::weights_of<Precision>(file, shape);
  }
  static llama_weights weights_of(const model::shape& shape) {
    using formats = typename Precision::weight_formats;
    static_assert(
        formats::count == 1,
        "tenon: a shape does not say which format its weights are in; name one in the precision policy, as "
        "precision::mixed<weights<f16>>");
    return simulated::weights_of<detail::first_format<formats>, typename Precision::activation>(shape);
  }

  static memory_plan plan(const llama_weights& weights, const model::shape& shape,
                          const engine_capacity& size) {
    const model::description description{shape, {}};
    return {static_cast<std::size_t>(bytes(weights)), cache_bytes(description, size.step),
            workspace_bytes(shape, size.step), size.max_batch, size.context};
  }

  /// Takes in what the steps' times depend on. Throws tenon::error where the device's memory is too small.
  void load(llama_weights weights, const model::shape& shape, const engine_capacity& size,
            const text::tokenizer& tokenizer) {
    const std::string shortage =
        plan(weights, shape, size).shortage(static_cast<std::size_t>(device_.memory * device_.ranks));
    if (!shortage.empty()) throw error(concat(Device::name.view(), ": ", shortage));
    kv_token_ = shape.kv_bytes_per_token<key, value>();
    constexpr std::size_t rows = Speculation::guesses + 1;
    time_.emplace(device_, shape, std::move(weights), static_cast<double>(kv_token_),
                  (std::max)(size.step.max_tokens, rows * size.max_batch), rows * size.max_batch);
    for (std::size_t id = 0; id < tokenizer.size() && words_.size() < most_words; ++id) {
      const auto token = static_cast<token_id>(id);
      if (is_letter(tokenizer, token)) words_.push_back(token);
    }
    if (words_.empty()) throw error("the vocabulary has no letter that a simulated model could say");
  }

  measure::clock::time_point now() const { return clock_.now(); }
  void advance_to(measure::clock::time_point moment) { clock_.advance_to(moment); }

  void copy_blocks(std::span<const cache::block_copy> copies, std::size_t block_size) {
    const auto block = static_cast<double>(block_size * kv_token_) / device_.ranks;
    for (const cache::block_copy& copy : copies) {
      clock_.pass(copy.kind == cache::copy_kind::within ? moving(device_, 2 * block)
                                                        : block / device_.host_bandwidth);
    }
  }

  template <class Sampling>
  void step(const step_plan& plan, std::span<const View>, std::span<const sampling::row<Sampling>> rows,
            std::span<sampling::result> choices) {
    model::step_counts step;
    step.template add<View>(plan);
    clock_.pass(step.tokens == step.sampled ? decoding(step)
                                            : time_->seconds(step, false) + HostGap::seconds);
    for (std::size_t i = 0; i < rows.size(); ++i) choices[i].token = word(rows[i].seed + rows[i].token_index);
  }

  /// There are none. Throws request_error.
  std::span<const float> logits(const step_plan&, std::span<const View>) {
    throw request_error("a simulated model computes no logits; score with backend::host or backend::cuda");
  }

  static std::size_t weight_bytes(const io::gguf_file& file, const model::description& description) {
    return static_cast<std::size_t>(bytes(weights_of(file, description.shape)));
  }
  static std::size_t cache_bytes(const model::description& description, const step_capacity& capacity) {
    return capacity.cache_rows * description.shape.template kv_bytes_per_token<key, value>();
  }
  /// The residual stream, the widest activations in 16 bits, and the logits.
  static std::size_t workspace_bytes(const model::shape& s, const step_capacity& capacity) {
    const std::size_t widest = (std::max)((s.heads + 2 * s.kv_heads) * s.head_dim, s.feed_forward);
    return capacity.max_tokens * (6 * s.hidden + 2 * widest) + 4 * capacity.max_batch * s.vocabulary;
  }
  static std::size_t workspace_bytes(const io::gguf_file&, const model::description& description,
                                     const step_capacity& capacity) {
    return workspace_bytes(description.shape, capacity);
  }

  int threads() const { return 1; }

 private:
  static constexpr std::size_t most_words = 256;

  static bool is_letter(const text::tokenizer& tokenizer, token_id token) {
    if (tokenizer.is_control(token)) return false;
    const std::string_view bytes = tokenizer.bytes(token);
    return bytes.size() == 1 && bytes[0] > ' ' && bytes[0] < 0x7f;
  }

  /// A step in which all sequences decode: one graph, where the engine has them, and all guess.
  double decoding(model::step_counts step) {
    const double plain = time_->seconds(step, Execution::replays_graphs);
    if constexpr (Speculation::guesses == 0) {
      return plain + HostGap::seconds;
    } else {
      constexpr std::size_t rows =
          Speculation::guesses + 1;  // of each sequence; its cache is still read once
      step.attended *= rows;
      step.tokens *= rows;
      step.sampled *= rows;
      const double drafts = Speculation::guesses * Speculation::draft_cost * plain;
      return (drafts + time_->seconds(step, Execution::replays_graphs) + HostGap::seconds) /
             Speculation::tokens_per_step;
    }
  }

  /// Any token, but the same for the same request and place.
  token_id word(std::uint64_t place) const {
    place *= 0x9e3779b97f4a7c15u;  // Fibonacci hashing: the upper bits depend on all
    return words_[(place >> 32) % words_.size()];
  }

  device::description device_;
  virtual_clock clock_;
  std::optional<step_time> time_;
  std::size_t kv_token_ = 0;
  std::vector<token_id> words_;
};

}  // namespace tenon::simulated
