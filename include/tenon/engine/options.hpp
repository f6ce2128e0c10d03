// What is chosen when an engine is made, not when it is compiled.
#pragma once

#include <cstddef>

#include "tenon/backend/host/load.hpp"

namespace tenon {

/// Zeros stand for defaults.
struct engine_options {
  std::size_t max_batch = 0;  // sequences at once; at most, and by default, what the batching policy says
  std::size_t context = 0;    // positions of one sequence; by default the model's, but at most 4096
  std::size_t max_step_tokens = 0;  // tokens in one step, a prompt's chunk; by default 512
  int threads = 0;                  // of the host backend; by default one for each processor
  progress_callback progress = {};  // called while weights are loaded
};

/// The memory that an engine needs, in bytes.
struct memory_plan {
  std::size_t weights = 0;
  std::size_t cache = 0;
  std::size_t workspace = 0;
  std::size_t total() const { return weights + cache + workspace; }
};

}  // namespace tenon
