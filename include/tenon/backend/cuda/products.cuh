// The products of an engine: which kernel multiplies a matrix with the activations that the policy asks for.
//
// activations<...>   Q8_0, Q4_0, Q4_1         F16                F32, BF16
// int8               tensor cores, int8       fp32               fp32
// bf16               tensor cores, bf16       fp32 on halves     BF16: tensor cores; F32: fp32 on halves
// f16                tensor cores, f16        tensor cores       fp32 on halves
// f32                fp32                     fp32               fp32
//
// Nothing is rounded but what the policy says: tensor cores multiply only numbers that both sides hold exactly. "fp32 on
// halves" multiplies the rounded activations with the weights in fp32, which is exact but slow with many tokens: F16
// weights go with activations<f16>, BF16 weights with activations<bf16>.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "tenon/backend/cuda/device.hpp"
#include "tenon/backend/cuda/gemm.hpp"
#include "tenon/backend/cuda/kernel/matmul_thin.cuh"
#include "tenon/backend/cuda/kernel/matmul_wide.cuh"
#include "tenon/backend/cuda/matrix.hpp"
#include "tenon/backend/cuda/tuning.hpp"
#include "tenon/model/shape.hpp"
#include "tenon/policy/precision.hpp"

namespace tenon::cuda {

namespace detail {

template <class Activation>
inline constexpr bool is_half = std::is_same_v<Activation, f16> || std::is_same_v<Activation, bf16>;

template <class Format, class Activation>
constexpr auto form_for() {
  if constexpr (is_half<Activation>) {
    if constexpr (!scalar_format<Format> || std::is_same_v<Format, Activation>) {
      return as_half<Activation>();
    } else {
      return as_half_values<Activation>();
    }
  } else if constexpr (std::is_same_v<Activation, int8> && !scalar_format<Format>) {
    return as_int8();
  } else {
    return as_float();
  }
}

}  // namespace detail

/// The form in which a product with a weight format reads activations.
template <class Format, class Activation>
using form_of = decltype(detail::form_for<Format, Activation>());

/// x times matrices of one format. At most sixteen tokens are bound by reading the weights; plain fp32 takes more
/// tokens in the same way.
template <class Format, class Form, class Epilogue, class Tuning = tuned<least_capability>>
void matmul(const stream& on, const matmul_parameters<Epilogue>& p) {
  if constexpr (on_tensor_cores<Format, Form> && Epilogue::most_tokens >= Tuning::products.wide_from) {
    if (p.tokens >= Tuning::products.wide_from) return matmul_wide<Format, Form, Epilogue, Tuning>(on, p);
  }
  matmul_thin<Format, Form>(on, p);
}

/// The products of one engine: for the weight formats that it holds and its activations.
template <class WeightFormats, class Activation, class Tuning = tuned<least_capability>>
struct products {
  using weight_formats = WeightFormats;

  /// The form that activations need for a matrix of this format.
  static activation_forms reads(std::uint32_t format) {
    activation_forms forms;
    WeightFormats::visit(format, [&]<class Format>() {
      using form = form_of<Format, Activation>;
      forms.as_int8 = std::is_same_v<form, as_int8>;
      forms.as_bf16 = std::is_same_v<Activation, bf16>;
      forms.as_f16 = std::is_same_v<Activation, f16>;
      forms.as_float = std::is_same_v<form, as_float>;
    });
    return forms;
  }

  /// out [tokens, stride] = x times up to three matrices, their results side by side (as query, key and value are): one
  /// launch for neighbours of one format.
  template <std::size_t N>
  static void store(const stream& on, const std::array<const matrix*, N>& weights, const activation_view& x,
                    std::size_t tokens, float* out, std::size_t stride) {
    static_assert(N <= most_matrices);
    for (std::size_t first = 0; first < N;) {
      std::size_t last = first + 1;
      while (last < N && weights[last]->format == weights[first]->format) ++last;
      matmul_parameters<store_product> p{{}, 0, x, static_cast<int>(tokens), {out, static_cast<int>(stride)}};
      for (; first < last; ++first) {
        p.weights[p.count++] = weights[first]->view();
        out += weights[first]->rows;
      }
      run(on, weights[last - 1]->format, p);
    }
  }

  /// residual [tokens, weights.rows] += x times the matrix.
  static void add(const stream& on, const matrix& weights, const activation_view& x, std::size_t tokens,
                  float* residual) {
    run<add_product>(on, weights.format,
                     {{weights.view()}, 1, x, static_cast<int>(tokens), adding(weights, residual)});
  }

  /// The same, and then norm.out = the norm of the new residual stream, which norm.hidden is. With few tokens that is one
  /// launch. `arrived` is one number on the device, zero before and after.
  static void add_and_norm(const stream& on, const matrix& weights, const activation_view& x,
                           std::size_t tokens, float* residual, const norm_parameters& next,
                           unsigned* arrived) {
    if (static_cast<int>(tokens) > Tuning::products.norm_tokens) {
      add(on, weights, x, tokens, residual);
      norm(on, next, tokens);
      return;
    }
    run<add_then_norm>(
        on, weights.format,
        {{weights.view()}, 1, x, static_cast<int>(tokens), {adding(weights, residual), next, arrived}});
  }

  /// out = SiLU(x times gate) * (x times up). Both matrices have one format.
  static void swiglu(const stream& on, const matrix& gate, const matrix& up, const activation_view& x,
                     std::size_t tokens, const activation_view& out) {
    run<gate_product>(on, gate.format, {{gate.view(), up.view()}, 2, x, static_cast<int>(tokens), {out}});
  }

 private:
  static_assert(Tuning::products.norm_tokens <= add_then_norm::most_tokens);

  static add_product adding(const matrix& weights, float* residual) {
    return {residual, static_cast<int>(weights.rows)};
  }
  template <class Epilogue>
  static void run(const stream& on, std::uint32_t format, const matmul_parameters<Epilogue>& p) {
    WeightFormats::visit(format, [&]<class Format>() {
      matmul<Format, form_of<Format, Activation>, Epilogue, Tuning>(on, p);
    });
  }
};

/// The products of an engine whose backend is basic_cuda<Gemm>, with the memory that they need. Others than our own are
/// specialisations in headers of their own.
template <precision::policy Precision, class Gemm>
struct engine_products {
  static_assert(
      std::is_same_v<Gemm, gemm::own>,
      "tenon: the file that instantiates an engine with gemm::cublaslt includes tenon/cublaslt.cuh");
};

template <precision::policy Precision>
struct engine_products<Precision, gemm::own>
    : products<typename Precision::weight_formats, typename Precision::activation> {
  /// Whether matrices of a format stay on the device as they are in the file.
  template <class Format>
  static constexpr bool keeps_rows = false;

  engine_products(const model::shape&, std::size_t) {}
  static std::size_t bytes(const model::shape&, std::size_t) { return 0; }
};

}  // namespace tenon::cuda
