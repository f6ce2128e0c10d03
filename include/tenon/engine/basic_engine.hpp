// The engine: one type made of one policy for each slot. It owns the model, the cache and the requests;
// step() is one turn of the wheel from scheduler to text.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tenon/core/concat.hpp"
#include "tenon/core/error.hpp"
#include "tenon/engine/admission.hpp"
#include "tenon/engine/capacity.hpp"
#include "tenon/engine/generation.hpp"
#include "tenon/engine/options.hpp"
#include "tenon/engine/request.hpp"
#include "tenon/io/gguf.hpp"
#include "tenon/model/llama.hpp"
#include "tenon/policy/compose.hpp"
#include "tenon/sample/sampler.hpp"
#include "tenon/text/chat_template.hpp"
#include "tenon/text/tokenizer_gguf.hpp"

namespace tenon {

/// What tenon::engine<...> resolves to. Single-threaded from the outside: one thread calls its functions.
/// Movable while no generation is open.
template <class Model, class Backend, class Precision, class Cache, class Sampling, class Batching,
          class Reduction, class Execution, class Speculation, class Parallelism, class Instrumentation>
class basic_engine {
  using cache_manager = typename Cache::manager;
  using cache_view = decltype(std::declval<const cache_manager&>().view(0));
  using runtime = typename Backend::template runtime<Model, Precision, cache_view>;

  template <class Slot, class Now, class New>
  using replaced = policy::pick<Slot, Now, New>;

  static constexpr auto description_text =
      "model " + Model::name + "; backend " + Backend::name + "; precision " + Precision::name + "; cache " +
      Cache::name + "; sampling " + Sampling::name + "; batching " + Batching::name + "; reduction " +
      Reduction::name + "; execution " + Execution::name + "; speculation " + Speculation::name +
      "; parallelism " + Parallelism::name + "; instrumentation " + Instrumentation::name;

 public:
  using model_policy = Model;
  using backend_policy = Backend;
  using precision_policy = Precision;
  using cache_policy = Cache;
  using sampling_policy = Sampling;
  using batching_policy = Batching;
  using reduction_policy = Reduction;
  using execution_policy = Execution;
  using speculation_policy = Speculation;
  using parallelism_policy = Parallelism;
  using instrumentation_policy = Instrumentation;

  using params = sampling::params<Sampling>;

  /// This engine with one slot replaced.
  template <engine_policy P>
  using with =
      basic_engine<replaced<slot::model, Model, P>, replaced<slot::backend, Backend, P>,
                   replaced<slot::precision, Precision, P>, replaced<slot::cache, Cache, P>,
                   replaced<slot::sampling, Sampling, P>, replaced<slot::batching, Batching, P>,
                   replaced<slot::reduction, Reduction, P>, replaced<slot::execution, Execution, P>,
                   replaced<slot::speculation, Speculation, P>, replaced<slot::parallelism, Parallelism, P>,
                   replaced<slot::instrumentation, Instrumentation, P>>;

  /// Every choice by name, for logs and reports.
  static constexpr std::string_view description() { return description_text; }

  /// Bytes of keys and values for one token of a model of this shape.
  static constexpr std::size_t kv_bytes_per_token(const model::shape& shape) {
    return shape.kv_bytes_per_token(Precision::key::block_bytes, Precision::value::block_bytes);
  }
  static constexpr std::size_t kv_bytes_per_token() requires(Model::has_fixed_shape) {
    if constexpr (Model::has_fixed_shape) {
      return kv_bytes_per_token(Model::shape);
    } else {
      return 0;  // for clang 14, which looks in here even when the constraint is not met
    }
  }

  /// Loads a GGUF model. The file is mapped while it is read, and not needed afterwards. Throws load_error.
  [[gnu::cold]] static basic_engine load(const std::string& file, const engine_options& options = {}) {
    return basic_engine(io::gguf_file::open(file), options);
  }
  /// The same from memory, which is not needed afterwards.
  [[gnu::cold]] static basic_engine load(std::span<const std::byte> bytes,
                                         const engine_options& options = {}) {
    return basic_engine(io::gguf_file::parse(bytes), options);
  }

