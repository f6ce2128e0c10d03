// What is chosen when an engine is made, not when it is compiled.
#pragma once

#include <cstddef>
#include <string>

#include "tenon/core/concat.hpp"
#include "tenon/core/progress.hpp"

struct CUstream_st;  // what cudaStream_t points to

namespace tenon {

/// Zeros stand for defaults.
struct engine_options {
  std::size_t max_batch = 0;  // sequences at once; at most, and by default, what the batching policy says
  std::size_t context = 0;    // positions of one sequence; by default the model's, but at most 4096
  std::size_t max_step_tokens = 0;  // tokens in one step, of all sequences; by default 512
  std::size_t cache_tokens =
      0;  // positions of all sequences that a paged cache holds; by default max_batch contexts
  std::size_t swap_tokens =
      0;  // positions in host memory for sequences that make room; by default, where the preemption policy swaps,
          // a quarter of the cache's, and one context at least
  std::size_t max_queue = 0;        // requests that wait; what comes then is refused; by default no limit
  int threads = 0;                  // that compute on the host, or pack weights; by default one a processor
  progress_callback progress = {};  // called while weights are loaded
  int device = 0;                   // of the CUDA backend
  CUstream_st* stream = nullptr;  // of the CUDA backend, kept alive by the caller; by default one of its own
};

/// The memory that an engine needs, in bytes.
struct memory_plan {
  std::size_t weights = 0;
  std::size_t cache = 0;
  std::size_t workspace = 0;
  std::size_t max_batch = 0;  // what cache and workspace are for
  std::size_t context = 0;

  std::size_t total() const { return weights + cache + workspace; }
  bool fits(std::size_t available) const { return total() <= available; }
  /// What does not fit into `available` bytes, and what to change; empty if all does.
  [[gnu::cold]] std::string shortage(std::size_t available) const {
    if (fits(available)) return {};
    const auto mebibytes = [](std::size_t bytes) { return concat((bytes + 0xfffff) >> 20, " MiB"); };
    const std::string needs =
        concat("the engine needs ", mebibytes(total()), " (", mebibytes(weights), " weights, ",
               mebibytes(cache), " cache for ", max_batch, " sequences of ", context, " tokens, ",
               mebibytes(workspace), " workspace), but ", mebibytes(available), " are free; ");
    if (weights + workspace >= available)
      return concat(needs, "use a model in a smaller format, or a smaller model");
    const std::size_t left = available - weights - workspace;
    const auto most = static_cast<std::size_t>(static_cast<double>(left) / static_cast<double>(cache) *
                                               static_cast<double>(context));
    return concat(needs, "lower context to ", most, " or less, or max_batch");
  }
};

}  // namespace tenon
