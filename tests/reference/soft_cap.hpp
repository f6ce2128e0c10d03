// Attention with a soft cap on its scores (Gemma 2, arXiv 2408.00118), and how far a kernel may be from it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "reference/ops.hpp"
#include "reference/tolerance.hpp"

namespace tenon::reference {

/// attention_head and attention_tolerance over scores cap * tanh(score / cap), the score scaled before.
struct capped_attention_head {
  std::vector<float> result;
  std::vector<double> tolerance;

  capped_attention_head(std::span<const float> query, std::span<const float> keys,
                        std::span<const float> values, const attention_shape& shape, std::size_t head,
                        std::size_t visible, double cap, double query_unit, double probability_unit) {
    const std::size_t kv_head = head / (shape.heads / shape.kv_heads);
    std::vector<double> scores(visible);
    double error = 0;
    for (std::size_t i = 0; i < visible; ++i) {
      const auto key = keys.subspan((i * shape.kv_heads + kv_head) * shape.key_size, shape.key_size);
      const double plain = dot(query, key);
      scores[i] = cap * std::tanh(plain / cap);
      // tanh never steepens an error; its quotient, its own error (4 units) and the product add 6 units of what it gives
      error = (std::max)(error, dot_tolerance(shape.key_size, magnitude_sum(query, key), query_unit) +
                                    unit_f32 * std::fabs(plain) + 6 * unit_f32 * cap);
    }
    // the scores' range is at most 2 cap; at worst the maximum grows with every position
    const double relative =
        std::expm1(2 * (error + 3 * unit_f32 * 2 * cap + static_cast<double>(visible + 2) * exp_error)) +
        probability_unit + gamma(2 * visible + 4);
    const std::vector<double> weights = softmax(std::span<const double>(scores));
    std::vector<double> sum(shape.value_size, 0.0);
    tolerance.assign(shape.value_size, flushed);
    for (std::size_t i = 0; i < visible; ++i) {
      for (std::size_t lane = 0; lane < shape.value_size; ++lane) {
        const double value =
            static_cast<double>(values[(i * shape.kv_heads + kv_head) * shape.value_size + lane]);
        sum[lane] += weights[i] * value;
        tolerance[lane] += (weights[i] * relative + flushed) * std::fabs(value);
      }
    }
    result.assign(sum.begin(), sum.end());
  }
};

}  // namespace tenon::reference
