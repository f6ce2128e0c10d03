#include "engine/cuda/runtime_calls.hpp"

#include <cuda_runtime_api.h>

namespace {

tenon::test::runtime_calls calls;
std::size_t left_until_failure = 0;

/// Counts an allocation; whether it fails.
bool allocation_fails() {
  ++calls.allocations;
  return left_until_failure != 0 && --left_until_failure == 0;
}

std::size_t kernels_in(cudaGraph_t graph) {
  std::size_t count = 0, kernels = 0;
  cudaGraphGetNodes(graph, nullptr, &count);
  std::vector<cudaGraphNode_t> nodes(count);
  cudaGraphGetNodes(graph, nodes.data(), &count);
  for (const cudaGraphNode_t node : nodes) {
    cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
    cudaGraphNodeGetType(node, &type);
    kernels += type == cudaGraphNodeTypeKernel;
  }
  return kernels;
}

}  // namespace

// The names are the linker's.
extern "C" {

cudaError_t __real_cudaMalloc(void**, std::size_t);
cudaError_t __wrap_cudaMalloc(void** memory, std::size_t bytes) {
  return allocation_fails() ? cudaErrorMemoryAllocation : __real_cudaMalloc(memory, bytes);
}

cudaError_t __real_cudaMallocHost(void**, std::size_t);
cudaError_t __wrap_cudaMallocHost(void** memory, std::size_t bytes) {
  return allocation_fails() ? cudaErrorMemoryAllocation : __real_cudaMallocHost(memory, bytes);
}

cudaError_t __real_cudaStreamSynchronize(cudaStream_t);
cudaError_t __wrap_cudaStreamSynchronize(cudaStream_t stream) {
  ++calls.waits;
  return __real_cudaStreamSynchronize(stream);
}

cudaError_t __real_cudaMemcpyAsync(void*, const void*, std::size_t, cudaMemcpyKind, cudaStream_t);
cudaError_t __wrap_cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                                   cudaStream_t stream) {
  ++calls.copies;
  return __real_cudaMemcpyAsync(to, from, bytes, kind, stream);
}

cudaError_t __real_cudaGraphInstantiate(cudaGraphExec_t*, cudaGraph_t, unsigned long long);
cudaError_t __wrap_cudaGraphInstantiate(cudaGraphExec_t* made, cudaGraph_t graph, unsigned long long flags) {
  calls.kernels_of_graphs.push_back(kernels_in(graph));
  return __real_cudaGraphInstantiate(made, graph, flags);
}

cudaError_t __real_cudaGraphLaunch(cudaGraphExec_t, cudaStream_t);
cudaError_t __wrap_cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream) {
  ++calls.graph_launches;
  return __real_cudaGraphLaunch(graph, stream);
}
}

namespace tenon::test {

const runtime_calls& calls_so_far() { return calls; }
void fail_allocation(std::size_t point) { left_until_failure = point; }

}  // namespace tenon::test
