// A clock that goes only when it is told to.
#pragma once

#include <chrono>
#include <cmath>

#include "tenon/measure/request_times.hpp"

namespace tenon::simulated {

class virtual_clock {
 public:
  using time_point = measure::clock::time_point;

  time_point now() const { return now_; }
  /// Lets time pass, to the nanosecond.
  void pass(double seconds) {
    now_ += std::chrono::nanoseconds(static_cast<std::chrono::nanoseconds::rep>(std::llround(seconds * 1e9)));
  }
  void advance_to(time_point moment) {
    if (moment > now_) now_ = moment;
  }

 private:
  time_point now_{};  // the clock's epoch: the same in every run
};

}  // namespace tenon::simulated
