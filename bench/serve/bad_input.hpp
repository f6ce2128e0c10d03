// What the caller of tenon-serve-bench got wrong.
#pragma once

#include <tenon/core/error.hpp>

namespace serve {

/// An argument or a trace file that cannot be used. what() says where it is wrong.
class bad_input : public tenon::error {
 public:
  using error::error;
};

}  // namespace serve
