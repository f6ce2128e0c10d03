// What a request asks for: how to draw tokens and when to stop. An aggregate, so that callers name what they
// set:
// {.temperature = 0.8f, .top_p = 0.95f, .max_tokens = 64}. Names and defaults are vLLM's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tenon/core/types.hpp"
#include "tenon/sample/field.hpp"

namespace tenon::sampling {

/// The parameters of user-written stages, joined: each stage's `params` is a base. Given as `.custom =
/// {{.alpha = 2.f}}` for one such stage, `.custom = {{.alpha = 2.f}, {.beta = 1.f}}` for two (in the order of
/// the chain), and read as `request.custom.alpha`.
template <class... StageParams>
struct custom_params : StageParams... {};

/// The parameters of a request to an engine with this sampling policy. Fields of stages that the policy does
/// not have cannot be set: doing so stops the build with a sentence. For input at run time see set_field(),
/// for checks validate().
template <class Policy>
struct params {
 private:
  template <field F, class Value>
  using stage_field = detail::stage_field<contains(Policy::reads, F), F, Value>;

 public:
  /// Logits are divided by this: below 1 the likely become likelier. Below 1e-5: always the best token.
  [[no_unique_address]] typename stage_field<field::temperature, float>::type temperature =
      stage_field<field::temperature, float>::initial(1.0f);
  /// Draw from the k most likely tokens only. 0 and -1: from all.
  [[no_unique_address]] typename stage_field<field::top_k, std::int32_t>::type top_k =
      stage_field<field::top_k, std::int32_t>::initial(0);
  /// Draw from the fewest most likely tokens that together have this probability. 1: from all.
  [[no_unique_address]] typename stage_field<field::top_p, float>::type top_p =
      stage_field<field::top_p, float>::initial(1.0f);
  /// Draw only from tokens that are at least this share as likely as the best one. 0: from all.
  [[no_unique_address]] typename stage_field<field::min_p, float>::type min_p =
      stage_field<field::min_p, float>::initial(0.0f);
  /// The same request with the same seed gives the same text, whatever else runs. Not set: the engine picks
  /// one.
  std::optional<std::uint64_t> seed = std::nullopt;
  /// The parameters of user-written stages.
  [[no_unique_address]] typename Policy::custom_params custom = {};
  /// At most so many tokens are generated.
  std::int32_t max_tokens = 16;
  /// Before so many tokens, the end-of-generation tokens and stop_token_ids cannot be drawn.
  std::int32_t min_tokens = 0;
  /// The text ends before the first of these that comes up in it.
  std::vector<std::string> stop = {};
  /// Generation ends at these tokens too, beside the model's own end-of-generation tokens; together at most 256.
  std::vector<token_id> stop_token_ids = {};
  /// So many answers, each a request of its own with the ids that follow; answer i draws with seed + i. They share the
  /// prompt's place in the cache, where that can be shared.
  std::int32_t n = 1;
  /// Lower goes first, where the batching policy has queue::priority.
  std::int32_t priority = 0;
  /// On whose account, where it has queue::fair.
  std::uint64_t client = 0;
  /// The request ends when so many seconds have passed since it was submitted. 0: it may take for ever.
  double timeout = 0;
  /// Go on after the model's end-of-generation tokens, as benchmarks need it.
  bool ignore_eos = false;
};

}  // namespace tenon::sampling
