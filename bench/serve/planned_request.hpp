// A request of a workload, before there is a model.
#pragma once

#include <cstddef>

namespace serve {

struct planned_request {
  double arrival = 0;  // seconds from the start of the run
  std::size_t input_len = 0;
  std::size_t output_len = 0;  // generated whatever the tokens are
};

}  // namespace serve
