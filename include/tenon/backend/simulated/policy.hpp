// The backend policy `simulated`: engines on a device that is not there.
#pragma once

#include <cstddef>

#include "tenon/backend/simulated/device.hpp"
#include "tenon/backend/simulated/runtime.hpp"
#include "tenon/backend/simulated/speculation.hpp"
#include "tenon/core/fixed_string.hpp"
#include "tenon/policy/defaults.hpp"
#include "tenon/policy/slot.hpp"

namespace tenon::device {

/// What the device waits for the host between two steps: until tokens have been read back, the next step has been planned, and
/// its work has arrived.
template <std::size_t Microseconds>
struct host_gap {
  static constexpr std::size_t microseconds = Microseconds;
  static constexpr double seconds = static_cast<double>(Microseconds) * 1e-6;
};

}  // namespace tenon::device

namespace tenon::backend {

/// No weights and no arithmetic: a step takes the time that the device would take (step_time.hpp), by a clock of its own. The
/// scheduler, the cache manager and everything above are those of every engine. An engine is made for a shape
/// (`engine::simulate`) or for a file, of which only the head is read. Deterministic.
template <device::policy Device, class HostGap = device::host_gap<100>,
          class Speculation = device::no_speculation>
struct simulated {
  using slot = tenon::slot::backend;
  static constexpr auto name = "simulated (" + Device::name + ", host " + decimal<HostGap::microseconds>() +
                               " us" + Speculation::name + ")";
  using device_type = Device;
  using default_execution = execution::graph;
  static constexpr bool has_graphs = true;
  template <class Key, class Value>
  static constexpr bool reads_cache_of = true;

  template <class Model, class Precision, class View, class Sampling, class Execution, class Instrumentation>
  using runtime = tenon::simulated::runtime<Device, HostGap, Speculation, Precision, View, Execution>;
};

}  // namespace tenon::backend
