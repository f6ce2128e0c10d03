// Products by cuBLASLt as functions over host memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tenon::test {

/// residual [tokens, rows] + x [tokens, columns] times weights [rows, columns]; without a residual the product alone.
/// `times` over with one handle; x is rounded to Half.
template <class Half>
std::vector<float> cublaslt_product(std::span<const std::uint16_t> weights, std::size_t rows,
                                    std::size_t columns, std::span<const float> x, std::size_t tokens,
                                    std::span<const float> residual, int times);

}  // namespace tenon::test
