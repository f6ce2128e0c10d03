// The bodies of basic_engine's functions; see basic_engine.hpp for what they do.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "tenon/core/concat.hpp"
#include "tenon/engine/basic_engine.hpp"
#include "tenon/text/byte_vocabulary.hpp"

namespace tenon {

template <class... Ps>
basic_engine<Ps...>::basic_engine(basic_engine&&) noexcept = default;
template <class... Ps>
basic_engine<Ps...>& basic_engine<Ps...>::operator=(basic_engine&&) noexcept = default;
template <class... Ps>
basic_engine<Ps...>::~basic_engine() = default;

template <class... Ps>
[[gnu::cold]] basic_engine<Ps...> basic_engine<Ps...>::load(const std::string& file,
                                                            const engine_options& options) {
  return basic_engine(io::gguf_file::open(file), options);
}

template <class... Ps>
[[gnu::cold]] basic_engine<Ps...> basic_engine<Ps...>::load(std::span<const std::byte> bytes,
                                                            const engine_options& options) {
  return basic_engine(io::gguf_file::parse(bytes), options);
}

template <class... Ps>
[[gnu::cold]] memory_plan basic_engine<Ps...>::plan(const io::gguf_file& file,
                                                    const engine_options& options) {
  const model::description description = describe(file);
  const engine_capacity size = capacity_for<batching_policy, cache_manager>(description.shape, options);
  return {runtime::weight_bytes(file, description), runtime::cache_bytes(description, size.step),
          runtime::workspace_bytes(file, description, size.step), size.max_batch, size.context};
}

template <class... Ps>
[[gnu::cold]] basic_engine<Ps...>::basic_engine(model::description description, text::tokenizer tokenizer,
                                                const engine_options& options)
    : description_(description),
      tokenizer_(std::move(tokenizer)),
      size_(capacity_for<batching_policy, cache_manager>(description_.shape, options)),
      limits_{size_.context, tokenizer_.size(), longest_token(tokenizer_)},
      scheduler_(
          {size_.max_batch, size_.step.max_tokens, options.max_queue != 0 ? options.max_queue : SIZE_MAX},
          cache_manager(size_.cache)),
      runtime_(options) {
  views_.reserve(size_.max_batch);
  sampled_.reserve(size_.max_batch);
  rows_.reserve(size_.max_batch);
  choices_.resize(size_.max_batch);
  ended_.reserve(size_.max_batch);
}

template <class... Ps>
[[gnu::cold]] basic_engine<Ps...>::basic_engine(const io::gguf_file& file, const engine_options& options)
    : basic_engine(describe(file), text::tokenizer::from_gguf(file), options) {
  if (tokenizer_.size() > description_.shape.vocabulary) {
    throw file.fault(0, concat("there are ", tokenizer_.size(), " tokens, but the embedding matrix has ",
                               description_.shape.vocabulary, " rows; convert the model again"));
  }
  try {
    chat_ = text::chat_template::from_gguf(file);
  } catch (const load_error& fault) {  // a model without one can still complete text
    chat_fault_ = fault;
  }
  if constexpr (has_virtual_clock) {
    runtime_.load(runtime::weights_of(file, description_.shape), description_.shape, size_, tokenizer_);
  } else {
    runtime_.load(file, description_, size_.step, tokenizer_.size(), options.progress);
  }
}

template <class... Ps>
template <class SimulatedWeights>
[[gnu::cold]] basic_engine<Ps...>::basic_engine(SimulatedWeights weights, const model::shape& shape,
                                                const engine_options& options)
    : basic_engine(model::description{shape, {}}, text::byte_tokenizer(shape.vocabulary), options) {
  const std::string fault = shape_fault(shape);
  if (!fault.empty()) throw error(fault);
  chat_fault_ = load_error("<shape>", 0, "a model that is only a shape has no chat template; use plain text");
  runtime_.load(std::move(weights), shape, size_, tokenizer_);
}

template <class... Ps>
[[gnu::cold]] model::description basic_engine<Ps...>::describe(const io::gguf_file& file) {
  std::size_t window = 0;
  if constexpr (cache::windowed_view<cache_view>) window = cache_view::window;
  model::description read = model::describe_llama(file, window);
  const std::string fault = shape_fault(read.shape);
  if (!fault.empty()) throw file.fault(0, fault);
  return read;
}

template <class... Ps>
[[gnu::cold]] std::string basic_engine<Ps...>::shape_fault(const model::shape& shape) {
  if constexpr (model_policy::has_fixed_shape) {
    const std::string difference = model::difference(shape, model_policy::shape);
    if (!difference.empty()) {
      return concat("the model does not have the engine's fixed shape: ", difference,
                    "; build an engine for this file, or one without fixed_shape");
    }
  }
  return {};
}

// -- requests --

template <class... Ps>
request_id basic_engine<Ps...>::submit(std::string_view prompt, params request, request_callbacks callbacks) {
  const auto arrival = now();
  return add(prompt_tokens(prompt), std::move(request), std::move(callbacks), arrival);
}

template <class... Ps>
request_id basic_engine<Ps...>::submit(std::span<const token_id> prompt, params request,
                                       request_callbacks callbacks) {
  return add({prompt.begin(), prompt.end()}, std::move(request), std::move(callbacks), now());
}

template <class... Ps>
request_id basic_engine<Ps...>::try_submit(std::span<const token_id> prompt, params request,
                                           request_callbacks callbacks) {
  if (!has_room(request.n)) return 0;
  return submit(prompt, std::move(request), std::move(callbacks));
}

template <class... Ps>
std::vector<token_id> basic_engine<Ps...>::prompt_tokens(std::string_view prompt,
                                                         text::special_tokens special) const {
  std::vector<token_id> tokens = tokenizer_.encode(prompt, special);
  if (tokenizer_.adds_bos() && tokenizer_.bos()) tokens.insert(tokens.begin(), *tokenizer_.bos());
  return tokens;
}

template <class... Ps>
std::vector<token_id> basic_engine<Ps...>::chat_tokens(std::span<const text::message> messages) const {
  if (!chat_) throw *chat_fault_;
  return chat_->encode(tokenizer_, messages, true);
}

template <class... Ps>
[[gnu::cold]] request_id basic_engine<Ps...>::add(std::vector<token_id> prompt, params request,
                                                  request_callbacks callbacks,
                                                  measure::clock::time_point arrival) {
  std::vector<std::unique_ptr<active>> made;
  made.push_back(
      admit(limits_, tokenizer_, std::move(prompt), std::move(request), std::move(callbacks), arrival));
  const active& original = *made[0];
  const std::size_t positions = original.sequence.most_positions();
  if (positions > scheduler_.capacity()) {
    throw request_error(
        concat("the request needs ", positions, " positions, but the cache has ", scheduler_.capacity(),
               "; shorten the prompt, lower max_tokens, or load the engine with more cache_tokens"));
  }
  if (!has_room(original.params.n)) {
    throw request_error(concat("the queue is full: ", scheduler_.waiting(), " requests wait, of at most ",
                               scheduler_.limits().max_queue, "; try again later"));
  }
  for (std::int32_t i = 1; i < original.params.n; ++i) {
    made.push_back(
        admit(limits_, tokenizer_, original.sequence.tokens, original.params, original.callbacks, arrival));
    made.back()->seed = original.seed + static_cast<std::uint64_t>(i);
    made.back()->sequence.copy_of = &made[0]->sequence;
  }
  const request_id first = last_id_ + 1;
  try {
    for (std::unique_ptr<active>& each : made) {
      each->sequence.id = ++last_id_;
      each->times.queued = now();
      active& placed = *requests_.emplace(last_id_, std::move(each)).first->second;
      scheduler_.submit(placed.sequence, placed.times.queued);
    }
  } catch (...) {  // of memory: all answers or none
    for (; last_id_ >= first; --last_id_) {
      if (active* placed = find(last_id_)) scheduler_.remove(placed->sequence);
      requests_.erase(last_id_);
    }
    throw;
  }
  return first;
}

template <class... Ps>
typename basic_engine<Ps...>::active* basic_engine<Ps...>::find(request_id id) {
  const auto found = requests_.find(id);
  return found == requests_.end() ? nullptr : found->second.get();
}

template <class... Ps>
void basic_engine<Ps...>::cancel(request_id id) {
  if (active* request = find(id); request != nullptr && request->finish == finish_reason::none) {
    request->finish = finish_reason::cancelled;
    ended_.push_back(request);
    retire_ended();
  }
}

template <class... Ps>
std::optional<request_result> basic_engine<Ps...>::take(request_id id) {
  const auto found = results_.find(id);
  if (found == results_.end()) return std::nullopt;
  request_result result = std::move(found->second);
  results_.erase(found);
  return result;
}

template <class... Ps>
generation<basic_engine<Ps...>> basic_engine<Ps...>::generate(std::string_view prompt, params request) {
  return generate_from(prompt, std::move(request));
}

template <class... Ps>
generation<basic_engine<Ps...>> basic_engine<Ps...>::generate(std::span<const token_id> prompt,
                                                              params request) {
  return generate_from(prompt, std::move(request));
}

template <class... Ps>
template <class Prompt>
generation<basic_engine<Ps...>> basic_engine<Ps...>::generate_from(Prompt prompt, params request) {
  return generation<basic_engine>(*this, [&](request_callbacks callbacks) {
    return submit(prompt, std::move(request), std::move(callbacks));
  });
}

// -- the step --

template <class... Ps>
bool basic_engine<Ps...>::step() {
  if (scheduler_.idle()) return false;
  const step_plan& plan = scheduler_.plan(now());
  for (const schedule::dropped_sequence& dropped : scheduler_.dropped()) drop(dropped);
  if constexpr (cache::copies_blocks<cache_manager>) {
    const auto copies = scheduler_.cache().copies();
    if (!copies.empty()) runtime_.copy_blocks(copies, cache_manager::block_size);
  }
  if (!plan.spans.empty()) compute(plan);
  retire_ended();
  return true;
}

/// Runs a plan, and gives its tokens to their requests.
template <class... Ps>
void basic_engine<Ps...>::compute(const step_plan& plan) {
  views_.clear();
  for (const sequence_span& span : plan.spans) views_.push_back(scheduler_.cache().view(span.slot));
  choose_sampled(plan);
  const std::span<sampling::result> choices(choices_.data(), rows_.size());
  runtime_.step(plan, std::span<const cache_view>(views_),
                std::span<const sampling::row<sampling_policy>>(rows_), choices);
  work_.template add<cache_view>(plan);
  scheduler_.commit();
  in_callbacks_ = true;  // which may cancel requests that this loop has yet to come to
  for (std::size_t i = 0; i < sampled_.size(); ++i) deliver(*sampled_[i], choices[i]);
  in_callbacks_ = false;
}

/// Ends a request whose sequence the scheduler has ended.
template <class... Ps>
[[gnu::cold]] void basic_engine<Ps...>::drop(const schedule::dropped_sequence& dropped) {
  active& request = *find(dropped.dropped->id);
  if (dropped.reason == schedule::drop_reason::no_room) {
    fail(request, concat("the cache has no room for its ", request.sequence.limit,
                         " tokens; shorten the prompt or lower max_tokens"));
  } else {
    request.finish = finish_reason::timeout;
    ended_.push_back(&request);
  }
}

/// The requests whose rows are sampled in this step, in the order of the rows.
template <class... Ps>
void basic_engine<Ps...>::choose_sampled(const step_plan& plan) {
  sampled_.clear();
  rows_.clear();
  const auto owners = scheduler_.owners();
  for (const std::size_t row : plan.sampled_rows) {
    active& request = *find(owners[plan.span_of(row)]->id);
    sampled_.push_back(&request);
    rows_.push_back({&request.params, request.seed, request.generated(), request.banned()});
  }
}

template <class... Ps>
void basic_engine<Ps...>::deliver(active& request, const sampling::result& choice) {
  if (request.finish != finish_reason::none) return;  // cancelled by another request's callback
  if (!choice) {
    fail(request, message(choice.fault));
    return;
  }
  if (request.times.tokens == 0) request.times.scheduled = request.sequence.scheduled;
  request.times.deliver(now());
  request.accept(choice.token, tokenizer_);
  if (request.finish != finish_reason::none) ended_.push_back(&request);
  if (request.callbacks.on_piece) request.callbacks.on_piece(request.current_piece());
}

/// Ends a request in an error of its own.
template <class... Ps>
[[gnu::cold]] void basic_engine<Ps...>::fail(active& request, std::string_view why) {
  request.finish = finish_reason::error;
  request.error = concat("request ", request.sequence.id, ": ", why);
  ended_.push_back(&request);
}

/// Callbacks may cancel more, which the loop then comes to.
template <class... Ps>
void basic_engine<Ps...>::retire_ended() {
  if (in_callbacks_) return;
  in_callbacks_ = true;
  for (std::size_t i = 0; i < ended_.size(); ++i) retire(*ended_[i]);
  ended_.clear();
  in_callbacks_ = false;
}

/// Takes a request that has ended out of the schedule, and hands out its result.
template <class... Ps>
void basic_engine<Ps...>::retire(active& request) {
  scheduler_.remove(request.sequence);
  request_result result = request.result(tokenizer_);
  const auto node = requests_.extract(request.sequence.id);
  if (request.callbacks.on_finish) {
    request.callbacks.on_finish(result);
  } else {
    results_.emplace(result.id, std::move(result));
  }
}

template <class... Ps>
void basic_engine<Ps...>::score(std::span<const token_id> tokens, const score_callback& each) {
  if (!idle()) throw request_error("score() needs an idle engine; wait until the requests have ended");
  limits_.check_prompt(tokens);
  cache_manager& cache = scheduler_.cache();
  if (!cache.reserve(0, tokens.size())) throw request_error("the cache has no room for the tokens to score");
  const struct releasing {
    cache_manager& cache;
    ~releasing() { cache.release(0); }
  } at_the_end{cache};
  const std::size_t rows = size_.max_batch;
  for (std::size_t first = 0; first < tokens.size(); first += rows) {
    const std::size_t count = (std::min)(rows, tokens.size() - first);
    std::vector<std::size_t> positions(count), sampled(count);
    for (std::size_t i = 0; i < count; ++i) positions[i] = first + i, sampled[i] = i;
    const sequence_span span{0, 0, first, count};
    const step_plan plan{tokens.subspan(first, count), positions, {&span, 1}, sampled};
    const cache_view view = cache.view(0);
    const auto logits = runtime_.logits(plan, std::span<const cache_view>(&view, 1));
    for (std::size_t i = 0; i < count; ++i)
      each(first + i, logits.subspan(i * description_.shape.vocabulary, tokenizer_.size()));
  }
}

}  // namespace tenon
