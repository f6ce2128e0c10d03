// The products of an engine on basic_cuda<gemm::cublaslt>: the library's for matrices that lie row by row, our own for the
// others.
#pragma once

#include <array>
#include <cstddef>
#include <type_traits>

#include "tenon/backend/cuda/cublaslt.hpp"
#include "tenon/backend/cuda/kernel/norm.cuh"
#include "tenon/backend/cuda/kernel/swiglu.cuh"
#include "tenon/backend/cuda/products.cuh"

namespace tenon::cuda {

template <precision::policy Precision>
struct engine_products<Precision, gemm::cublaslt>
    : products<typename Precision::weight_formats, typename Precision::activation> {
  using half = typename Precision::activation;
  using own = products<typename Precision::weight_formats, half>;
  static_assert(detail::is_half<half> && Precision::weight_formats::holds(half::gguf_type),
                "tenon: gemm::cublaslt multiplies F16 weights with activations<f16> or BF16 weights with "
                "activations<bf16>; choose one of them, or gemm::own");

  template <class Format>
  static constexpr bool keeps_rows = std::is_same_v<Format, half>;

  /// Memory for steps of so many tokens of a model of this shape.
  engine_products(const model::shape& shape, std::size_t tokens)
      : gate_(tokens * shape.feed_forward), up_(tokens * shape.feed_forward) {}
  static std::size_t bytes(const model::shape& shape, std::size_t tokens) {
    return 2 * tokens * shape.feed_forward * sizeof(float) + cublaslt::default_workspace;
  }

  template <std::size_t N>
  void store(const stream& on, const std::array<const matrix*, N>& weights, const activation_view& x,
             std::size_t tokens, float* out, std::size_t stride) {
    for (const matrix* each : weights) {
      store(on, *each, x, tokens, out, stride);
      out += each->rows;
    }
  }
  void add(const stream& on, const matrix& weights, const activation_view& x, std::size_t tokens,
           float* residual) {
    if (!weights.by_rows) return own::add(on, weights, x, tokens, residual);
    library_.template add<half>(on, dense(weights), x, tokens, residual);
  }
  void add_and_norm(const stream& on, const matrix& weights, const activation_view& x, std::size_t tokens,
                    float* residual, const norm_parameters& next, unsigned* arrived) {
    if (!weights.by_rows) return own::add_and_norm(on, weights, x, tokens, residual, next, arrived);
    add(on, weights, x, tokens, residual);
    norm(on, next, tokens);
  }
  void swiglu(const stream& on, const matrix& gate, const matrix& up, const activation_view& x,
              std::size_t tokens, const activation_view& out) {
    if (!gate.by_rows) return own::swiglu(on, gate, up, x, tokens, out);
    store(on, gate, x, tokens, gate_.data(), gate.rows);
    store(on, up, x, tokens, up_.data(), up.rows);
    const swiglu_parameters p{gate_.data(), up_.data(), out, static_cast<int>(gate.rows)};
    cuda::swiglu(on, p, tokens);
  }

 private:
  void store(const stream& on, const matrix& weights, const activation_view& x, std::size_t tokens,
             float* out, std::size_t stride) {
    if (!weights.by_rows) return own::store(on, std::array{&weights}, x, tokens, out, stride);
    library_.template store<half>(on, dense(weights), x, tokens, out, stride);
  }
  static dense_view dense(const matrix& m) {
    return {reinterpret_cast<const std::uint16_t*>(m.records), static_cast<int>(m.rows),
            static_cast<int>(m.columns)};
  }

  cublaslt library_;
  device_buffer<float> gate_;  // [tokens, feed_forward]
  device_buffer<float> up_;
};

}  // namespace tenon::cuda
