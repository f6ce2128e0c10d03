// Numbers that the cases work on: the same in each run, of usual sizes. Kernels do the same work for any others, but for
// outliers among activations and for the logits that a sampler cuts between.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numbers>
#include <vector>

#include "tenon/backend/cuda/layout.hpp"

namespace tenon::bench {

class random_source {
 public:
  explicit random_source(std::uint64_t seed) : state_(seed * 2 + 1) {}

  /// splitmix64 (Steele, Lea, Flood 2014).
  std::uint64_t bits() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
  }
  double uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }
  float normal(double deviation) {
    const double radius = std::sqrt(-2 * std::log(1 - uniform()));
    return static_cast<float>(deviation * radius * std::cos(2 * std::numbers::pi * uniform()));
  }

 private:
  std::uint64_t state_;
};

inline std::vector<float> normal_values(std::size_t count, double deviation, std::uint64_t seed) {
  random_source random(seed);
  std::vector<float> values(count);
  for (float& value : values) value = random.normal(deviation);
  return values;
}

/// `count` halves between 1/16 and 1/8, or as far below zero.
inline std::vector<std::byte> small_halves(std::size_t count, std::uint64_t seed) {
  random_source random(seed);
  std::vector<std::byte> bytes((count + 3) / 4 * 8);
  for (std::size_t at = 0; at < bytes.size(); at += 8) {
    const std::uint64_t four = (random.bits() & 0x83ff83ff83ff83ffu) | 0x2c002c002c002c00u;
    std::memcpy(bytes.data() + at, &four, 8);
  }
  bytes.resize(count * 2);
  return bytes;
}

/// A matrix [rows, columns] of f16 or of a block format, packed for the device.
template <class Format>
std::vector<std::byte> packed_weights(std::size_t rows, std::size_t columns, std::uint64_t seed) {
  using layout = cuda::weight_layout<Format>;
  const std::size_t bytes = cuda::matrix_bytes<Format>(rows, columns);
  std::vector<std::byte> packed = small_halves((bytes + 1) / 2, seed);
  packed.resize(bytes);
  if constexpr (!layout::is_scalar) {
    random_source random(seed);
    for (std::size_t record = 0; record < bytes;
         record += layout::record_bytes) {  // what is behind are scales
      for (std::size_t at = 0; at < static_cast<std::size_t>(layout::scales_at); at += 8) {
        const std::uint64_t quanta = random.bits();
        std::memcpy(packed.data() + record + at, &quanta, 8);
      }
    }
  }
  return packed;
}

/// Rows of activations [tokens, width] in which one group in five has an outlier, as SmolLM2's have; the groups differ
/// from token to token.
struct activation_rows {
  std::vector<float> values;
  std::size_t refined_groups = 0;

  activation_rows(std::size_t tokens, std::size_t width, std::uint64_t seed)
      : values(normal_values(tokens * width, 1, seed)) {
    random_source random(seed);
    for (float& value : values) value = std::fmin(std::fmax(value, -2.5f), 2.5f);
    for (std::size_t first = 0; first < values.size(); first += cuda::group_size) {
      if (random.bits() % 5 != 0) continue;
      values[first + random.bits() % cuda::group_size] = 30;
      ++refined_groups;
    }
  }
};

}  // namespace tenon::bench
