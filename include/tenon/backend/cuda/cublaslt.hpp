// Products of dense 16-bit weights by cuBLASLt, the alternative to our own kernels for many tokens. Needs the library
// cublasLt; nothing else of the backend does.
//
// The library picks another kernel, with another order of sums, for another number of tokens: a token's result depends on
// how many are beside it, within the bounds of fp32 sums. Who needs the same bits always takes cuda::products.
#pragma once

#include <cublasLt.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenon/backend/cuda/activations.hpp"
#include "tenon/backend/cuda/memory.hpp"
#include "tenon/format/all.hpp"

namespace tenon::cuda {

/// Throws tenon::error unless a call of cuBLASLt succeeded.
inline void check_cublas(cublasStatus_t status, const char* call) {
  if (status != CUBLAS_STATUS_SUCCESS) [[unlikely]]
    throw error(concat(call, " failed: ", cublasLtGetStatusString(status)));
}

namespace detail {

struct destroy_cublas {
  void operator()(cublasLtHandle_t handle) const { cublasLtDestroy(handle); }
  void operator()(cublasLtMatmulDesc_t descriptor) const { cublasLtMatmulDescDestroy(descriptor); }
  void operator()(cublasLtMatrixLayout_t layout) const { cublasLtMatrixLayoutDestroy(layout); }
  void operator()(cublasLtMatmulPreference_t preference) const {
    cublasLtMatmulPreferenceDestroy(preference);
  }
};
template <class Handle>
using cublas_owner = std::unique_ptr<std::remove_pointer_t<Handle>, destroy_cublas>;

}  // namespace detail

/// Weights [rows, columns] on the device as they are in the file, row by row, in f16 or bf16.
struct dense_view {
  const std::uint16_t* values;
  int rows;
  int columns;
};

/// One for an engine and its stream. The first product of a shape asks the library for its best kernel and keeps the
/// answer; from then on nothing is allocated.
class cublaslt {
 public:
  static constexpr std::size_t default_workspace = std::size_t{32} << 20;
  /// `workspace` is what the library's kernels may use, in bytes, allocated here.
  explicit cublaslt(std::size_t workspace = default_workspace) : workspace_(workspace) {
    cublasLtHandle_t made = nullptr;
    check_cublas(cublasLtCreate(&made), "cublasLtCreate");
    handle_.reset(made);
  }

  /// out [tokens, stride] = x times the matrix, whose numbers are `Half`, as are x.halves.
  template <scalar_format Half>
  void store(const stream& on, const dense_view& weights, const activation_view& x, std::size_t tokens,
             float* out, std::size_t stride) {
    run<Half>(on, weights, x, tokens, out, stride, 0.0f);
  }
  /// residual [tokens, rows] += x times the matrix.
  template <scalar_format Half>
  void add(const stream& on, const dense_view& weights, const activation_view& x, std::size_t tokens,
           float* residual) {
    run<Half>(on, weights, x, tokens, residual, static_cast<std::size_t>(weights.rows), 1.0f);
  }

 private:
  /// Everything that the choice of a kernel depends on.
  struct shape {
    cudaDataType_t type;
    int rows, columns, tokens, left_stride, out_stride;
    bool adds;
    bool operator==(const shape&) const = default;
  };
  /// In the library's terms, where matrices go column by column: D [rows, tokens] = A^T [columns, rows] B [columns, tokens].
  struct plan {
    shape of;
    detail::cublas_owner<cublasLtMatmulDesc_t> product;
    detail::cublas_owner<cublasLtMatrixLayout_t> a, b, d;
    cublasLtMatmulAlgo_t algorithm;
  };

  template <class Half>
  void run(const stream& on, const dense_view& weights, const activation_view& x, std::size_t tokens,
           float* out, std::size_t stride, float beta) {
    static_assert(Half::gguf_type == f16::gguf_type || Half::gguf_type == bf16::gguf_type);
    if (tokens == 0) return;
    const plan& best =
        plan_for({Half::gguf_type == f16::gguf_type ? CUDA_R_16F : CUDA_R_16BF, weights.rows, weights.columns,
                  static_cast<int>(tokens), x.stride, static_cast<int>(stride), beta != 0.0f});
    const float alpha = 1.0f;
    check_cublas(cublasLtMatmul(handle_.get(), best.product.get(), &alpha, weights.values, best.a.get(),
                                x.halves, best.b.get(), &beta, out, best.d.get(), out, best.d.get(),
                                &best.algorithm, workspace_.data(), workspace_.size(), on.get()),
                 "cublasLtMatmul");
  }

  const plan& plan_for(const shape& wanted) {
    for (const plan& each : plans_) {
      if (each.of == wanted) return each;
    }
    plan made{wanted,
              nullptr,
              layout(wanted.type, wanted.columns, wanted.rows, wanted.columns),
              layout(wanted.type, wanted.columns, wanted.tokens, wanted.left_stride),
              layout(CUDA_R_32F, wanted.rows, wanted.tokens, wanted.out_stride),
              {}};
    cublasLtMatmulDesc_t product = nullptr;
    check_cublas(cublasLtMatmulDescCreate(&product, CUBLAS_COMPUTE_32F, CUDA_R_32F),
                 "cublasLtMatmulDescCreate");
    made.product.reset(product);
    const cublasOperation_t transposed = CUBLAS_OP_T;
    check_cublas(
        cublasLtMatmulDescSetAttribute(product, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof transposed),
        "cublasLtMatmulDescSetAttribute");

    cublasLtMatmulPreference_t preference = nullptr;
    check_cublas(cublasLtMatmulPreferenceCreate(&preference), "cublasLtMatmulPreferenceCreate");
    const detail::cublas_owner<cublasLtMatmulPreference_t> owner(preference);
    const auto prefer = [&]<class T>(cublasLtMatmulPreferenceAttributes_t what, T value) {
      check_cublas(cublasLtMatmulPreferenceSetAttribute(preference, what, &value, sizeof value),
                   "cublasLtMatmulPreferenceSetAttribute");
    };
    prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, std::uint64_t{workspace_.size()});
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, std::uint32_t{wanted.columns % 8 == 0 ? 16u : 2u});
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, std::uint32_t{16});
    // results may begin at any row
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, std::uint32_t{4});
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, std::uint32_t{4});

    cublasLtMatmulHeuristicResult_t best{};
    int found = 0;
    check_cublas(cublasLtMatmulAlgoGetHeuristic(handle_.get(), product, made.a.get(), made.b.get(),
                                                made.d.get(), made.d.get(), preference, 1, &best, &found),
                 "cublasLtMatmulAlgoGetHeuristic");
    if (found == 0)
      throw error(concat("cuBLASLt has no kernel for a product of ", wanted.rows, " x ", wanted.columns,
                         " with ", wanted.tokens, " tokens; leave it to cuda::products"));
    made.algorithm = best.algo;
    return plans_.emplace_back(std::move(made));
  }

  static detail::cublas_owner<cublasLtMatrixLayout_t> layout(cudaDataType_t type, int rows, int columns,
                                                             int stride) {
    cublasLtMatrixLayout_t made = nullptr;
    check_cublas(cublasLtMatrixLayoutCreate(&made, type, static_cast<std::uint64_t>(rows),
                                            static_cast<std::uint64_t>(columns), stride),
                 "cublasLtMatrixLayoutCreate");
    return detail::cublas_owner<cublasLtMatrixLayout_t>(made);
  }

  detail::cublas_owner<cublasLtHandle_t> handle_;
  device_buffer<std::byte> workspace_;
  std::vector<plan> plans_;
};

}  // namespace tenon::cuda
