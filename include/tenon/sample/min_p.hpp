// The stage `min_p`: a bar that moves with the best token (Nguyen et al. 2024).
#pragma once

#include <cmath>

#include "tenon/core/concat.hpp"
#include "tenon/core/error.hpp"
#include "tenon/core/fixed_string.hpp"
#include "tenon/core/host_device.hpp"
#include "tenon/sample/describe_value.hpp"
#include "tenon/sample/field.hpp"

namespace tenon::sampling {

/// Keeps the candidates that are at least the request's min_p times as likely as the best one.
struct min_p {
  static constexpr auto name = fixed_string("min_p");
  static constexpr field reads = field::min_p;
  static constexpr bool keeps_best = true;

  TENON_HOST_DEVICE_TEMPLATE static void apply(auto& c, const auto& request) {
    if (request.min_p > 0) c.keep_within(-std::log(static_cast<double>(request.min_p)));
  }

  [[gnu::cold]] static void validate(const auto& request) {
    if (request.min_p >= 0 && request.min_p <= 1) return;
    throw request_error(
        concat("min_p is ", detail::text_of(request.min_p),
               ": it must be from 0 to 1 (0 draws from all tokens, 1 from those that equal the best)"));
  }
};

}  // namespace tenon::sampling
