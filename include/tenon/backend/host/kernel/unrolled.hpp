// A loop that the compiler must unroll, for kernels whose arrays have to live in registers.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

namespace tenon::host {

/// Calls `body` with std::integral_constant<std::size_t, 0> to <std::size_t, Count - 1>.
template <std::size_t Count, class Body>
[[gnu::always_inline]] inline void unrolled(Body&& body) {
  [&]<std::size_t... I>(std::index_sequence<I...>) __attribute__((always_inline)) {
    (body(std::integral_constant<std::size_t, I>{}), ...);
  }
  (std::make_index_sequence<Count>{});
}

}  // namespace tenon::host
