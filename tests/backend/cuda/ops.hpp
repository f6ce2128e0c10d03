// The CUDA backend's operations as functions over host memory, so that tests are plain C++: ops.cu copies to the device,
// launches, and copies back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tenon/core/host_device.hpp"
#include "tenon/core/types.hpp"
#include "tenon/sample/fault.hpp"

namespace tenon::test {

/// hidden [tokens, columns] of the tokens' rows.
template <class Format>
std::vector<float> cuda_embed(std::span<const std::byte> packed, std::size_t columns,
                              std::span<const token_id> tokens);

/// Activations in all forms, as read back from the device.
struct cuda_activations {
  std::size_t stride = 0;
  std::vector<float> values;
  std::vector<std::uint16_t> halves;
  std::vector<std::int8_t> quanta;
  std::vector<std::int8_t> residuals;
  std::vector<std::uint8_t> refined;
  std::vector<float> scales;
  std::vector<float> sums;
  std::vector<float> half_sums;
};

/// Row i is the norm of row rows[i] of hidden [*, weight.size()]; of row i when there are no rows.
cuda_activations cuda_norm(std::span<const float> hidden, std::span<const int> rows, std::size_t tokens,
                           std::span<const float> weight, float epsilon);

/// A sequence's place in a cache that scatters its rows: no two positions that follow each other are neighbours.
struct scattered_view {
  std::size_t first;
  std::size_t count;  // no multiple of 7
  TENON_HOST_DEVICE constexpr std::size_t row(std::size_t position) const {
    return first + position * 7 % count;
  }
  TENON_HOST_DEVICE constexpr std::size_t run(std::size_t) const { return 1; }
};

struct rope_case {
  std::vector<int> positions;  // [tokens]
  std::vector<int> span_of;    // [tokens]
  std::vector<scattered_view> views;
  std::size_t cache_rows;
  int heads, kv_heads, head_dim, rotated;
  double base;
};
struct rope_result {
  std::vector<float> query_key_value;
  std::vector<std::byte> keys, values;  // [kv_heads, cache_rows] of cuda::cache_row each
};
/// Rotates and appends to a cache whose bytes were all 0xff, which is NaN.
template <class Key, class Value>
rope_result cuda_rope_append(const rope_case& c, std::span<const float> query_key_value);

/// Activations as they go to the device and come back; quantised there from fp32 rows [tokens, width] by the norm's
/// own store, with the limit that the engine uses for rows.
/// The 16-bit form is f16 or bf16.
cuda_activations cuda_prepare(std::span<const float> x, std::size_t tokens, bool as_f16 = false);

struct cuda_choice {
  token_id token;
  sampling::fault fault;
};
/// The best tokens of rows [rows, stride] of which `vocabulary` are logits, `times` times over with the same memory.
std::vector<cuda_choice> cuda_argmax(std::span<const float> logits, std::size_t rows, std::size_t vocabulary,
                                     int times);

}  // namespace tenon::test
