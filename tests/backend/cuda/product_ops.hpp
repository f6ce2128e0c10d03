// Products on the device as functions over host memory; product_ops.cuh has what they do, one .cu file for each kind of
// activations.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "backend/cuda/ops.hpp"
#include "backend/cuda/packed.hpp"
#include "tenon/policy/precision.hpp"

namespace tenon::test {

/// Which main loop takes the product: the one that the number of tokens asks for, or always the same.
enum class path { by_tokens, thin, wide };

struct product_matrix {
  std::span<const std::byte> packed;
  std::uint32_t format;
  std::size_t rows, columns;
};
template <class Format>
product_matrix as_operand(const packed_matrix<Format>& m) {
  return {m.bytes, Format::gguf_type, m.rows, m.columns};
}

/// One kind of activations, and the weight formats that it is tested with.
template <class WeightFormats, class Activation>
struct cuda_products {
  /// [tokens, stride]: x [tokens, columns] times the matrices side by side. What no product writes is NaN.
  static std::vector<float> store(path by, const std::array<product_matrix, 3>& weights,
                                  std::span<const float> x, std::size_t tokens, std::size_t stride);
  /// [tokens, rows].
  static std::vector<float> store(path by, const product_matrix& weights, std::span<const float> x,
                                  std::size_t tokens);
  /// The same, added to `residual` [tokens, rows].
  static std::vector<float> add(path by, const product_matrix& weights, std::span<const float> x,
                                std::size_t tokens, std::span<const float> residual);
  /// SiLU(x times gate) * (x times up), in all forms.
  static cuda_activations gate(path by, const product_matrix& gate, const product_matrix& up,
                               std::span<const float> x, std::size_t tokens);

  /// Adds and takes the norm, `times` times over, in one launch or in two.
  struct normed {
    std::vector<float> residual;
    cuda_activations activations;
    unsigned arrived;  // what is left in the counter
  };
  static normed add_and_norm(bool fused, const product_matrix& weights, std::span<const float> x,
                             std::size_t tokens, std::span<const float> residual, std::span<const float> norm,
                             int times);
};

using int8_products = cuda_products<weights<q8_0, q4_0, q4_1, f16>, int8>;
using bf16_products = cuda_products<weights<f32, f16, bf16, q8_0, q4_0, q4_1>, bf16>;
using f16_products = cuda_products<weights<bf16, f16, q8_0, q4_0, q4_1>, f16>;
using float_products = cuda_products<weights<f32, f16, bf16, q8_0, q4_0, q4_1>, f32>;

}  // namespace tenon::test