  /// The memory that an engine of this type needs for a file, without loading it. Throws load_error.
  [[gnu::cold]] static memory_plan plan(const io::gguf_file& file, const engine_options& options = {}) {
    const model::description description = describe(file);
    const step_capacity size = capacity_for<Batching, cache_manager>(description.shape, options).step;
    return {runtime::weight_bytes(file, description), runtime::cache_bytes(description, size),
            runtime::workspace_bytes(file, description, size)};
  }

  // -- requests --

  /// Adds a request for a prompt in plain text: what looks like a control token in it is text. Throws
  /// request_error for bad parameters or a prompt that does not fit; other requests are not touched.
  request_id submit(std::string_view prompt, params request = {}, request_callbacks callbacks = {}) {
    const auto arrival = measure::clock::now();
    return add(prompt_tokens(prompt), std::move(request), std::move(callbacks), arrival);
  }
  /// The same for a prompt in tokens.
  request_id submit(std::span<const token_id> prompt, params request = {}, request_callbacks callbacks = {}) {
    return add({prompt.begin(), prompt.end()}, std::move(request), std::move(callbacks),
               measure::clock::now());
  }

  /// The tokens of a prompt, with the beginning-of-sequence token where the model wants one.
  std::vector<token_id> prompt_tokens(std::string_view prompt,
                                      text::special_tokens special = text::special_tokens::as_text) const {
    std::vector<token_id> tokens = tokenizer_.encode(prompt, special);
    if (tokenizer_.adds_bos() && tokenizer_.bos()) tokens.insert(tokens.begin(), *tokenizer_.bos());
    return tokens;
  }
  /// The tokens of a conversation by the model's chat template, up to where the model answers. Throws
  /// load_error when the file has no template that is known.
  std::vector<token_id> chat_tokens(std::span<const text::message> messages) const {
    if (!chat_) throw *chat_fault_;
    return chat_->encode(tokenizer_, messages, true);
  }

  /// Ends a request; its on_finish is called. Nothing happens if it has ended.
  void cancel(request_id id) {
    if (active* request = find(id); request != nullptr && request->finish == finish_reason::none) {
      request->finish = finish_reason::cancelled;
      ended_.push_back(request);
      retire_ended();
    }
  }

  /// Runs one step: some prompt tokens, and one token for each sequence that generates. False when there was
  /// nothing to do. Does not throw for faults of single requests: they end with finish_reason::error.
  bool step() {
    active* refused = nullptr;
    scheduler_.gather([&](scheduled_sequence& sequence) {
      active& request = *find(sequence.id);
      if (!cache_.reserve(sequence.slot, request.limit)) {
        refused = &request;
        return false;
      }
      request.times.scheduled = measure::clock::now();
      return true;
    });
    if (scheduler_.idle()) return false;
    if (scheduler_.running() == 0) {  // nothing runs whose end could make room: it would wait for ever
      fail(*refused, concat("the cache has no room for its ", refused->limit,
                            " tokens; shorten the prompt or lower max_tokens"));
      retire_ended();
      return true;
    }
    const step_plan& plan = scheduler_.plan();
    views_.clear();
    for (const sequence_span& span : plan.spans) views_.push_back(cache_.view(span.slot));
    choose_sampled(plan);
    runtime_.step(
        plan, std::span<const cache_view>(views_),
        [&](std::size_t i, std::span<const float> logits, int thread) { choose(i, logits, thread); });
    scheduler_.commit();
    in_callbacks_ = true;  // which may cancel requests that this loop has yet to come to
    for (std::size_t i = 0; i < sampled_.size(); ++i) deliver(*sampled_[i], choices_[i]);
    in_callbacks_ = false;
    retire_ended();
    return true;
  }

  bool idle() const { return scheduler_.idle(); }

  /// The result of a request that has ended, once.
  std::optional<request_result> take(request_id id) {
    const auto found = results_.find(id);
    if (found == results_.end()) return std::nullopt;
    request_result result = std::move(found->second);
    results_.erase(found);
    return result;
  }

