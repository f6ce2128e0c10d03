// The left side of a product: one row for each token, in the number format that the kernels of a weight
// format read. fp32 rows serve fp32 and bf16 products (for bf16 the values are rounded), int8 rows the
// integer dot product.
#pragma once

#include <cstdint>

#include "tenon/backend/host/panel.hpp"
#include "tenon/backend/host/simd/simd.hpp"
#include "tenon/core/buffer.hpp"

namespace tenon::host {

/// Rows of `width` values (padded with zeros to whole groups of 32) for up to `capacity` tokens.
/// The int8 form holds for each group of 32: q = round(x / scale), scale = max|x| / 127, and scale * sum(q),
/// which multiplies a weight's minimum.
struct activations {
  std::size_t stride = 0;        // values from one token to the next, a multiple of 32
  buffer<float> values;          // [capacity, stride]; empty when no consumer reads fp32
  buffer<std::uint16_t> halves;  // [capacity, stride], bf16; empty when no consumer reads them
  buffer<std::int8_t> quanta;    // [capacity, stride]; empty when no consumer reads int8
  buffer<float> scales;          // [capacity, stride / 32]
  buffer<float> sums;            // [capacity, stride / 32], scale * sum of quanta
  buffer<std::int32_t> totals;   // [capacity, stride / 32], sum of quanta

  activations() = default;
  activations(std::size_t capacity, std::size_t width, bool as_float, bool as_int8, bool as_bf16 = false)
      : stride(round_up(width, group_size)),
        values(as_float ? capacity * stride : 0),
        halves(as_bf16 ? capacity * stride : 0),
        quanta(as_int8 ? capacity * stride : 0),
        scales(as_int8 ? capacity * stride / group_size : 0),
        sums(as_int8 ? capacity * stride / group_size : 0),
        totals(as_int8 ? capacity * stride / group_size : 0) {}

  std::size_t groups() const { return stride / group_size; }
  bool as_float() const { return values.size() != 0; }
  bool as_int8() const { return quanta.size() != 0; }
  bool as_bf16() const { return halves.size() != 0; }

  /// Bytes that such rows take for one token.
  static constexpr std::size_t bytes_per_token(std::size_t width, bool as_float, bool as_int8,
                                               bool as_bf16 = false) {
    const std::size_t padded = round_up(width, group_size);
    return (as_float ? padded * 4 : 0) + (as_bf16 ? padded * 2 : 0) +
           (as_int8 ? padded + padded / group_size * 12 : 0);
  }
};

/// Writes group `group` of a token's row from 32 values.
template <class Isa, bool RoundToBf16>
void store_group(activations& to, std::size_t token, std::size_t group, const float* x) {
  using v = simd<Isa>;
  if (to.as_float()) {
    float* out = to.values.data() + token * to.stride + group * group_size;
    for (int i = 0; i < group_size; ++i) out[i] = RoundToBf16 ? bfloat_to_float(float_to_bfloat(x[i])) : x[i];
  }
  if (to.as_bf16()) {
    std::uint16_t* out = to.halves.data() + token * to.stride + group * group_size;
    for (int i = 0; i < group_size; ++i) out[i] = float_to_bfloat(x[i]);
  }
  if (to.as_int8()) {
    auto largest = v::zero(),
         probe = v::zero();  // the probe becomes NaN where x holds NaN or infinity, else stays 0
    for (int i = 0; i < group_size; i += v::lanes) {
      const auto part = v::load(x + i);
      largest = v::larger(largest, v::abs(part));
      probe = v::fma(part, v::zero(), probe);
    }
    const float scale = v::max_of(largest) * (1.0f / 127.0f) + v::sum(probe);
    // A group whose scale is 0, NaN or too small to have an inverse gets zeros; a NaN scale still reaches its
    // products.
    const bool usable = scale > 0x1p-128f;
    const auto inverse = v::set1(usable ? 1.0f / scale : 0.0f);
    std::int8_t* out = to.quanta.data() + token * to.stride + group * group_size;
    for (int i = 0; i < group_size; i += v::lanes)
      v::store_int8(out + i, usable ? v::mul(v::load(x + i), inverse) : v::zero());
    std::int32_t total = 0;
    for (int i = 0; i < group_size; ++i) total += out[i];
    const std::size_t at = token * to.groups() + group;
    to.scales[at] = scale;
    to.sums[at] = scale * static_cast<float>(total);
    to.totals[at] = total;
  }
}

}  // namespace tenon::host
