// The operations of a transformer, written for reading: straight loops over plain arrays, sums in fp64,
// results rounded to fp32 once at the end. Kernels and whole models are held against these; nothing here uses
// a kernel of the library. Arrays are row major and dense; the shape of each is written where it is passed,
// the fastest dimension last.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <stdexcept>
#include <vector>

#include "tenon/core/types.hpp"

namespace tenon::reference {

/// Throws when a shape is not the one that was promised: a broken test must not read past an array.
inline void require(bool shape_fits, const char* what) {
  if (!shape_fits) throw std::invalid_argument(what);
}

/// The sum of a[i] * b[i] in fp64. Eight partial sums, so that the compiler may use vectors without
/// reordering.
[[gnu::noinline]] inline double dot(std::span<const float> a, std::span<const float> b) {
  require(a.size() == b.size(), "dot: two vectors of one length");
  constexpr std::size_t lanes = 8;
  double partial[lanes] = {};
  std::size_t i = 0;
  for (; i + lanes <= a.size(); i += lanes)
    for (std::size_t lane = 0; lane < lanes; ++lane)
      partial[lane] += static_cast<double>(a[i + lane]) * static_cast<double>(b[i + lane]);
  double sum = 0;
  for (; i < a.size(); ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  for (const double part : partial) sum += part;
  return sum;
}

/// Every row of weights [rows][inputs] times every row of activations [tokens][inputs]: [tokens][rows].
inline std::vector<float> matmul(std::span<const float> activations, std::span<const float> weights,
                                 std::size_t inputs) {
  require(inputs > 0 && activations.size() % inputs == 0 && weights.size() % inputs == 0,
          "matmul: both arrays are whole rows of `inputs` values");
  const std::size_t tokens = activations.size() / inputs;
  const std::size_t rows = weights.size() / inputs;
  std::vector<float> result(tokens * rows);
  for (std::size_t row = 0; row < rows; ++row)  // a row of weights stays in the cache for all tokens
    for (std::size_t token = 0; token < tokens; ++token)
      result[token * rows + row] = static_cast<float>(
          dot(weights.subspan(row * inputs, inputs), activations.subspan(token * inputs, inputs)));
  return result;
}

/// The rows of table [vocabulary][width] that the ids name: [ids][width].
inline std::vector<float> embedding(std::span<const token_id> ids, std::span<const float> table,
                                    std::size_t width) {
  std::vector<float> result;
  result.reserve(ids.size() * width);
  for (const token_id id : ids) {
    require(id >= 0 && (static_cast<std::size_t>(id) + 1) * width <= table.size(),
            "embedding: ids of the vocabulary");
    const auto row = table.subspan(static_cast<std::size_t>(id) * width, width);
    result.insert(result.end(), row.begin(), row.end());
  }
  return result;
}

/// x / sqrt(mean(x^2) + epsilon) * weight, for one row: x and weight [width], result [width].
/// Epsilon is added under the root (Zhang and Sennrich 2019).
inline std::vector<float> rms_norm(std::span<const float> x, std::span<const float> weight, double epsilon) {
  require(x.size() == weight.size() && !x.empty(), "rms_norm: a weight for every lane");
  const double root = std::sqrt(dot(x, x) / static_cast<double>(x.size()) + epsilon);
  std::vector<float> result(x.size());
  for (std::size_t i = 0; i < x.size(); ++i)
    result[i] = static_cast<float>(static_cast<double>(x[i]) / root * static_cast<double>(weight[i]));
  return result;
}

/// What rotary embedding needs to know, the same for all heads and layers.
struct rope_shape {
  std::size_t head_size;  ///< lanes of a head
  std::size_t rotated;    ///< lanes that turn, from the first; even, at most head_size
  double base = 10000.0;  ///< of the frequencies base^(-2 pair / rotated)
  std::vector<float>
      factors{};  ///< empty, or for each pair a number that divides its frequency (rope_freqs.weight)
};

/// The angle in radians by which pair `pair` turns at `position`.
inline double rope_angle(const rope_shape& shape, std::size_t pair, std::size_t position) {
  const double exponent = -2.0 * static_cast<double>(pair) / static_cast<double>(shape.rotated);
  const double factor = shape.factors.empty() ? 1.0 : static_cast<double>(shape.factors.at(pair));
  return static_cast<double>(position) * std::pow(shape.base, exponent) / factor;
}

/// Turns the lanes (2i, 2i+1) of every head of row [heads][head_size] in place. Adjacent lanes are a pair in
/// GGUF files of the llama family, whose Q and K rows are permuted for it. Angles in fp64.
inline void rope(std::span<float> row, const rope_shape& shape, std::size_t position) {
  require(shape.head_size > 0 && row.size() % shape.head_size == 0, "rope: whole heads");
  require(shape.rotated <= shape.head_size && shape.rotated % 2 == 0, "rope: pairs of lanes of a head");
  for (std::size_t pair = 0; pair < shape.rotated / 2; ++pair) {
    const double angle = rope_angle(shape, pair, position);
    const double cosine = std::cos(angle);
    const double sine = std::sin(angle);
    for (std::size_t head = 0; head < row.size(); head += shape.head_size) {
      const double a = static_cast<double>(row[head + 2 * pair]);
      const double b = static_cast<double>(row[head + 2 * pair + 1]);
      row[head + 2 * pair] = static_cast<float>(a * cosine - b * sine);
      row[head + 2 * pair + 1] = static_cast<float>(a * sine + b * cosine);
    }
  }
}

/// exp(x) / sum of exp(x), in fp64. Minus infinity gets exactly zero, and so does every lane of a row that
/// holds nothing else. A row with NaN or plus infinity has no answer: its lanes are NaN.
inline std::vector<double> softmax(std::span<const double> x) {
  constexpr double nothing = -std::numeric_limits<double>::infinity();
  double largest = nothing;
  for (const double value : x) largest = (std::max)(largest, value);
  std::vector<double> result(x.size(), 0.0);
  if (largest == nothing && std::none_of(x.begin(), x.end(), [](double v) { return std::isnan(v); }))
    return result;
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += result[i] = std::exp(x[i] - largest);
  for (double& value : result) value /= sum;
  return result;
}

/// The same for a row of fp32.
inline std::vector<float> softmax(std::span<const float> x) {
  const std::vector<double> wide(x.begin(), x.end());
  const std::vector<double> result = softmax(std::span<const double>(wide));
  std::vector<float> narrow(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) narrow[i] = static_cast<float>(result[i]);
  return narrow;
}

/// Heads of an attention layer. Query head h reads K and V head h / (heads / kv_heads).
struct attention_shape {
  std::size_t heads = 1;     ///< query heads, a multiple of kv_heads
  std::size_t kv_heads = 1;  ///< heads of K and V
  std::size_t key_size;      ///< lanes of a query head and of a K head
  std::size_t value_size;    ///< lanes of a V head and of a head of the result
};

/// Of rows [positions][width] those that the token at `position` sees: the first `sinks` and the last `window` up to its
/// own; all up to its own where the window is 0.
inline std::vector<float> seen_rows(std::span<const float> rows, std::size_t width, std::size_t position,
                                    std::size_t window, std::size_t sinks) {
  std::vector<float> seen;
  for (std::size_t at = 0; at <= position; ++at) {
    if (window != 0 && at + window <= position && at >= sinks) continue;
    const auto row = rows.subspan(at * width, width);
    seen.insert(seen.end(), row.begin(), row.end());
  }
  return seen;
}

/// What one query head sees: softmax(scale q.k) v over the first `visible` positions; zeros when there are
/// none. query [key_size], keys [positions][kv_heads][key_size], values [positions][kv_heads][value_size]:
/// [value_size].
inline std::vector<float> attention_head(std::span<const float> query, std::span<const float> keys,
                                         std::span<const float> values, const attention_shape& shape,
                                         std::size_t head, std::size_t visible, double scale) {
  require(shape.kv_heads > 0 && shape.heads % shape.kv_heads == 0 && head < shape.heads,
          "attention: every K and V head serves the same number of query heads");
  require(query.size() == shape.key_size && visible * shape.kv_heads * shape.key_size <= keys.size() &&
              visible * shape.kv_heads * shape.value_size <= values.size(),
          "attention: K and V for every visible position");
  const std::size_t kv_head = head / (shape.heads / shape.kv_heads);
  std::vector<double> scores(visible);
  for (std::size_t position = 0; position < visible; ++position) {
    const std::size_t row = position * shape.kv_heads + kv_head;
    scores[position] = scale * dot(query, keys.subspan(row * shape.key_size, shape.key_size));
  }
  const std::vector<double> weights = softmax(std::span<const double>(scores));
  std::vector<double> sum(shape.value_size, 0.0);
  for (std::size_t position = 0; position < visible; ++position) {
    const std::size_t row = position * shape.kv_heads + kv_head;
    for (std::size_t lane = 0; lane < shape.value_size; ++lane)
      sum[lane] += weights[position] * static_cast<double>(values[row * shape.value_size + lane]);
  }
  std::vector<float> result(shape.value_size);
  for (std::size_t lane = 0; lane < result.size(); ++lane) result[lane] = static_cast<float>(sum[lane]);
  return result;
}

/// attention_head for all heads of one token: queries [heads][key_size], result [heads][value_size].
inline std::vector<float> attention(std::span<const float> queries, std::span<const float> keys,
                                    std::span<const float> values, const attention_shape& shape,
                                    std::size_t visible, double scale) {
  require(queries.size() == shape.heads * shape.key_size, "attention: one query for every head");
  std::vector<float> result;
  result.reserve(shape.heads * shape.value_size);
  for (std::size_t head = 0; head < shape.heads; ++head) {
    const auto query = queries.subspan(head * shape.key_size, shape.key_size);
    const std::vector<float> seen = attention_head(query, keys, values, shape, head, visible, scale);
    result.insert(result.end(), seen.begin(), seen.end());
  }
  return result;
}

/// silu(gate) * up, lane by lane, where silu(g) = g / (1 + exp(-g)): gate and up [n], result [n].
inline std::vector<float> swiglu(std::span<const float> gate, std::span<const float> up) {
  require(gate.size() == up.size(), "swiglu: two vectors of one length");
  std::vector<float> result(gate.size());
  for (std::size_t i = 0; i < gate.size(); ++i) {
    const double g = static_cast<double>(gate[i]);
    // exp(-g) may be infinite far below zero; g / inf is the -0 that the limit asks for
    result[i] = static_cast<float>(g / (1.0 + std::exp(-g)) * static_cast<double>(up[i]));
  }
  return result;
}

/// The lane with the largest value; the first of them on a tie.
inline token_id argmax(std::span<const float> logits) {
  return static_cast<token_id>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

}  // namespace tenon::reference
