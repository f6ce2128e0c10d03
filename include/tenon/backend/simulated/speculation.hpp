// What guessing ahead does to the time of a step, on average.
#pragma once

#include <cstddef>

#include "tenon/core/fixed_string.hpp"

namespace tenon::device {

/// Every step gives each sequence one token.
struct no_speculation {
  static constexpr auto name = fixed_string("");
  static constexpr std::size_t guesses = 0;
  static constexpr double tokens_per_step = 1;
  static constexpr double draft_cost = 0;
};

/// Guesses tokens before they are checked in one step of the model (Leviathan et al., "Fast Inference from Transformers via
/// Speculative Decoding", 2023): `Guesses` at a time, each right with a chance of `AcceptedPercent`, at `DraftPercent` of
/// the time that the model takes for one step. Where all sequences decode, time passes as if each step gave the share of
/// tokens that it gives on average: throughput and TPOT are those of the method, the gaps between tokens are
/// smoother. Steps with prompts in them do not guess.
template <std::size_t Guesses, std::size_t AcceptedPercent, std::size_t DraftPercent>
struct speculative {
  static_assert(
      Guesses > 0 && AcceptedPercent < 100,
      "tenon: speculative<Guesses, AcceptedPercent, DraftPercent> needs a guess and a chance below 100");
  static constexpr auto name =
      ", " + decimal<Guesses>() + " guesses, " + decimal<AcceptedPercent>() + "% right";
  static constexpr std::size_t guesses = Guesses;
  static constexpr double draft_cost = DraftPercent / 100.0;
  /// Right guesses up to the first wrong one, and the token that the check itself gives: 1 + a + a^2 + ...
  static constexpr double tokens_per_step = [] {
    double sum = 0, power = 1;
    for (std::size_t i = 0; i <= Guesses; ++i, power *= AcceptedPercent / 100.0) sum += power;
    return sum;
  }();
};

}  // namespace tenon::device
