// The backend slot: what computes.
#pragma once

#include "tenon/backend/host/runtime.hpp"
#include "tenon/core/fixed_string.hpp"
#include "tenon/policy/slot.hpp"

namespace tenon::backend {

/// The processor that runs the program, with kernels for one instruction set; see `host`.
template <class Isa>
struct basic_host {
  using slot = tenon::slot::backend;
  static constexpr auto name = "host (" + Isa::name + ")";

  template <class Model, class Precision, class View>
  using runtime = tenon::host::runtime<Isa, Model, Precision, View>;
};

/// The host backend with the kernels that the compiler's flags allow (-march=native for this machine).
using host = basic_host<isa::native>;

}  // namespace tenon::backend
