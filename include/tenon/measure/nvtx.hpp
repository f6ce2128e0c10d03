// Named ranges for NVIDIA's profilers. Needs the header of NVTX 3, which comes with the CUDA Toolkit.
#pragma once

#include <nvtx3/nvToolsExt.h>

#include "tenon/core/fixed_string.hpp"
#include "tenon/policy/slot.hpp"

namespace tenon::instrumentation {

/// Names the stages of each step (the names of the operations in model/*_forward.hpp, and "step", "inputs", "sample") as
/// NVTX ranges, which Nsight Systems shows above the kernels that they started. Costs next to nothing without a profiler.
struct nvtx {
  using slot = tenon::slot::instrumentation;
  static constexpr auto name = fixed_string("nvtx");

  class range {
   public:
    explicit range(const char* stage) { nvtxRangePushA(stage); }
    ~range() { nvtxRangePop(); }
    range(const range&) = delete;
    range& operator=(const range&) = delete;
  };
};

}  // namespace tenon::instrumentation
