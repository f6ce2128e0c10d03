// The backend slot: what computes.
#pragma once

#include "tenon/backend/host/runtime.hpp"
#include "tenon/backend/simulated/policy.hpp"  // IWYU pragma: export
#include "tenon/core/fixed_string.hpp"
#include "tenon/policy/defaults.hpp"
#include "tenon/policy/slot.hpp"
#if defined(__CUDACC__)
#include "tenon/backend/cuda/policy.hpp"
#endif

namespace tenon::backend {

// A backend policy has
//   runtime<Model, Precision, View, Sampling, Execution, Instrumentation>   what computes; see host/runtime.hpp
//   default_execution            of engines that name none
//   has_graphs                   whether it can replay captured steps (execution::graph)
//   reads_cache_of<Key, Value>   whether its attention reads a cache of these formats

/// The processor that runs the program, with kernels for one instruction set; see `host`.
template <class Isa>
struct basic_host {
  using slot = tenon::slot::backend;
  static constexpr auto name = "host (" + Isa::name + ")";
  using default_execution = execution::eager;
  static constexpr bool has_graphs = false;
  template <class Key, class Value>
  static constexpr bool reads_cache_of = true;  // every format that kv<...> takes

  template <class Model, class Precision, class View, class Sampling, class Execution, class Instrumentation>
  using runtime = tenon::host::runtime<Isa, Model, Precision, View>;
};

/// The host backend with the kernels that the compiler's flags allow (-march=native for this machine).
using host = basic_host<isa::native>;

/// What an engine that names no backend gets.
#if defined(__CUDACC__)
using standard = cuda;
#else
using standard = host;
#endif

}  // namespace tenon::backend
