// The stage `top_k`: the k most likely tokens.
#pragma once

#include <cstddef>

#include "tenon/core/concat.hpp"
#include "tenon/core/error.hpp"
#include "tenon/core/fixed_string.hpp"
#include "tenon/core/host_device.hpp"
#include "tenon/sample/field.hpp"

namespace tenon::sampling {

/// Keeps the request's top_k best candidates, the lower ids on a tie. 0, -1 and more than there are: all.
struct top_k {
  static constexpr auto name = fixed_string("top_k");
  static constexpr field reads = field::top_k;
  static constexpr bool keeps_best = true;

  TENON_HOST_DEVICE_TEMPLATE static void apply(auto& c, const auto& request) {
    if (request.top_k > 0) c.keep_top(static_cast<std::size_t>(request.top_k));
  }

  [[gnu::cold]] static void validate(const auto& request) {
    if (request.top_k >= -1) return;
    throw request_error(
        concat("top_k is ", request.top_k, ": it must be 1 or more, or 0 or -1 to draw from all tokens"));
  }
};

}  // namespace tenon::sampling
