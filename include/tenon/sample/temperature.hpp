// The stage `temperature`: divides the logits.
#pragma once

#include <cmath>

#include "tenon/core/concat.hpp"
#include "tenon/core/error.hpp"
#include "tenon/core/fixed_string.hpp"
#include "tenon/core/host_device.hpp"
#include "tenon/sample/describe_value.hpp"
#include "tenon/sample/field.hpp"

namespace tenon::sampling {

/// Divides the logits by the request's temperature. Below 1e-5 (as in vLLM) only the best candidate stays.
struct temperature {
  static constexpr auto name = fixed_string("temperature");
  static constexpr field reads = field::temperature;
  static constexpr bool keeps_best = true;
  static constexpr float greedy_below = 1e-5f;

  TENON_HOST_DEVICE_TEMPLATE static void apply(auto& c, const auto& request) {
    if (request.temperature < greedy_below) return c.keep_best();
    c.divide_by(request.temperature);
  }

  [[gnu::cold]] static void validate(const auto& request) {
    if (std::isfinite(request.temperature) && request.temperature >= 0) return;
    throw request_error(concat(
        "temperature is ", detail::text_of(request.temperature),
        ": it must be a number from 0 up (0 always takes the best token, 1 leaves the model as it is)"));
  }
};

}  // namespace tenon::sampling
