// The clock of an engine whose time is simulated, for the driver.
#pragma once

#include "serve/drive.hpp"

namespace serve {

/// Sleeping lets the engine's time pass. The engine outlives it.
template <class Engine>
requires(Engine::has_virtual_clock) class engine_clock {
 public:
  explicit engine_clock(Engine& engine) : engine_(engine) {}

  time_point now() const { return engine_.now(); }
  void sleep_until(time_point moment) { engine_.advance_to(moment); }

 private:
  Engine& engine_;
};

}  // namespace serve
