// The engine: one type made of one policy for each slot. It owns the model, the cache and the requests;
// step() is one turn of the wheel from scheduler to text. Here: what it offers; basic_engine_members.hpp has
// the functions' bodies, apart so that `extern template` (TENON_DECLARE_ENGINE) spares a file compiling them.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tenon/core/error.hpp"
#include "tenon/engine/admission.hpp"
#include "tenon/engine/capacity.hpp"
#include "tenon/engine/generation.hpp"
#include "tenon/engine/options.hpp"
#include "tenon/engine/request.hpp"
#include "tenon/io/gguf.hpp"
#include "tenon/model/llama.hpp"
#include "tenon/model/work.hpp"
#include "tenon/policy/compose.hpp"
#include "tenon/sample/result.hpp"
#include "tenon/sample/row.hpp"
#include "tenon/schedule/scheduler.hpp"
#include "tenon/text/chat_template.hpp"
#include "tenon/text/tokenizer_gguf.hpp"

namespace tenon {

/// What tenon::engine<...> resolves to: one policy for each slot, in the order of the slots (slot.hpp).
/// Single-threaded from the outside: one thread calls its functions. Movable while no generation is open.
template <class... Policies>
class basic_engine {
  template <class Slot>
  using chosen = policy::pick<Slot, void, Policies...>;

 public:
  using model_policy = chosen<slot::model>;
  using backend_policy = chosen<slot::backend>;
  using precision_policy = chosen<slot::precision>;
  using cache_policy = chosen<slot::cache>;
  using sampling_policy = chosen<slot::sampling>;
  using batching_policy = chosen<slot::batching>;
  using reduction_policy = chosen<slot::reduction>;
  using execution_policy = chosen<slot::execution>;
  using speculation_policy = chosen<slot::speculation>;
  using parallelism_policy = chosen<slot::parallelism>;
  using instrumentation_policy = chosen<slot::instrumentation>;

  using params = sampling::params<sampling_policy>;

 private:
  using cache_manager = typename cache_policy::manager;
  using cache_view = typename cache::view_of<cache_manager>::type;
  // Not by cache_view: nvcc 13 spells types by their aliases in the code it leaves to g++, which may not see a private one.
  using runtime =
      typename backend_policy::template runtime<model_policy, precision_policy,
                                                typename cache::view_of<cache_manager>::type, sampling_policy,
                                                execution_policy, instrumentation_policy>;

 public:
  /// Whether its backend has a clock of its own, by which steps take what they would take on another machine.
  static constexpr bool has_virtual_clock = requires(const runtime& computes) { computes.now(); };

  /// This engine with one slot replaced.
  template <engine_policy P>
  using with = basic_engine<policy::pick<typename Policies::slot, Policies, P>...>;

  /// Every choice by name, for logs and reports.
  static constexpr std::string_view description() { return description_text; }

  /// Bytes of keys and values for one token of a model of this shape.
  static constexpr std::size_t kv_bytes_per_token(const model::shape& shape) {
    return shape
        .template kv_bytes_per_token<typename precision_policy::key, typename precision_policy::value>();
  }
  static constexpr std::size_t kv_bytes_per_token() requires(model_policy::has_fixed_shape) {
    if constexpr (model_policy::has_fixed_shape) {
      return kv_bytes_per_token(model_policy::shape);
    } else {
      return 0;  // for clang 14, which looks in here even when the constraint is not met
    }
  }

  /// Loads a GGUF model. The file is mapped while it is read, and not needed afterwards. Throws load_error.
  static basic_engine load(const std::string& file, const engine_options& options = {});
  /// The same from memory, which is not needed afterwards.
  static basic_engine load(std::span<const std::byte> bytes, const engine_options& options = {});

  // Templates, so that an engine of many formats can be instantiated whole.

