// What a kernel takes on a device, by a roofline: the larger of the time to move its bytes and the time to compute. What
// starting it costs is counted apart, as that depends on how it is started.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "tenon/backend/simulated/device.hpp"

namespace tenon::simulated {

/// Which units a product runs on.
enum class arithmetic { f32, f16, int8 };

constexpr double peak(const device::description& d, arithmetic kind) {
  if (kind == arithmetic::f32) return d.flops_32;
  return kind == arithmetic::int8 && d.flops_8 > 0 ? d.flops_8 : d.flops_16;
}

/// Seconds to move bytes from or to the device's memory.
constexpr double moving(const device::description& d, double bytes) {
  return bytes / (d.bandwidth_efficiency * d.bandwidth);
}

/// A matrix product: [tokens, inputs] by the transpose of [outputs, inputs].
struct product_size {
  std::size_t tokens = 0, outputs = 0, inputs = 0;
  double weight_bytes = 0;
  std::size_t activation_bytes = 2;  // of a value that is read or written
};

/// Seconds to compute a product. Blocks of threads take a tile each, in waves; the last wave takes as long as a full one. A
/// smaller tile fills the last wave better, but reads more for what it computes; where there are too few tiles,
/// their inputs are split, and the parts are summed in memory. The best of all is taken, as a library chooses.
inline double computing(const device::description& d, const product_size& p, arithmetic kind) {
  const auto divided = [](std::size_t n, std::size_t by) { return static_cast<double>((n + by - 1) / by); };
  const auto inputs = static_cast<double>(p.inputs);
  const double rate = d.product_efficiency * peak(d, kind);
  if (d.multiprocessors == 0)
    return 2.0 * static_cast<double>(p.tokens) * static_cast<double>(p.outputs) * inputs / rate;
  struct tile {
    std::size_t tokens, outputs;
  };
  constexpr tile tiles[] = {{16, 64},  {16, 128},  {64, 64},   {128, 64},
                            {64, 128}, {128, 128}, {256, 128}, {128, 256}};
  constexpr double full_reuse = 128.0 * 128.0 / (128 + 128);  // operations for each value read
  const auto processors = static_cast<double>(d.multiprocessors);
  double best = HUGE_VAL;
  for (const tile t : tiles) {
    const auto area = static_cast<double>(t.tokens * t.outputs);
    const double reuse = area / static_cast<double>(t.tokens + t.outputs);
    // The exponent is fitted, with the efficiencies of device.hpp.
    const double one =
        2 * area * inputs * processors / (rate * std::pow((std::min)(1.0, reuse / full_reuse), 0.25));
    const double blocks = divided(p.tokens, t.tokens) * divided(p.outputs, t.outputs);
    for (double split = 1; split <= 16; split *= 2) {
      if (split > 1 && (blocks >= processors || inputs < 256 * split)) break;
      const double sums =
          split > 1 ? 8.0 * static_cast<double>(p.tokens * p.outputs) * split / d.bandwidth : 0.0;
      best = (std::min)(best, std::ceil(blocks * split / processors) * one / split + sums);
    }
  }
  return best;
}

/// Seconds of a product without its launch.
inline double product_time(const device::description& d, const product_size& p, arithmetic kind) {
  if (p.tokens == 0) return 0;
  const auto values = static_cast<double>(p.tokens * (p.inputs + p.outputs) * p.activation_bytes);
  return (std::max)(moving(d, p.weight_bytes + values), computing(d, p, kind));
}

/// Seconds until all ranks have the sum of `bytes` of each, by a ring; 0 for one device.
constexpr double all_reduce_time(const device::description& d, double bytes) {
  if (d.ranks <= 1) return 0;
  const auto ranks = static_cast<double>(d.ranks);
  return d.link_latency + 2 * (ranks - 1) / ranks * bytes / d.link_bandwidth;
}

}  // namespace tenon::simulated
