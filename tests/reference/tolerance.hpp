// How far a correct kernel may be from the reference: bounds derived from the number formats and the
// operands, so that a test neither passes a fault nor fails on rounding.
//
// The model is the usual one (Higham, Accuracy and Stability, chapters 2 and 3): an operation in a format
// with unit roundoff u gives the exact result times (1 + e), |e| <= u, and n of them in a row at most times 1
// + gamma(n), where gamma(n) = n u / (1 - n u). A sum of n products has an error of at most gamma(n) * sum
// |a_i b_i| in ANY order of adding, with or without fused multiply-add. So all bounds here hold for every
// blocking and vector width.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "reference/ops.hpp"
#include "reference/quantise.hpp"

namespace tenon::reference {

/// Unit roundoffs: half the distance from 1 to the next number.
inline constexpr double unit_f32 = 0x1p-24;
inline constexpr double unit_f16 = 0x1p-11;
inline constexpr double unit_bf16 = 0x1p-8;
inline constexpr double unit_e4m3 = 0x1p-4;

/// The relative error that the library's exponential in fp32 may have: 4 ulp.
inline constexpr double exp_error = 8 * unit_f32;

/// What is lost when a result is flushed to zero because it is subnormal.
inline constexpr double flushed = 0x1p-126;

/// The relative error of `count` roundings in a row in fp32.
inline double gamma(std::size_t count) {
  const double error = static_cast<double>(count) * unit_f32;
  return error / (1.0 - error);
}

/// sum |a_i| |b_i|: the size to which the rounding errors of a dot product are proportional.
inline double magnitude_sum(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    sum += std::fabs(static_cast<double>(a[i])) * std::fabs(static_cast<double>(b[i]));
  return sum;
}

/// A dot product of `length` terms, accumulated in fp32. `magnitude` is sum |w_i| |x_i|; for Q4_1 and Q4_0
/// pass magnitude_sum(term_magnitudes<F>(row), x), because the kernel may add the two parts of a weight
/// separately. `operand_unit` is the unit roundoff of the format to which the kernel rounds one operand first
/// (0: neither; two operands: the sum of their units): a product of rounded operands is off by a factor 1 +
/// operand_unit before any sum. Two roundings more than terms: the kernel's store and the reference's.
inline double dot_tolerance(std::size_t length, double magnitude, double operand_unit = 0) {
  const double operands =
      operand_unit * (1.0 + operand_unit);  // the product of two roundings is a little over the sum
  return magnitude * (operands + (1.0 + operands) * gamma(length + 2)) +
         static_cast<double>(length) * flushed;
}

/// How far quant can be from x / scale: half a step, and a little because the kernel multiplies by a rounded
/// 127 / amax and rounds the product (three roundings of a number up to 127).
inline constexpr double int8_step = 0.5 + 3 * 127 * unit_f32;

/// A block whose scale is 2^-95 or less becomes zeros (store_group): its values are at most 127 times that.
inline constexpr double int8_flushed = 127 * 0x1p-95;

/// Whether `quanta` steps are a right quantisation of `value`.
inline bool int8_quant_fits(float value, double step, int quanta) {
  return std::fabs(static_cast<double>(value) - step * quanta) <= step * int8_step + int8_flushed;
}

/// A dot product of a weight row with activations that the kernel first quantises to int8 in blocks of 32,
/// against the reference with the unquantised x. In a block, |x_i - scale q_i| <= scale int8_step, which
/// costs scale int8_step times sum |w_i| of the block; the rest is a dot product of the quantised values,
/// whose magnitude is at most |x_i| + scale. `weights` are the decoded values, `terms` term_magnitudes of the
/// row. This is the worst case and is seldom approached; a sharper test holds the kernel against the
/// reference over dequantise(quantise_int8(x)), where only dot_tolerance remains.
inline double int8_dot_tolerance(std::span<const float> weights, std::span<const float> terms,
                                 std::span<const float> x) {
  const int8_row row = quantise_int8(x);
  double quantisation = 0;
  double magnitude = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double scale = static_cast<double>(row.scale[i / int8_block]);
    quantisation += (scale * int8_step + int8_flushed) * std::fabs(static_cast<double>(weights[i]));
    magnitude += (std::fabs(static_cast<double>(x[i])) + scale) * static_cast<double>(terms[i]);
  }
  return quantisation + dot_tolerance(x.size(), magnitude);
}

