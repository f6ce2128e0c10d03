// Work of a stream, recorded once and launched as a whole.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <type_traits>
#include <utility>

#include "tenon/backend/cuda/error.hpp"
#include "tenon/backend/cuda/stream.hpp"

namespace tenon::cuda {

namespace detail {

struct destroy_graph {
  void operator()(cudaGraph_t graph) const { cudaGraphDestroy(graph); }
};
struct destroy_graph_exec {
  void operator()(cudaGraphExec_t graph) const { cudaGraphExecDestroy(graph); }
};

}  // namespace detail

/// An executable CUDA graph. Moves, does not copy.
class graph {
 public:
  /// Records what `work()` puts on the stream; nothing of it runs. Throws cuda_error, and what `work` throws.
  template <class Work>
  static graph capture(const stream& on, Work&& work) {
    check(cudaStreamBeginCapture(on.get(), cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    cudaGraph_t recorded = nullptr;
    try {
      work();
    } catch (...) {
      cudaStreamEndCapture(on.get(), &recorded);
      if (recorded != nullptr) cudaGraphDestroy(recorded);
      throw;
    }
    check(cudaStreamEndCapture(on.get(), &recorded), "cudaStreamEndCapture");
    const std::unique_ptr<std::remove_pointer_t<cudaGraph_t>, detail::destroy_graph> owned(recorded);
    cudaGraphExec_t made = nullptr;
    check(cudaGraphInstantiate(&made, recorded, 0), "cudaGraphInstantiate");
    std::size_t nodes = 0;
    check(cudaGraphGetNodes(recorded, nullptr, &nodes), "cudaGraphGetNodes");
    return graph(made, nodes);
  }

  void launch(const stream& on) const {
    check(cudaGraphLaunch(executable_.get(), on.get()), "cudaGraphLaunch");
  }

  /// Kernels and copies in it.
  std::size_t nodes() const { return nodes_; }

 private:
  graph(cudaGraphExec_t made, std::size_t nodes) : executable_(made), nodes_(nodes) {}

  std::unique_ptr<std::remove_pointer_t<cudaGraphExec_t>, detail::destroy_graph_exec> executable_;
  std::size_t nodes_;
};

}  // namespace tenon::cuda
