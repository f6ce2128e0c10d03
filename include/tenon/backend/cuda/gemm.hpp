// What multiplies matrices with 16-bit weights on CUDA: a part of the backend policy. Needs no header of the CUDA Toolkit.
#pragma once

#include "tenon/core/fixed_string.hpp"

namespace tenon::gemm {

/// tenon's kernels, for every format: one launch with what follows a product, and the same sums in any batch.
struct own {
  static constexpr auto name = fixed_string("");
};

/// cuBLASLt for weights in F16 with activations<f16> and in BF16 with activations<bf16>; tenon's kernels for the other
/// formats, and for the embedding. The library picks its kernel, and with it the order of sums, by the number of tokens, so
/// that a token's logits depend on the batch within the bounds of fp32 sums. The .cu file that instantiates such an
/// engine includes tenon/cublaslt.cuh, and its program links cublasLt.
struct cublaslt {
  static constexpr auto name = fixed_string(", cuBLASLt");
};

}  // namespace tenon::gemm
