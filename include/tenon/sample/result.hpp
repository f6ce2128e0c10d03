// What sampling a row of logits comes to.
#pragma once

#include "tenon/core/types.hpp"
#include "tenon/sample/fault.hpp"

namespace tenon::sampling {

/// A token, or why there is none (then token is -1).
struct result {
  token_id token = -1;
  sampling::fault fault = sampling::fault::none;

  explicit operator bool() const { return fault == sampling::fault::none; }
};

}  // namespace tenon::sampling
