// How the functions of product_ops.hpp reach the device.
#pragma once

#include <limits>

#include "backend/cuda/device_ops.cuh"
#include "backend/cuda/product_ops.hpp"
#include "tenon/backend/cuda/products.cuh"

namespace tenon::test {

namespace {

/// Tunings that leave no choice.
template <path By>
struct forced {
  static constexpr cuda::product_tuning products = [] {
    cuda::product_tuning tuning = cuda::tuned<80>::products;
    if (By == path::wide) tuning.wide_from = 1;
    if (By == path::thin) tuning.wide_from = std::numeric_limits<int>::max();
    return tuning;
  }();
};

/// Calls f with the products that take this path.
template <class WeightFormats, class Activation, class F>
void with_products(path by, F&& f) {
  if (by == path::thin) f(cuda::products<WeightFormats, Activation, forced<path::thin>>());
  if (by == path::wide) f(cuda::products<WeightFormats, Activation, forced<path::wide>>());
  if (by == path::by_tokens) f(cuda::products<WeightFormats, Activation>());
}

/// A matrix with memory of its own.
struct uploaded : cuda::matrix {
  uploaded(const product_matrix& m, const cuda::stream& on)
      : cuda::matrix{m.format, m.rows, m.columns}, packed(m.packed, on) {
    records = packed.data();
  }
  cuda::device_buffer<std::byte> packed;
};
template <class... Matrices>
std::array<const cuda::matrix*, sizeof...(Matrices)> all_of(const Matrices&... each) {
  return {&each...};
}

template <class WeightFormats, class Activation>
cuda::activations left_of(const product_matrix& weights, std::span<const float> x, std::size_t tokens,
                          const cuda::stream& on) {
  return prepared(x, tokens, cuda::products<WeightFormats, Activation>::reads(weights.format), on);
}

}  // namespace

template <class W, class A>
std::vector<float> cuda_products<W, A>::store(path by, const std::array<product_matrix, 3>& weights,
                                              std::span<const float> x, std::size_t tokens,
                                              std::size_t stride) {
  const cuda::stream on;
  const uploaded a(weights[0], on), b(weights[1], on), c(weights[2], on);
  using p = cuda::products<W, A>;
  cuda::activations left =
      prepared(x, tokens, p::reads(a.format) | p::reads(b.format) | p::reads(c.format), on);
  cuda::device_buffer<float> out(std::vector<float>(tokens * stride, std::nanf("")), on);
  with_products<W, A>(by, [&](auto products) {
    products.store(on, all_of(a, b, c), left.view(), tokens, out.data(), stride);
  });
  return out.read(on);
}

template <class W, class A>
std::vector<float> cuda_products<W, A>::store(path by, const product_matrix& weights,
                                              std::span<const float> x, std::size_t tokens) {
  const cuda::stream on;
  const uploaded m(weights, on);
  cuda::activations left = left_of<W, A>(weights, x, tokens, on);
  cuda::device_buffer<float> out(tokens * m.rows);
  with_products<W, A>(
      by, [&](auto products) { products.store(on, all_of(m), left.view(), tokens, out.data(), m.rows); });
  return out.read(on);
}

template <class W, class A>
std::vector<float> cuda_products<W, A>::add(path by, const product_matrix& weights, std::span<const float> x,
                                            std::size_t tokens, std::span<const float> residual) {
  const cuda::stream on;
  const uploaded m(weights, on);
  cuda::activations left = left_of<W, A>(weights, x, tokens, on);
  cuda::device_buffer<float> out(residual, on);
  with_products<W, A>(by, [&](auto products) { products.add(on, m, left.view(), tokens, out.data()); });
  return out.read(on);
}

template <class W, class A>
cuda_activations cuda_products<W, A>::gate(path by, const product_matrix& gate, const product_matrix& up,
                                           std::span<const float> x, std::size_t tokens) {
  const cuda::stream on;
  const uploaded gates(gate, on), ups(up, on);
  cuda::activations left = left_of<W, A>(gate, x, tokens, on), out(tokens, gate.rows, every_form, on);
  with_products<W, A>(
      by, [&](auto products) { products.swiglu(on, gates, ups, left.view(), tokens, out.view()); });
  return read_back(out, on);
}

template <class W, class A>
auto cuda_products<W, A>::add_and_norm(bool fused, const product_matrix& weights, std::span<const float> x,
                                       std::size_t tokens, std::span<const float> residual,
                                       std::span<const float> norm, int times) -> normed {
  const cuda::stream on;
  const uploaded m(weights, on);
  cuda::activations left = left_of<W, A>(weights, x, tokens, on), out(tokens, m.rows, every_form, on);
  cuda::device_buffer<float> sums(residual, on);
  const cuda::device_buffer<float> weight(norm, on);
  cuda::device_buffer<unsigned> arrived(std::vector<unsigned>{0}, on);
  const cuda::norm_parameters next{sums.data(), nullptr, weight.data(), out.view(), static_cast<int>(m.rows),
                                   1e-5f};
  using products = cuda::products<W, A>;
  for (int i = 0; i < times; ++i) {
    if (fused) {
      products::add_and_norm(on, m, left.view(), tokens, sums.data(), next, arrived.data());
    } else {
      products::add(on, m, left.view(), tokens, sums.data());
      cuda::norm(on, next, tokens);
    }
  }
  return {sums.read(on), read_back(out, on), arrived.read(on)[0]};
}

}  // namespace tenon::test
