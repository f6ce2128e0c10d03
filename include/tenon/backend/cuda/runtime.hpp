// The CUDA backend at run time, as plain C++ sees it: no header of the CUDA Toolkit, so that only the file that
// instantiates an engine needs nvcc. runtime.cuh has what is behind.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "tenon/cache/block_copy.hpp"
#include "tenon/core/progress.hpp"
#include "tenon/engine/options.hpp"
#include "tenon/io/gguf.hpp"
#include "tenon/model/llama.hpp"
#include "tenon/policy/cache.hpp"
#include "tenon/policy/precision.hpp"
#include "tenon/sample/result.hpp"
#include "tenon/sample/row.hpp"
#include "tenon/schedule/step_plan.hpp"

namespace tenon::cuda {

/// One model on one device: its weights, the cache's memory, and everything that a step needs, allocated by load(). A step
/// runs on one stream, and ends when its tokens have arrived on the host.
template <class Model, precision::policy Precision, cache::layout_view View, class Sampling, class Execution,
          class Instrumentation, class Gemm>
class runtime {
 public:
  /// Takes options.device and options.stream. Throws cuda_error, and tenon::error for a device that is too old.
  explicit runtime(const engine_options& options);
  runtime(runtime&&) noexcept;
  runtime& operator=(runtime&&) noexcept;
  ~runtime();

  /// Loads the weights, allocates cache and workspace for steps of this capacity, and captures the graphs. `tokens` is the
  /// size of the tokenizer's vocabulary, which may be smaller than the model's. Throws load_error for the file, tenon::error
  /// where the device's free memory is too small, cuda_error.
  void load(const io::gguf_file& file, const model::description& description, const step_capacity& capacity,
            std::size_t tokens, const progress_callback& progress);

  /// Makes copies of blocks of `block_size` rows, in this order, before the next step.
  void copy_blocks(std::span<const cache::block_copy> copies, std::size_t block_size);

  /// Runs the plan and draws a token for each of its sampled rows: choices[i] for rows[i]. Throws cuda_error.
  void step(const step_plan& plan, std::span<const View> views, std::span<const sampling::row<Sampling>> rows,
            std::span<sampling::result> choices);

  /// Runs the plan; returns the logits of its sampled rows, [rows, vocabulary of the model], valid until the next step.
  std::span<const float> logits(const step_plan& plan, std::span<const View> views);

  /// Bytes for a file's weights, a cache and a workspace, before anything is loaded. Throws load_error for a file that
  /// would not load.
  static std::size_t weight_bytes(const io::gguf_file& file, const model::description& description);
  static std::size_t cache_bytes(const model::description& description, const step_capacity& capacity);
  static std::size_t workspace_bytes(const io::gguf_file& file, const model::description& description,
                                     const step_capacity& capacity);

  /// Host threads that a step uses.
  int threads() const { return 1; }

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace tenon::cuda
