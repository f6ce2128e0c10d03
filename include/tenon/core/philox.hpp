// Philox4x32-10: random numbers as a pure function of a key and a counter (Salmon, Moraes, Dror, Shaw:
// "Parallel random numbers: as easy as 1, 2, 3", SC 2011). There is no state to carry along, so what a
// request draws depends on its seed and on the number of its token, and on nothing else.
#pragma once

#include <cstdint>

#include "tenon/core/host_device.hpp"

namespace tenon::philox {

/// Four words: a counter going in, random bits coming out.
struct words {
  std::uint32_t x0 = 0, x1 = 0, x2 = 0, x3 = 0;
  friend constexpr bool operator==(const words&, const words&) = default;
};

/// Two words: which of the 2^64 sequences.
struct key {
  std::uint32_t k0 = 0, k1 = 0;
};

/// 128 random bits for this counter under this key.
TENON_HOST_DEVICE constexpr words block(words counter, key k) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t even = std::uint64_t{0xd2511f53u} * counter.x0;
    const std::uint64_t odd = std::uint64_t{0xcd9e8d57u} * counter.x2;
    counter = {static_cast<std::uint32_t>(odd >> 32) ^ counter.x1 ^ k.k0, static_cast<std::uint32_t>(odd),
               static_cast<std::uint32_t>(even >> 32) ^ counter.x3 ^ k.k1, static_cast<std::uint32_t>(even)};
    k.k0 += 0x9e3779b9u;
    k.k1 += 0xbb67ae85u;
  }
  return counter;
}

/// The bits of a request's token: the key is the request's seed, the counter the number of the token in the
/// answer. `stream` tells several draws for one token apart; 0 is the draw of the token itself.
TENON_HOST_DEVICE constexpr words block(std::uint64_t seed, std::uint64_t token_index,
                                        std::uint32_t stream = 0) {
  return block(words{static_cast<std::uint32_t>(token_index), static_cast<std::uint32_t>(token_index >> 32),
                     stream, 0},
               key{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
}

/// A number in [0, 1), one of 2^24 that are equally far apart.
TENON_HOST_DEVICE constexpr float uniform(std::uint64_t seed, std::uint64_t token_index,
                                          std::uint32_t stream = 0) {
  return static_cast<float>(block(seed, token_index, stream).x0 >> 8) * 0x1p-24f;
}

/// The same number with 53 bits: uniform() is this one cut off after 24. In a vocabulary of 100,000 there are
/// tokens rarer than 2^-24; they need the finer grid.
TENON_HOST_DEVICE constexpr double uniform53(std::uint64_t seed, std::uint64_t token_index,
                                             std::uint32_t stream = 0) {
  const words bits = block(seed, token_index, stream);
  return static_cast<double>((std::uint64_t{bits.x0} << 32 | bits.x1) >> 11) * 0x1p-53;
}

}  // namespace tenon::philox
