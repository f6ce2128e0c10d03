// Quantisers for tests: floats to valid blocks of each weight format, and to the int8 blocks that activations
// use. The library itself never quantises weights; these exist so that tests can make rows of any size in any
// format.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <vector>

#include "tenon/core/number.hpp"
#include "tenon/format/e4m3.hpp"
#include "tenon/format/format.hpp"

namespace tenon::reference {

/// Values in a block of int8 activations.
inline constexpr std::size_t int8_block = 32;

/// A row in blocks of 32: x[i] is about scale[i / 32] * quant[i].
struct int8_row {
  std::vector<float> scale;        ///< [blocks], largest magnitude / 127; 0 for a block of zeros
  std::vector<std::int8_t> quant;  ///< [values], -127 to 127
};

/// Quantises x, whose length is a multiple of 32: scale = amax / 127 in fp32, quant = x / scale to nearest,
/// ties to even, divided in fp64. Kernels that multiply by a rounded 127 / amax may differ by one where x /
/// scale is next to a half: see int8_quant_fits in tolerance.hpp.
inline int8_row quantise_int8(std::span<const float> x) {
  if (x.size() % int8_block != 0) throw std::invalid_argument("quantise_int8: whole blocks of 32");
  int8_row row;
  for (std::size_t start = 0; start < x.size(); start += int8_block) {
    float largest = 0;
    for (const float value : x.subspan(start, int8_block)) largest = (std::max)(largest, std::fabs(value));
    const float scale = largest / 127.0f;
    row.scale.push_back(scale);
    for (const float value : x.subspan(start, int8_block)) {
      // a scale that is subnormal can be off by a lot, so the quotient is clamped
      const double quotient = scale == 0 ? 0.0 : static_cast<double>(value) / static_cast<double>(scale);
      row.quant.push_back(static_cast<std::int8_t>(std::clamp(std::nearbyint(quotient), -127.0, 127.0)));
    }
  }
  return row;
}

/// The values that an int8 row stands for, rounded to fp32.
inline std::vector<float> dequantise(const int8_row& row) {
  std::vector<float> values(row.quant.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = row.scale[i / int8_block] * static_cast<float>(row.quant[i]);
  return values;
}

namespace detail {

template <class Number>
void append(std::vector<std::byte>& bytes, Number number) {
  const std::size_t end = bytes.size();
  bytes.resize(end + sizeof number);
  std::memcpy(bytes.data() + end, &number, sizeof number);
}

/// Sixteen bytes of 4-bit numbers: the low nibbles are values 0 to 15, the high ones 16 to 31.
inline void append_nibbles(std::vector<std::byte>& bytes, std::span<const std::uint8_t, 32> quants) {
  for (std::size_t i = 0; i < 16; ++i)
    append(bytes, static_cast<std::uint8_t>(quants[i] | (quants[i + 16] << 4)));
}

/// value / scale to nearest, in low..high; 0 when the scale is.
inline int quotient(float value, float scale, int low, int high) {
  if (scale == 0) return std::clamp(0, low, high);
  const double exact = static_cast<double>(value) / static_cast<double>(scale);
  return static_cast<int>(
      std::clamp(std::nearbyint(exact), static_cast<double>(low), static_cast<double>(high)));
}

/// Q8_0: a half d and 32 int8; value = d q.
inline void encode_q8_0(std::vector<std::byte>& bytes, std::span<const float> x) {
  float largest = 0;
  for (const float value : x) largest = (std::max)(largest, std::fabs(value));
  const std::uint16_t scale = float_to_half(largest / 127.0f);
  append(bytes, scale);
  for (const float value : x)
    append(bytes, static_cast<std::int8_t>(quotient(value, half_to_float(scale), -127, 127)));
}

/// Q4_0: a half d and 32 nibbles; value = d (q - 8). The value of largest magnitude gets q = 0, so d has the
/// other sign.
inline void encode_q4_0(std::vector<std::byte>& bytes, std::span<const float> x) {
  float largest = 0;
  for (const float value : x)
    if (std::fabs(value) > std::fabs(largest)) largest = value;
  const std::uint16_t scale = float_to_half(largest / -8.0f);
  append(bytes, scale);
  std::uint8_t quants[32];
  for (std::size_t i = 0; i < 32; ++i)
    quants[i] = static_cast<std::uint8_t>(quotient(x[i], half_to_float(scale), -8, 7) + 8);
  append_nibbles(bytes, quants);
}

/// Q4_1: halves d and m and 32 nibbles; value = d q + m.
inline void encode_q4_1(std::vector<std::byte>& bytes, std::span<const float> x) {
  const auto [lowest, highest] = std::minmax_element(x.begin(), x.end());
  const std::uint16_t scale = float_to_half((*highest - *lowest) / 15.0f);
  const std::uint16_t minimum = float_to_half(*lowest);
  append(bytes, scale);
  append(bytes, minimum);
  std::uint8_t quants[32];
  for (std::size_t i = 0; i < 32; ++i)
    quants[i] =
        static_cast<std::uint8_t>(quotient(x[i] - half_to_float(minimum), half_to_float(scale), 0, 15));
  append_nibbles(bytes, quants);
}

}  // namespace detail

/// A row of valid blocks of format F that stand for about x. x.size() is a multiple of the block size.
template <weight_format F>
std::vector<std::byte> encode_row(std::span<const float> x) {
  if (x.size() % F::block_size != 0) throw std::invalid_argument("encode_row: whole blocks");
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i < x.size(); i += F::block_size) {
    const auto block = x.subspan(i, F::block_size);
    constexpr std::uint32_t type = F::gguf_type;
    static_assert(type == 0 || type == 1 || type == 2 || type == 3 || type == 8 || type == 30 ||
                      std::is_same_v<F, e4m3>,
                  "encode_row: add a quantiser for this format");
    if constexpr (type == 0) detail::append(bytes, block[0]);
    if constexpr (type == 1) detail::append(bytes, float_to_half(block[0]));
    if constexpr (type == 2) detail::encode_q4_0(bytes, block);
    if constexpr (type == 3) detail::encode_q4_1(bytes, block);
    if constexpr (type == 8) detail::encode_q8_0(bytes, block);
    if constexpr (type == 30) detail::append(bytes, float_to_bfloat(block[0]));
    if constexpr (std::is_same_v<F, e4m3>) detail::append(bytes, float_to_e4m3(block[0]));
  }
  return bytes;
}

/// The fp32 values that the blocks of a row stand for: what a product with the row is held against.
template <weight_format F>
std::vector<float> decoded(std::span<const std::byte> row) {
  std::vector<float> values(row.size() / F::block_bytes * F::block_size);
  decode_row<F>(row.data(), values.data(), values.size());
  return values;
}

/// The blocks that a head's values become in a cache of this format; zeros pad the last one.
template <class Format>
std::vector<std::byte> encoded_head(std::span<const float> head) {
  std::vector<float> whole(head.begin(), head.end());
  while (whole.size() % Format::block_size != 0) whole.push_back(0.0f);
  return encode_row<Format>(whole);
}

/// The values that a head has in a cache of this format.
template <class Format>
std::vector<float> rounded_head(std::span<const float> head) {
  std::vector<float> values = decoded<Format>(encoded_head<Format>(head));
  values.resize(head.size());
  return values;
}

/// For each value of a row, the sum of the magnitudes of the terms that a kernel may add separately: |d q| +
/// |m| for Q4_1, |d q| + |8 d| for Q4_0, whose minus 8 may be taken out of the sum, and |w| else. Rounding
/// errors of a sum are proportional to these and not to |w|, which is small where the terms cancel.
template <weight_format F>
std::vector<float> term_magnitudes(std::span<const std::byte> row) {
  std::vector<float> values = decoded<F>(row);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::byte* block = row.data() + i / F::block_size * F::block_bytes;
    std::uint16_t halves[2] = {};
    if constexpr (F::gguf_type == 2) std::memcpy(halves, block, 2);
    if constexpr (F::gguf_type == 3) std::memcpy(halves, block, 4);
    float taken_out = 0;  // the part of the value that is the same for the whole block
    if constexpr (F::gguf_type == 2) taken_out = -8.0f * half_to_float(halves[0]);
    if constexpr (F::gguf_type == 3) taken_out = half_to_float(halves[1]);
    values[i] = std::fabs(values[i] - taken_out) + std::fabs(taken_out);
  }
  return values;
}

}  // namespace tenon::reference
