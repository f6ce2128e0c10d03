// One case on the device: once for an emulator's counters, or several times for a clock.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "kernel_case.hpp"

namespace tenon::bench {

/// What the runtime says of a kernel that a case launches.
struct kernel_launch {
  std::string name;  // mangled
  std::array<unsigned, 3> grid, block;
  std::size_t dynamic_shared, static_shared, local_bytes;
  int registers;
  int blocks_per_multiprocessor;  // that fit at once, by the occupancy calculator
};

struct case_run {
  std::vector<kernel_launch> launches;
  std::optional<double> microseconds;  // the median, where it was measured
};

/// Whether the runtime counts what kernels do and writes it to a file (CUEMU_PROFILE); it has no clock worth reading.
bool runtime_counts();

/// Runs the case as a graph, as the engine does. Where the runtime counts: once, in an NVTX range with the case's name; else
/// `repetitions` times, each after a sweep of the second-level cache. Throws cuda_error.
case_run run_case(const kernel_case& c, int repetitions);

}  // namespace tenon::bench