  /// On a simulated backend: an engine for a model that is only a shape, with all matrices in the one format of its
  /// precision. Its tokenizer has a token for each byte (text::byte_tokenizer). Throws tenon::error where the device is
  /// too small, or the engine's fixed shape is another.
  template <class Simulated = runtime>
  [[gnu::cold]] static basic_engine simulate(const model::shape& shape,
                                             const engine_options& options = {}) requires(has_virtual_clock) {
    return basic_engine(Simulated::weights_of(shape), shape, options);
  }

  /// The memory that an engine of this type needs for a file, without loading it. Throws load_error.
  static memory_plan plan(const io::gguf_file& file, const engine_options& options = {});
  /// The same for a shape.
  template <class Simulated = runtime>
  [[gnu::cold]] static memory_plan plan(const model::shape& shape,
                                        const engine_options& options = {}) requires(has_virtual_clock) {
    return Simulated::plan(Simulated::weights_of(shape), shape,
                           capacity_for<batching_policy, cache_manager>(shape, options));
  }

  basic_engine(basic_engine&&) noexcept;
  basic_engine& operator=(basic_engine&&) noexcept;
  ~basic_engine();

  // -- requests --

  /// Adds a request for a prompt in plain text: what looks like a control token in it is text. Throws
  /// request_error for bad parameters, a prompt that does not fit, or a full queue; other requests are not touched.
  /// With n > 1 these are n requests, of this id and those that follow.
  request_id submit(std::string_view prompt, params request = {}, request_callbacks callbacks = {});
  /// The same for a prompt in tokens.
  request_id submit(std::span<const token_id> prompt, params request = {}, request_callbacks callbacks = {});

  /// The same, where a full queue (engine_options::max_queue) is no error: 0 then, and the request may be tried again.
  request_id try_submit(std::span<const token_id> prompt, params request = {},
                        request_callbacks callbacks = {});

  /// The tokens of a prompt, with the beginning-of-sequence token where the model wants one.
  std::vector<token_id> prompt_tokens(std::string_view prompt,
                                      text::special_tokens special = text::special_tokens::as_text) const;
  /// The tokens of a conversation by the model's chat template, up to where the model answers. Throws
  /// load_error when the file has no template that is known.
  std::vector<token_id> chat_tokens(std::span<const text::message> messages) const;

  /// Ends a request; its on_finish is called. Nothing happens if it has ended.
  void cancel(request_id id);

  /// Runs one step: some prompt tokens, and one token for each sequence that generates. False when there are no
  /// requests. Does not throw for faults of single requests: they end with finish_reason::error.
  bool step();

  bool idle() const { return scheduler_.idle(); }
  /// The time by the engine's clock, which all of its times are of: the machine's, or a simulated backend's.
  measure::clock::time_point now() const {
    if constexpr (has_virtual_clock) {
      return runtime_.now();
    } else {
      return measure::clock::now();
    }
  }
  /// Lets a simulated backend's time pass, up to a moment; a moment that has passed changes nothing. Steps let time pass by
  /// themselves: this is for gaps between requests.
  void advance_to(measure::clock::time_point moment) requires(has_virtual_clock) {
    if constexpr (has_virtual_clock) runtime_.advance_to(moment);  // for clang 14, as above
  }
  /// When step() next has something to run: later than now only while batching::dynamic gathers. Nothing, when idle.
  std::optional<measure::clock::time_point> wake_at(measure::clock::time_point now) {
    return scheduler_.wake_at(now);
  }
  /// Requests that run, and those that wait.
  std::size_t running() const { return scheduler_.running(); }
  std::size_t waiting() const { return scheduler_.waiting(); }
  /// Seconds that the oldest of those that wait has waited.
  double oldest_wait() const { return scheduler_.oldest_wait(now()); }
  /// What the scheduler has done so far: steps, preemptions, prefix hits.
  const schedule::counters& counters() const { return scheduler_.counters(); }
  /// What its steps have computed and read so far; score() is not counted.
  const model::step_counts& work() const { return work_; }
  /// The share of the cache's blocks that is in use, from 0 to 1.
  double cache_usage() const requires(cache::counts_blocks<typename cache_policy::manager>) {
    if constexpr (cache::counts_blocks<typename cache_policy::manager>) {
      const auto& manager = scheduler_.cache();
      return 1.0 - static_cast<double>(manager.free_blocks()) / static_cast<double>(manager.blocks());
    } else {
      return 0;  // for clang 14, as above
    }
  }