/// One lane of rms_norm over `width` lanes, `result` being the reference's. The squares are all positive, so
/// their sum is off by gamma(width) of itself, the mean and epsilon add two roundings, and the root halves
/// the error. Then at most six roundings: root, reciprocal (or a Newton step), two products, the kernel's
/// store, the reference's.
inline double rms_norm_tolerance(std::size_t width, float result) {
  return std::fabs(static_cast<double>(result)) * (gamma(width + 2) / 2 + 6 * unit_f32) + flushed;
}

/// One lane of a rotated pair (a, b): cosine and sine from fp64 angles rounded to fp32, a product and a sum,
/// and the reference's rounding are four roundings of numbers no larger than |a| + |b|.
inline double rope_tolerance(float a, float b) {
  return 4 * unit_f32 * (std::fabs(static_cast<double>(a)) + std::fabs(static_cast<double>(b))) + flushed;
}

/// One lane of swiglu. The exponential's error counts at most in full; sum, quotient, product, store and
/// reference are five roundings. Where exp(-gate) leaves the range of fp32 (gate below -87) the kernel may
/// give zero, or what it gives at the edge of the range: both are below |gate| 2^-125.
inline double swiglu_tolerance(float gate, float up, float result) {
  const double edge = std::fabs(static_cast<double>(gate)) * std::fabs(static_cast<double>(up)) * 2 * flushed;
  return std::fabs(static_cast<double>(result)) * (exp_error + 5 * unit_f32) + edge + flushed;
}

/// One lane of softmax over `count` values, the largest and the smallest of which are `range` apart; `result`
/// is the reference's. The argument x - max is rounded, and rounded again when it is scaled for the
/// exponential: at most 3 u range in all, and exp turns an absolute error of its argument into a relative one
/// of its result. Numerator and denominator each have that error and exp_error; the sum of positive terms
/// adds gamma(count).
inline double softmax_tolerance(std::size_t count, double range, float result) {
  const double relative = std::expm1(2 * (3 * unit_f32 * range + exp_error)) + gamma(count + 3);
  return static_cast<double>(result) * relative + 2 * flushed;
}

/// The lanes of attention_head, with K and V as they are stored (round them to the cache's type first).
/// `query_unit` is the unit roundoff of the type to which the kernel rounds q, `probability_unit` of that of
/// the softmax's weights.
///
/// - scores: off by t = scale * dot_tolerance + 2 roundings; the largest t counts for all
/// - weights: relative error 2 (t + 3 u range + r exp_error), numerator and denominator. An online softmax multiplies
///   by one more exponential whenever the running maximum grows; r - 2 is how often that happens when positions come
///   one by one, more often than with any tile; one exponential is the weight's own, one joins splits.
/// - output: sum of p_j v_j: the weights' error and gamma(2 visible + 4) times sum p_j |v_j|
inline std::vector<double> attention_tolerance(std::span<const float> query, std::span<const float> keys,
                                               std::span<const float> values, const attention_shape& shape,
                                               std::size_t head, std::size_t visible, double scale,
                                               double query_unit = 0, double probability_unit = 0) {
  const std::size_t kv_head = head / (shape.heads / shape.kv_heads);
  std::vector<double> scores(visible);
  double score_error = 0;
  double lowest = 0;
  double highest = 0;
  std::size_t exponentials = 2;
  for (std::size_t position = 0; position < visible; ++position) {
    const auto key = keys.subspan((position * shape.kv_heads + kv_head) * shape.key_size, shape.key_size);
    const double score = scores[position] = scale * dot(query, key);
    const double error = dot_tolerance(shape.key_size, magnitude_sum(query, key), query_unit);
    score_error = (std::max)(score_error, std::fabs(scale) * error + 2 * unit_f32 * std::fabs(score));
    if (position == 0) lowest = highest = score;
    if (score > highest) ++exponentials;
    lowest = (std::min)(lowest, score);
    highest = (std::max)(highest, score);
  }
  const double exponential = static_cast<double>(exponentials) * exp_error;
  const double relative = std::expm1(2 * (score_error + 3 * unit_f32 * (highest - lowest) + exponential)) +
                          probability_unit + gamma(2 * visible + 4);
  const std::vector<double> weights = softmax(std::span<const double>(scores));
  std::vector<double> tolerance(shape.value_size, flushed);
  for (std::size_t position = 0; position < visible; ++position) {
    const std::size_t row = (position * shape.kv_heads + kv_head) * shape.value_size;
    for (std::size_t lane = 0; lane < shape.value_size; ++lane)
      tolerance[lane] +=
          (weights[position] * relative + flushed) * std::fabs(static_cast<double>(values[row + lane]));
  }
  return tolerance;
}

}  // namespace tenon::reference
