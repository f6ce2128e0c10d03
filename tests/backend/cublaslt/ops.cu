#include "backend/cublaslt/ops.hpp"

#include "tenon/backend/cuda/cublaslt.hpp"
#include "tenon/backend/cuda/kernel/norm.cuh"

namespace tenon::test {

template <class Half>
std::vector<float> cublaslt_product(std::span<const std::uint16_t> weights, std::size_t rows,
                                    std::size_t columns, std::span<const float> x, std::size_t tokens,
                                    std::span<const float> residual, int times) {
  const cuda::stream on;
  const cuda::device_buffer<std::uint16_t> matrix(weights, on);
  const cuda::device_buffer<float> values(x, on);
  constexpr bool to_f16 = Half::gguf_type == f16::gguf_type;
  cuda::activations left(tokens, columns, {false, !to_f16, false, to_f16}, on);
  cuda::prepare(on, {values.data(), left.view(), static_cast<int>(columns)}, tokens);
  cuda::cublaslt library(1 << 20);
  const cuda::dense_view dense{matrix.data(), static_cast<int>(rows), static_cast<int>(columns)};
  if (!residual.empty()) {
    cuda::device_buffer<float> sums(residual, on);
    for (int i = 0; i < times; ++i) library.add<Half>(on, dense, left.view(), tokens, sums.data());
    return sums.read(on);
  }
  cuda::device_buffer<float> out(tokens * rows);
  for (int i = 0; i < times; ++i) library.store<Half>(on, dense, left.view(), tokens, out.data(), rows);
  return out.read(on);
}

template std::vector<float> cublaslt_product<f16>(std::span<const std::uint16_t>, std::size_t, std::size_t,
                                                  std::span<const float>, std::size_t, std::span<const float>,
                                                  int);
template std::vector<float> cublaslt_product<bf16>(std::span<const std::uint16_t>, std::size_t, std::size_t,
                                                   std::span<const float>, std::size_t,
                                                   std::span<const float>, int);

}  // namespace tenon::test
