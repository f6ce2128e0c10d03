// The backend policy `cuda`. Plain C++ can name an engine with it, and use one that a .cu file instantiates.
#pragma once

#include <type_traits>

#include "tenon/backend/cuda/gemm.hpp"
#include "tenon/backend/cuda/runtime.hpp"
#include "tenon/core/fixed_string.hpp"
#include "tenon/format/all.hpp"
#include "tenon/policy/defaults.hpp"
#include "tenon/policy/slot.hpp"

namespace tenon::backend {

/// One NVIDIA GPU of compute capability 8.0 (A100, RTX 30) or newer; Gemm is gemm::own or gemm::cublaslt.
template <class Gemm>
struct basic_cuda {
  using slot = tenon::slot::backend;
  static constexpr auto name = "cuda" + Gemm::name;
  using default_execution = execution::graph;
  static constexpr bool has_graphs = true;
  template <class Key, class Value>
  static constexpr bool reads_cache_of = std::is_same_v<Key, f32> == std::is_same_v<Value, f32>;

  template <class Model, class Precision, class View, class Sampling, class Execution, class Instrumentation>
  using runtime = tenon::cuda::runtime<Model, Precision, View, Sampling, Execution, Instrumentation, Gemm>;
};

using cuda = basic_cuda<gemm::own>;

}  // namespace tenon::backend
