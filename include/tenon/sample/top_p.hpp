// The stage `top_p`: the nucleus (Holtzman et al. 2020).
#pragma once

#include "tenon/core/concat.hpp"
#include "tenon/core/error.hpp"
#include "tenon/core/fixed_string.hpp"
#include "tenon/core/host_device.hpp"
#include "tenon/sample/describe_value.hpp"
#include "tenon/sample/field.hpp"

namespace tenon::sampling {

/// Keeps the fewest best candidates whose probabilities (among those left by the stages before) reach the
/// request's top_p.
struct top_p {
  static constexpr auto name = fixed_string("top_p");
  static constexpr field reads = field::top_p;
  static constexpr bool keeps_best = true;

  TENON_HOST_DEVICE_TEMPLATE static void apply(auto& c, const auto& request) {
    if (request.top_p < 1) c.keep_share(static_cast<double>(request.top_p));
  }

  [[gnu::cold]] static void validate(const auto& request) {
    if (request.top_p > 0 && request.top_p <= 1) return;
    throw request_error(concat(
        "top_p is ", detail::text_of(request.top_p),
        ": it must be above 0 and at most 1 (1 draws from all tokens; 0 would leave none, so for the best "
        "token alone use temperature 0 or top_k 1)"));
  }
};

}  // namespace tenon::sampling