  /// Submits and runs a request: a range of pieces, each of which takes one or more steps. Other requests
  /// advance too.
  generation<basic_engine> generate(std::string_view prompt, params request = {}) {
    return generate_from(prompt, std::move(request));
  }
  generation<basic_engine> generate(std::span<const token_id> prompt, params request = {}) {
    return generate_from(prompt, std::move(request));
  }

  // -- the model --

  const text::tokenizer& tokenizer() const { return tokenizer_; }
  const model::shape& shape() const { return description_.shape; }
  std::size_t context() const { return size_.context; }
  std::size_t max_batch() const { return size_.max_batch; }
  int threads() const { return runtime_.threads(); }

  /// The logits after each of the tokens, as one sequence that nobody else sees: row i is [vocabulary] after
  /// token i, given to `each(i, logits)`. For perplexity and tests. Throws request_error while requests run.
  void score(std::span<const token_id> tokens, const score_callback& each) {
    if (!idle()) throw request_error("score() needs an idle engine; wait until the requests have ended");
    limits_.check_prompt(tokens);
    if (!cache_.reserve(0, tokens.size()))
      throw request_error("the cache has no room for the tokens to score");
    const std::size_t rows = size_.max_batch;
    for (std::size_t first = 0; first < tokens.size(); first += rows) {
      const std::size_t count = (std::min)(rows, tokens.size() - first);
      std::vector<std::size_t> positions(count), sampled(count);
      for (std::size_t i = 0; i < count; ++i) positions[i] = first + i, sampled[i] = i;
      const sequence_span span{0, 0, first, count};
      const step_plan plan{tokens.subspan(first, count), positions, {&span, 1}, sampled};
      const cache_view view = cache_.view(0);
      std::vector<std::span<const float>> logits(count);
      runtime_.step(plan, std::span<const cache_view>(&view, 1),
                    [&](std::size_t i, std::span<const float> row, int) { logits[i] = row; });
      for (std::size_t i = 0; i < count; ++i) each(first + i, logits[i].first(tokenizer_.size()));
    }
    cache_.release(0);
  }

 private:
  using active = active_request<params>;
  using sampler = sampling::sampler<Sampling>;

  [[gnu::cold]] basic_engine(const io::gguf_file& file, const engine_options& options)
      : description_(describe(file)),
        tokenizer_(text::tokenizer::from_gguf(file)),
        size_(capacity_for<Batching, cache_manager>(description_.shape, options)),
        cache_({size_.max_batch, size_.context}),
        scheduler_(size_.max_batch, size_.step.max_tokens),
        runtime_(options.threads) {
    if (tokenizer_.size() > description_.shape.vocabulary) {
      throw file.fault(0, concat("there are ", tokenizer_.size(), " tokens, but the embedding matrix has ",
                                 description_.shape.vocabulary, " rows; convert the model again"));
    }
    try {
      chat_ = text::chat_template::from_gguf(file);
    } catch (const load_error& fault) {  // a model without one can still complete text
      chat_fault_ = fault;
    }
    limits_ = {size_.context, tokenizer_.size(), longest_token(tokenizer_)};
    runtime_.load(file, description_, options.progress);
    runtime_.allocate(size_.step);
    views_.reserve(size_.max_batch);
    sampled_.reserve(size_.max_batch);
    choices_.resize(size_.max_batch);
    ended_.reserve(size_.max_batch);
    for (int i = 0; i < runtime_.threads(); ++i) scratch_.emplace_back(tokenizer_.size());
  }

  [[gnu::cold]] static model::description describe(const io::gguf_file& file) {
    model::description read = model::describe_llama(file);
    if constexpr (Model::has_fixed_shape) {
      const std::string difference = model::difference(read.shape, Model::shape);
      if (!difference.empty()) {
        throw file.fault(0, concat("the model does not have the engine's fixed shape: ", difference,
                                   "; build an engine for this file, or one without fixed_shape"));
      }
    }
    return read;
  }