  /// The result of a request that has ended, once.
  std::optional<request_result> take(request_id id);

  /// Submits and runs a request: a range of pieces, each of which takes one or more steps. Other requests
  /// advance too.
  generation<basic_engine> generate(std::string_view prompt, params request = {});
  generation<basic_engine> generate(std::span<const token_id> prompt, params request = {});

  // -- the model --

  const text::tokenizer& tokenizer() const { return tokenizer_; }
  const model::shape& shape() const { return description_.shape; }
  std::size_t context() const { return size_.context; }
  std::size_t max_batch() const { return size_.max_batch; }
  int threads() const { return runtime_.threads(); }

  /// The logits after each of the tokens, as one sequence that nobody else sees: row i is [vocabulary] after
  /// token i, given to `each(i, logits)`. For perplexity and tests. Throws request_error while requests run.
  void score(std::span<const token_id> tokens, const score_callback& each);

 private:
  using active = active_request<params>;
  using scheduler = schedule::scheduler<batching_policy, cache_manager>;

  static constexpr auto description_text =
      "model " + model_policy::name + "; backend " + backend_policy::name + "; precision " +
      precision_policy::name + "; cache " + cache_policy::name + "; sampling " + sampling_policy::name +
      "; batching " + batching_policy::name + "; reduction " + reduction_policy::name + "; execution " +
      execution_policy::name + "; speculation " + speculation_policy::name + "; parallelism " +
      parallelism_policy::name + "; instrumentation " + instrumentation_policy::name;

  basic_engine(const io::gguf_file& file, const engine_options& options);
  template <class SimulatedWeights>
  basic_engine(SimulatedWeights weights, const model::shape& shape, const engine_options& options);
  /// All but the weights.
  basic_engine(model::description description, text::tokenizer tokenizer, const engine_options& options);
  static model::description describe(const io::gguf_file& file);
  /// Empty for a shape that the engine's type can run.
  static std::string shape_fault(const model::shape& shape);

  template <class Prompt>
  generation<basic_engine> generate_from(Prompt prompt, params request);
  request_id add(std::vector<token_id> prompt, params request, request_callbacks callbacks,
                 measure::clock::time_point arrival);
  /// False only for a full queue: a bad `n` is for admit() to refuse.
  bool has_room(std::int32_t n) const {
    return n < 1 || scheduler_.queue_room() >= static_cast<std::size_t>(n);
  }
  active* find(request_id id);

  void drop(const schedule::dropped_sequence& dropped);
  void compute(const step_plan& plan);
  void choose_sampled(const step_plan& plan);
  void deliver(active& request, const sampling::result& choice);
  void fail(active& request, std::string_view why);
  void retire_ended();
  void retire(active& request);

  model::description description_;
  text::tokenizer tokenizer_;
  std::optional<text::chat_template> chat_;
  std::optional<load_error> chat_fault_;  // why there is no template
  engine_capacity size_;
  request_limits limits_;
  scheduler scheduler_;
  runtime runtime_;
  std::unordered_map<request_id, std::unique_ptr<active>> requests_;
  std::unordered_map<request_id, request_result> results_;
  request_id last_id_ = 0;
  model::step_counts work_;
  // Of the step that runs.
  std::vector<cache_view> views_;
  std::vector<active*> sampled_;
  std::vector<sampling::row<sampling_policy>> rows_;
  std::vector<sampling::result> choices_;
  std::vector<active*> ended_;
  bool in_callbacks_ = false;
};

}  // namespace tenon

#include "tenon/engine/basic_engine_members.hpp"  // IWYU pragma: export
