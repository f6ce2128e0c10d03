// Whether activations that came back from the device are what they should be.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "backend/cuda/ops.hpp"
#include "reference/tolerance.hpp"
#include "tenon/core/number.hpp"

namespace tenon::test {

/// The bf16 and int8 forms against the fp32 one beside them; padding is zeros.
inline std::string fault_of_forms(const cuda_activations& x, std::size_t tokens, std::size_t width) {
  for (std::size_t at = 0; at < tokens * x.stride; ++at) {
    if (at % x.stride >= width && x.values[at] != 0.0f) return "padding at " + std::to_string(at);
    if (float_to_bfloat(x.values[at]) != x.halves[at]) return "bf16 at " + std::to_string(at);
  }
  for (std::size_t group = 0; group < x.scales.size(); ++group) {
    const float* values = x.values.data() + group * 32;
    const bool refined = x.refined[group] != 0;
    const double scale = static_cast<double>(x.scales[group]), step = refined ? scale / 128 : scale;
    int total = 0;
    for (std::size_t i = 0; i < 32; ++i) {
      const int quantum = x.quanta[group * 32 + i], residual = x.residuals[group * 32 + i];
      if (!reference::int8_quant_fits(values[i], step, refined ? 128 * quantum + residual : quantum))
        return "int8 of group " + std::to_string(group);
      if (quantum == -128 || residual < -64 || residual > 64 || (!refined && residual != 0))
        return "range of group " + std::to_string(group);
      total += 128 * quantum + residual;
    }
    if (x.sums[group] != x.scales[group] * 0x1p-7f * static_cast<float>(total))
      return "sum of group " + std::to_string(group);
  }
  return "";
}

/// The values [tokens, width] that the int8 form stands for, rounded to fp32.
inline std::vector<float> int8_values(const cuda_activations& x, std::size_t tokens, std::size_t width) {
  std::vector<float> values;
  for (std::size_t token = 0; token < tokens; ++token) {
    for (std::size_t i = 0; i < width; ++i) {
      const std::size_t at = token * x.stride + i;
      values.push_back(x.scales[at / 32] * 0x1p-7f *
                       static_cast<float>(128 * x.quanta[at] + x.residuals[at]));
    }
  }
  return values;
}

}  // namespace tenon::test
