#include "run_case.hpp"

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "tenon/backend/cuda/memory.hpp"
#include "tenon/measure/nvtx.hpp"

namespace tenon::bench {

namespace {

using cuda::check;

struct destroy_graph {
  void operator()(cudaGraph_t graph) const { cudaGraphDestroy(graph); }
  void operator()(cudaGraphExec_t graph) const { cudaGraphExecDestroy(graph); }
  void operator()(cudaEvent_t event) const { cudaEventDestroy(event); }
};
template <class Handle>
using owned = std::unique_ptr<std::remove_pointer_t<Handle>, destroy_graph>;

owned<cudaGraph_t> captured(const launcher& launch, const cuda::stream& on) {
  cudaGraph_t graph = nullptr;
  check(cudaStreamBeginCapture(on.get(), cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  launch(on);
  check(cudaStreamEndCapture(on.get(), &graph), "cudaStreamEndCapture");
  return owned<cudaGraph_t>(graph);
}

kernel_launch describe(cudaGraphNode_t node) {
  cudaKernelNodeParams p{};
  check(cudaGraphKernelNodeGetParams(node, &p), "cudaGraphKernelNodeGetParams");
  cudaFuncAttributes has{};
  check(cudaFuncGetAttributes(&has, p.func), "cudaFuncGetAttributes");
  const char* name = nullptr;
  check(cudaFuncGetName(&name, p.func), "cudaFuncGetName");
  int fit = 0;
  const unsigned threads = p.blockDim.x * p.blockDim.y * p.blockDim.z;
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&fit, p.func, static_cast<int>(threads),
                                                      p.sharedMemBytes),
        "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
  return {name,
          {p.gridDim.x, p.gridDim.y, p.gridDim.z},
          {p.blockDim.x, p.blockDim.y, p.blockDim.z},
          p.sharedMemBytes,
          has.sharedSizeBytes,
          has.localSizeBytes,
          has.numRegs,
          fit};
}

std::vector<kernel_launch> launches_of(cudaGraph_t graph) {
  std::size_t count = 0;
  check(cudaGraphGetNodes(graph, nullptr, &count), "cudaGraphGetNodes");
  std::vector<cudaGraphNode_t> nodes(count);
  check(cudaGraphGetNodes(graph, nodes.data(), &count), "cudaGraphGetNodes");
  std::vector<kernel_launch> launches;
  for (const cudaGraphNode_t node : nodes) {
    cudaGraphNodeType type{};
    check(cudaGraphNodeGetType(node, &type), "cudaGraphNodeGetType");
    if (type == cudaGraphNodeTypeKernel) launches.push_back(describe(node));
  }
  return launches;
}

owned<cudaEvent_t> timing_event() {
  cudaEvent_t made = nullptr;
  check(cudaEventCreate(&made), "cudaEventCreate");
  return owned<cudaEvent_t>(made);
}

/// The median of the times that a graph takes with its data in memory: writing so many bytes before sweeps them out of the
/// second-level cache, and takes long enough for the graph's launch to be in the queue.
double median_microseconds(cudaGraphExec_t graph, int repetitions, const cuda::stream& on) {
  constexpr std::size_t sweep_bytes = std::size_t{256} << 20;
  cuda::device_buffer<std::byte> swept(sweep_bytes);
  const auto start = timing_event(), end = timing_event();
  std::vector<float> times;
  for (int i = 0; i <= repetitions; ++i) {
    swept.zero(on);
    check(cudaEventRecord(start.get(), on.get()), "cudaEventRecord");
    check(cudaGraphLaunch(graph, on.get()), "cudaGraphLaunch");
    check(cudaEventRecord(end.get(), on.get()), "cudaEventRecord");
    on.synchronize();
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, start.get(), end.get()), "cudaEventElapsedTime");
    if (i > 0) times.push_back(milliseconds);  // the first one warms up
  }
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return static_cast<double>(*middle) * 1000;
}

}  // namespace

bool runtime_counts() {
  const char* file = std::getenv("CUEMU_PROFILE");
  return file != nullptr && *file != '\0';
}

case_run run_case(const kernel_case& c, int repetitions) {
  const cuda::stream on;
  const launcher launch = c.make(on);
  on.synchronize();
  const owned<cudaGraph_t> graph = captured(launch, on);
  cudaGraphExec_t instantiated = nullptr;
  check(cudaGraphInstantiate(&instantiated, graph.get(), 0), "cudaGraphInstantiate");
  const owned<cudaGraphExec_t> ready(instantiated);
  case_run run{launches_of(graph.get()), std::nullopt};
  if (runtime_counts()) {
    const instrumentation::nvtx::range named(c.name.c_str());
    check(cudaGraphLaunch(ready.get(), on.get()), "cudaGraphLaunch");
    on.synchronize();
  } else {
    run.microseconds = median_microseconds(ready.get(), repetitions, on);
  }
  return run;
}

}  // namespace tenon::bench
