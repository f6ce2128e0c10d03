// How a step's tokens are shared out between prompts and sequences that decode.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <span>

#include "tenon/core/fixed_string.hpp"

namespace tenon::batching {

/// One running sequence in a step. More than one pending token is a prompt, or all of a sequence that had to leave.
struct token_share {
  std::size_t pending = 0;  // tokens to compute, at least 1
  std::size_t count = 0;    // of those in this step
  bool decodes() const { return pending == 1; }
};

/// What a prefill policy must have:
/// - budget(max_batch, max_tokens): most tokens of a step, between the two
/// - share(sequences in order, budget, decodes_first): sets each count. `decodes_first` after a step that left out one
///   that decodes. The first sequence must get a token in one of any two steps.
template <class P>
concept prefill_policy = std::convertible_to<decltype(P::name), std::string_view> &&
    requires(std::span<token_share> shares, std::size_t count) {
  { P::budget(count, count) } -> std::convertible_to<std::size_t>;
  P::share(shares, count, true);
};

namespace detail {

template <std::size_t Tokens>
constexpr auto chunked_name() {
  if constexpr (Tokens == 0) {
    return fixed_string("chunked");
  } else {
    return "chunked<" + decimal<Tokens>() + ">";
  }
}

/// One token for each that decodes, as far as the budget goes. Returns what is left.
inline std::size_t share_decodes(std::span<token_share> sequences, std::size_t budget) {
  for (token_share& s : sequences) {
    if (!s.decodes()) continue;
    s.count = budget > 0 ? 1 : 0;
    budget -= s.count;
  }
  return budget;
}

}  // namespace detail

namespace prefill {

/// A prompt is computed in one step. Prompts come first: the answers that run wait meanwhile, but not for two steps in
/// a row. Only a prompt that is longer than a step can be is cut, into whole steps.
struct whole {
  static constexpr auto name = fixed_string("whole");
  static constexpr std::size_t steps_per_token = 2;

  static constexpr std::size_t budget(std::size_t, std::size_t max_tokens) { return max_tokens; }

  static void share(std::span<token_share> sequences, std::size_t budget, bool decodes_first) {
    std::size_t left = decodes_first ? detail::share_decodes(sequences, budget) : budget;
    for (token_share& s : sequences) {
      if (s.decodes()) continue;
      if (s.pending > left && left < budget) break;  // in order: a shorter one does not overtake
      s.count = (std::min)(s.pending, left);
      left -= s.count;
    }
    if (!decodes_first) detail::share_decodes(sequences, left);
  }
};

/// Prompts are cut, so that a step has at most `Tokens` (0: what the engine can hold), and at least one for each
/// sequence (Agrawal et al., "Taming Throughput-Latency Tradeoff in LLM Inference with Sarathi-Serve", 2024). Those
/// that decode come first. The first prompt in order gets at least half of what is left; before it, the shortest
/// rests get theirs: a long prompt does not hold up the short ones behind it, nor they it.
template <std::size_t Tokens = 0>
struct chunked {
  static constexpr auto name = detail::chunked_name<Tokens>();
  static constexpr std::size_t steps_per_token = 1;

  static constexpr std::size_t budget(std::size_t max_batch, std::size_t max_tokens) {
    return Tokens == 0 ? max_tokens : (std::min)(max_tokens, (std::max)(Tokens, max_batch));
  }

  static void share(std::span<token_share> sequences, std::size_t budget, bool) {
    std::size_t left = detail::share_decodes(sequences, budget);
    const auto first =
        std::find_if(sequences.begin(), sequences.end(), [](const token_share& s) { return !s.decodes(); });
    std::size_t kept = first == sequences.end() ? 0 : (std::min)(first->pending, (left + 1) / 2);
    while (left > 0) {
      auto next = sequences.end();
      for (auto s = sequences.begin(); s != sequences.end(); ++s)
        if (s->count == 0 && (next == sequences.end() || s->pending < next->pending)) next = s;
      if (next == sequences.end()) break;
      if (next != first && left == kept) next = first;  // the others have had their half
      if (next == first) kept = 0;
      next->count = (std::min)(next->pending, left - kept);
      left -= next->count;
    }
  }
};

static_assert(prefill_policy<whole> && prefill_policy<chunked<>>);

}  // namespace prefill
}  // namespace tenon::batching
