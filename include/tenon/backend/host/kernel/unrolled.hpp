// A loop that the compiler must unroll, for kernels whose arrays have to live in registers.
#pragma once

#include <type_traits>
#include <utility>

namespace tenon::host {

/// Calls `body` with std::integral_constant<int, 0> to <int, Count - 1>.
template <int Count, class Body>
[[gnu::always_inline]] inline void unrolled(Body&& body) {
  [&]<int... I>(std::integer_sequence<int, I...>) __attribute__((always_inline)) {
    (body(std::integral_constant<int, I>{}), ...);
  }
  (std::make_integer_sequence<int, Count>{});
}

}  // namespace tenon::host
