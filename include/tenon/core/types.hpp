// Small vocabulary types that every part shares.
#pragma once

#include <cstdint>

namespace tenon {

/// The number of a token in a model's vocabulary. Negative ids are never valid.
using token_id = std::int32_t;

}  // namespace tenon