  template <class Prompt>
  generation<basic_engine> generate_from(Prompt prompt, params request) {
    return generation<basic_engine>(*this, [&](request_callbacks callbacks) {
      return submit(prompt, std::move(request), std::move(callbacks));
    });
  }

  active* find(request_id id) {
    const auto found = requests_.find(id);
    return found == requests_.end() ? nullptr : found->second.get();
  }

  [[gnu::cold]] request_id add(std::vector<token_id> prompt, params request, request_callbacks callbacks,
                               measure::clock::time_point arrival) {
    auto made = admit(limits_, tokenizer_, std::move(prompt), std::move(request), std::move(callbacks));
    made->times.arrival = arrival;
    made->sequence.id = ++last_id_;
    active& placed = *requests_.emplace(last_id_, std::move(made)).first->second;
    scheduler_.add(placed.sequence);
    return last_id_;
  }

  /// The requests whose rows are sampled in this step, in the order of the rows.
  void choose_sampled(const step_plan& plan) {
    sampled_.clear();
    const auto owners = scheduler_.span_owners();
    for (const std::size_t row : plan.sampled_rows) sampled_.push_back(find(owners[plan.span_of(row)]->id));
  }

  /// Draws the next token of a row; runs on the backend's threads, each row by itself. What a stage throws
  /// ends its request: an exception that left a thread would end the program.
  void choose(std::size_t i, std::span<const float> logits, int thread) noexcept {
    const active& request = *sampled_[i];
    try {
      choices_[i] =
          sampler::sample(logits.first(tokenizer_.size()), request.params, request.seed, request.generated(),
                          scratch_[static_cast<std::size_t>(thread)], request.banned());
    } catch (...) {
      choices_[i] = {-1, sampling::fault::stage_threw};
    }
  }

  void deliver(active& request, const sampling::result& choice) {
    if (request.finish != finish_reason::none) return;  // cancelled by another request's callback
    if (!choice) {
      fail(request, message(choice.fault));
      return;
    }
    request.times.last_token = measure::clock::now();
    if (request.times.tokens++ == 0) request.times.first_token = request.times.last_token;
    request.accept(choice.token, tokenizer_);
    if (request.finish != finish_reason::none) ended_.push_back(&request);
    if (request.callbacks.on_piece) request.callbacks.on_piece(request.current_piece());
  }

  /// Ends a request in an error of its own.
  [[gnu::cold]] void fail(active& request, std::string_view why) {
    request.finish = finish_reason::error;
    request.error = concat("request ", request.sequence.id, ": ", why);
    ended_.push_back(&request);
  }

  /// Callbacks may cancel more, which the loop then comes to.
  void retire_ended() {
    if (in_callbacks_) return;
    in_callbacks_ = true;
    for (std::size_t i = 0; i < ended_.size(); ++i) retire(*ended_[i]);
    ended_.clear();
    in_callbacks_ = false;
  }

  /// Takes a request that has ended out of the schedule, and hands out its result.
  void retire(active& request) {
    if (scheduler_.remove(request.sequence)) cache_.release(request.sequence.slot);
    request_result result = request.result(tokenizer_);
    const auto node = requests_.extract(request.sequence.id);
    if (request.callbacks.on_finish) {
      request.callbacks.on_finish(result);
    } else {
      results_.emplace(result.id, std::move(result));
    }
  }

  model::description description_;
  text::tokenizer tokenizer_;
  std::optional<text::chat_template> chat_;
  std::optional<load_error> chat_fault_;  // why there is no template
  engine_capacity size_;
  request_limits limits_;
  cache_manager cache_;
  static_scheduler scheduler_;
  runtime runtime_;
  std::vector<sampling::scratch> scratch_;  // one for each thread
  std::unordered_map<request_id, std::unique_ptr<active>> requests_;
  std::unordered_map<request_id, request_result> results_;
  request_id last_id_ = 0;
  // Of the step that runs.
  std::vector<cache_view> views_;
  std::vector<active*> sampled_;
  std::vector<sampling::result> choices_;
  std::vector<active*> ended_;
  bool in_callbacks_ = false;
};

}  // namespace tenon
