// Sampling on the device as a function over host memory, so that tests are plain C++; see ops.hpp.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "backend/cuda/ops.hpp"
#include "tenon/core/fixed_string.hpp"
#include "tenon/core/host_device.hpp"
#include "tenon/policy/sampling.hpp"
#include "tenon/sample/params.hpp"

namespace tenon::test {

/// Top-n-sigma (Tang et al. 2024) as a user writes it for both sides: keeps logits within n standard deviations of the best.
struct top_n_sigma {
  static constexpr auto name = fixed_string("top_n_sigma");
  static constexpr bool keeps_best = true;
  struct params {
    float n = 1;
  };
  TENON_HOST_DEVICE_TEMPLATE static void apply(auto& c, const params& own) {
    const double best = static_cast<double>(c.best_logit()), count = static_cast<double>(c.size());
    const double mean =
        c.sum_of([best](token_id, float logit) { return static_cast<double>(logit) - best; }) / count;
    const double variance = c.sum_of([best, mean](token_id, float logit) {
      const double off = static_cast<double>(logit) - best - mean;
      return off * off;
    }) / count;
    c.keep_within(static_cast<double>(own.n) * std::sqrt(variance));
  }
};

/// Moves one token's logit, then drops the tokens with odd ids.
struct biased_even {
  static constexpr auto name = fixed_string("biased_even");
  struct params {
    token_id favourite = 0;
    float bias = 0;
  };
  TENON_HOST_DEVICE_TEMPLATE static void apply(auto& c, const params& own) {
    c.edit([own](token_id id, float logit) { return id == own.favourite ? logit + own.bias : logit; });
    c.keep_where([](token_id id, float) { return id % 2 == 0; });
  }
};

using cuda_own_chain = sampling::chain<biased_even, top_n_sigma, sampling::temperature>;

template <class Policy>
struct sample_row {
  sampling::params<Policy> request;
  std::uint64_t seed = 0, token_index = 0;
  std::vector<token_id> banned = {};
};

/// Chooses a token for each row; `replayed`: in a graph, three times. logits [rows.size(), stride], or one row for all of them
/// when the stride is 0.
template <class Policy>
std::vector<cuda_choice> cuda_sample(std::span<const float> logits, std::size_t stride,
                                     std::size_t vocabulary, std::span<const sample_row<Policy>> rows,
                                     bool replayed = false);

}  // namespace tenon::test
