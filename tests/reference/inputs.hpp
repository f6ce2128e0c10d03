// Inputs for tests: seeded, the same on every machine, with the sizes and values that break kernels.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <numbers>
#include <vector>

namespace tenon::reference {

/// A stream of random numbers from a seed: splitmix64 (Steele, Lea and Flood 2014). The standard library's
/// distributions are not used because they differ between implementations.
class random_source {
 public:
  explicit random_source(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

  /// A whole number in [0, count), count > 0.
  std::size_t below(std::size_t count) { return static_cast<std::size_t>(next() % count); }

  /// A number in [low, high).
  double uniform(double low, double high) {
    return low + (high - low) * (static_cast<double>(next() >> 11) * 0x1p-53);
  }

  /// A normally distributed number with mean 0 and variance 1 (Box and Muller).
  double normal() {
    const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform(0.0, 1.0)));
    return radius * std::cos(2.0 * std::numbers::pi * uniform(0.0, 1.0));
  }

 private:
  std::uint64_t state_;
};

/// `count` values, uniform in [low, high).
inline std::vector<float> uniform_values(std::size_t count, double low, double high, std::uint64_t seed) {
  random_source random(seed);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(random.uniform(low, high));
  return values;
}

/// `count` values as activations are: normal, one in about a hundred thirty times as large.
inline std::vector<float> activation_values(std::size_t count, std::uint64_t seed) {
  random_source random(seed);
  std::vector<float> values(count);
  for (float& value : values) {
    const double normal = random.normal();
    value = static_cast<float>(random.below(100) == 0 ? 30.0 * normal : normal);
  }
  return values;
}

/// `count` whole numbers in [-largest, largest]. Sums of their products are exact in fp32 below 2^24,
/// whatever the order, so a kernel has to give exactly the reference's result.
inline std::vector<float> whole_values(std::size_t count, int largest, std::uint64_t seed) {
  random_source random(seed);
  std::vector<float> values(count);
  for (float& value : values)
    value = static_cast<float>(static_cast<int>(random.below(2 * static_cast<std::size_t>(largest) + 1)) -
                               largest);
  return values;
}

/// `count` finite values of the awkward kind: zeros of both signs, subnormals, neighbours of one, halves
/// between whole numbers, powers of two, the largest half, and ordinary ones between.
inline std::vector<float> awkward_values(std::size_t count, std::uint64_t seed) {
  constexpr float epsilon = std::numeric_limits<float>::epsilon();
  constexpr float awkward[] = {0.0f,
                               -0.0f,
                               std::numeric_limits<float>::denorm_min(),
                               -0x1p-130f,
                               0x1p-126f,
                               1.0f,
                               1.0f + epsilon,
                               -1.0f + epsilon / 2,
                               0.5f,
                               -1.5f,
                               2.5f,
                               127.0f,
                               -128.0f,
                               0x1p-24f,
                               0x1p-14f,
                               65504.0f,
                               -1024.0f,
                               3.0f};
  random_source random(seed);
  std::vector<float> values(count);
  for (float& value : values)
    value = random.below(2) == 0 ? awkward[random.below(std::size(awkward))]
                                 : static_cast<float>(random.uniform(-4.0, 4.0));
  return values;
}

/// Sizes around a tile of `tile`: 1, tile - 1, tile, tile + 1, two tiles and one, and primes.
inline std::vector<std::size_t> awkward_sizes(std::size_t tile) {
  std::vector<std::size_t> sizes;
  for (const std::size_t size : {std::size_t{1}, tile - 1, tile, tile + 1, 2 * tile + 1, std::size_t{7},
                                 std::size_t{31}, std::size_t{97}})
    if (size > 0) sizes.push_back(size);
  return sizes;
}

}  // namespace tenon::reference
