// The left side of a product: one row for each token, in the number format that the kernels of a weight
// format read. fp32 rows serve fp32, bf16 and f16 products (for the last two the values are rounded), int8 rows
// the integer dot product.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "tenon/backend/host/panel.hpp"
#include "tenon/backend/host/simd/simd.hpp"
#include "tenon/core/buffer.hpp"
#include "tenon/format/all.hpp"

namespace tenon::host {

/// Rows of `width` values (padded with zeros to whole groups of 32) for up to `capacity` tokens.
///
/// The int8 form holds for each group of 32: scale = max|x| / 127 and q = round(x / scale). A group whose
/// largest value stands far above the others (`refined`) would lose the others in that step, so it has a
/// second term, r = round((x - scale * q) / (scale / 128)): x is then known to 1/256 of a step. In trained
/// models such groups are a fifth of all and make most of the error of int8 (see outlier_ratio).
struct activations {
  std::size_t stride = 0;         // values from one token to the next, a multiple of 32
  buffer<float> values;           // [capacity, stride]; empty when no consumer reads fp32
  buffer<std::uint16_t> halves;   // [capacity, stride], bf16; empty when no consumer reads them
  buffer<std::int8_t> quanta;     // [capacity, stride], q; empty when no consumer reads int8
  buffer<std::int8_t> residuals;  // [capacity, stride], r; zeros where a group is not refined
  buffer<std::uint8_t> refined;   // [capacity, stride / 32], 1 or 0
  buffer<float> scales;           // [capacity, stride / 32]
  buffer<float> sums;             // [capacity, stride / 32], sum of what q and r stand for
  buffer<std::int32_t> totals;    // [capacity, stride / 32], the same in units of scale / 128

  activations() = default;
  activations(std::size_t capacity, std::size_t width, bool as_float, bool as_int8, bool as_bf16 = false)
      : stride(round_up(width, group_size)),
        values(as_float ? capacity * stride : 0),
        halves(as_bf16 ? capacity * stride : 0),
        quanta(as_int8 ? capacity * stride : 0),
        residuals(as_int8 ? capacity * stride : 0),
        refined(as_int8 ? capacity * stride / group_size : 0),
        scales(as_int8 ? capacity * stride / group_size : 0),
        sums(as_int8 ? capacity * stride / group_size : 0),
        totals(as_int8 ? capacity * stride / group_size : 0) {}

  std::size_t groups() const { return stride / group_size; }
  bool as_float() const { return values.size() != 0; }
  bool as_int8() const { return quanta.size() != 0; }
  bool as_bf16() const { return halves.size() != 0; }

  /// Whether a group of any of `Tokens` tokens has a second term.
  template <std::size_t Tokens>
  bool any_refined(std::size_t token, std::size_t group) const {
    const std::uint8_t* flags = refined.data() + token * groups() + group;
    std::uint8_t any = 0;
    for (std::size_t t = 0; t < Tokens; ++t) any |= flags[t * groups()];
    return any != 0;
  }

  /// Bytes that such rows take for one token.
  static constexpr std::size_t bytes_per_token(std::size_t width, bool as_float, bool as_int8,
                                               bool as_bf16 = false) {
    const std::size_t padded = round_up(width, group_size);
    return (as_float ? padded * 4 : 0) + (as_bf16 ? padded * 2 : 0) +
           (as_int8 ? padded * 2 + padded / group_size * 13 : 0);
  }
};

/// A group is refined when its largest value is more than this many times the root mean square of its row
/// (or, where the row is not known yet, of the group). Measured on SmolLM2-135M, as the root mean square of
/// the error of a token's log-likelihood: 0.070 without refinement; 0.046 at 8 (5 % of the groups refined),
/// 0.029 at 4 (18 %), 0.021 at 3 (40 %).
inline constexpr float outlier_ratio = 4.0f;

/// The sum of squares of a group, a step towards its root mean square.
template <class Isa>
float sum_of_squares(const float* x) {
  using v = simd<Isa>;
  auto squares = v::zero();
  for (int i = 0; i < group_size; i += v::lanes) {
    const auto part = v::load(x + i);
    squares = v::fma(part, part, squares);
  }
  return v::sum(squares);
}

/// The largest value that a group may have without being refined.
inline float refinement_limit(float sum_of_squares, std::size_t count) {
  return outlier_ratio * std::sqrt(sum_of_squares / static_cast<float>(count));
}

/// The int8 form of store_group.
template <class Isa>
void store_int8_group(activations& to, std::size_t token, std::size_t group, const float* x, float limit) {
  using v = simd<Isa>;
  auto largest = v::zero(),
       probe = v::zero();  // the probe becomes NaN where x holds NaN or infinity, else stays 0
  for (int i = 0; i < group_size; i += v::lanes) {
    const auto part = v::load(x + i);
    largest = v::larger(largest, v::abs(part));
    probe = v::fma(part, v::zero(), probe);
  }
  const float peak = v::max_of(largest);
  const float scale = peak / 127.0f + v::sum(probe);
  // A group whose scale is 0, NaN or so small that its products with an fp16 scale lose digits gets zeros; a
  // NaN scale still reaches its products.
  const bool usable = scale > 0x1p-95f, refined = usable && peak > limit;
  const float inverse = usable ? 1.0f / scale : 0.0f;
  std::int8_t* quanta = to.quanta.data() + token * to.stride + group * group_size;
  std::int8_t* residuals = to.residuals.data() + token * to.stride + group * group_size;
  for (int i = 0; i < group_size; i += v::lanes) {
    const auto part = usable ? v::load(x + i) : v::zero();
    const auto quantum = v::round(v::mul(part, v::set1(inverse)));
    v::store_int8(quanta + i, quantum);
    const auto rest = v::fma(quantum, v::set1(-scale), part);
    v::store_int8(residuals + i, refined ? v::mul(rest, v::set1(128.0f * inverse)) : v::zero());
  }
  std::int32_t total = 0;
  for (int i = 0; i < group_size; ++i) total += 128 * quanta[i] + residuals[i];
  const std::size_t at = token * to.groups() + group;
  to.refined[at] = refined;
  to.scales[at] = scale;
  to.sums[at] = scale * 0x1p-7f * static_cast<float>(total);
  to.totals[at] = total;
}

/// The fp32 value that an activation of a kind stands for: rounded where that kind has 16 bits.
template <class Activation>
constexpr float rounded_to(float x) {
  if constexpr (std::is_same_v<Activation, bf16>) {
    return bfloat_to_float(float_to_bfloat(x));
  } else if constexpr (std::is_same_v<Activation, f16>) {
    return half_to_float(float_to_half(x));
  } else {
    return x;
  }
}

/// Writes group `group` of a token's row from 32 values, fp32 rows rounded to what the activations of the policy are; the
/// int8 form is refined if one of them is larger than `limit`.
template <class Isa, class Activation>
void store_group(activations& to, std::size_t token, std::size_t group, const float* x, float limit) {
  if (to.as_float()) {
    float* out = to.values.data() + token * to.stride + group * group_size;
    for (int i = 0; i < group_size; ++i) out[i] = rounded_to<Activation>(x[i]);
  }
  if (to.as_bf16()) {
    std::uint16_t* out = to.halves.data() + token * to.stride + group * group_size;
    for (int i = 0; i < group_size; ++i) out[i] = float_to_bfloat(x[i]);
  }
  if (to.as_int8()) store_int8_group<Isa>(to, token, group, x, limit);
}

}  // namespace tenon::host
