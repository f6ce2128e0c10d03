// Embedding rows and RMS norm. A norm writes its result in the form that the next product reads.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <span>

#include "tenon/backend/host/activations.hpp"
#include "tenon/backend/host/context.hpp"
#include "tenon/backend/host/matrix.hpp"
#include "tenon/core/types.hpp"

namespace tenon::host {

/// hidden[tokens, columns] = the tokens' rows of the embedding matrix.
template <class Isa, class WeightFormats>
void embed(op_context context, const matrix& embedding, std::span<const token_id> tokens, float* hidden) {
  context.member.for_each(tokens.size(), [&](std::size_t t) {
    WeightFormats::visit(embedding.format, [&]<class Format>() {
      decode_matrix_row<Isa, Format>(embedding, static_cast<std::size_t>(tokens[t]),
                                     hidden + t * embedding.columns);
    });
  });
}

/// out = x / sqrt(mean(x^2) + epsilon) * weight for one row of weight.size() values.
template <class Isa, class Activation>
void norm_row(const float* x, std::span<const float> weight, float epsilon, activations& out,
              std::size_t token) {
  using v = simd<Isa>;
  const std::size_t width = weight.size(), whole = width / v::lanes * v::lanes;
  auto squares = v::zero(), weighted = v::zero();
  for (std::size_t i = 0; i < whole; i += v::lanes) {
    const auto part = v::load(x + i), product = v::mul(part, v::load(weight.data() + i));
    squares = v::fma(part, part, squares);
    weighted = v::fma(product, product, weighted);
  }
  float sum = v::sum(squares), weighted_sum = v::sum(weighted);
  for (std::size_t i = whole; i < width; ++i) {
    const float product = x[i] * weight[i];
    sum = std::fma(x[i], x[i], sum);
    weighted_sum = std::fma(product, product, weighted_sum);
  }
  const float factor = 1.0f / std::sqrt(sum / static_cast<float>(width) + epsilon);
  const float limit = factor * refinement_limit(weighted_sum, width);
  for (std::size_t first = 0; first < width; first += group_size) {
    alignas(64) float group[group_size] = {};
    for (std::size_t i = 0; i < group_size && first + i < width; ++i)
      group[i] = x[first + i] * factor * weight[first + i];
    store_group<Isa, Activation>(out, token, first / group_size, group, limit);
  }
}

/// Row i of out is the norm of row rows[i] of x [*, width].
template <class Isa, class Activation>
void norm_rows(op_context context, const float* x, std::span<const std::size_t> rows,
               std::span<const float> weight, float epsilon, activations& out) {
  context.member.for_each(rows.size(), [&](std::size_t i) {
    norm_row<Isa, Activation>(x + rows[i] * weight.size(), weight, epsilon, out, i);
  });
}

/// Row i of out is the norm of row i of x [tokens, width].
template <class Isa, class Activation>
void norm(op_context context, const float* x, std::size_t tokens, std::span<const float> weight,
          float epsilon, activations& out) {
  context.member.for_each(tokens, [&](std::size_t i) {
    norm_row<Isa, Activation>(x + i * weight.size(), weight, epsilon, out, i);
  });
}

/// out = x [tokens, width] in the form that a product reads.
template <class Isa, class Activation>
void prepare(op_context context, const float* x, std::size_t tokens, std::size_t width, activations& out) {
  context.member.for_each(tokens, [&](std::size_t t) {
    const auto for_groups = [&](auto&& work) {
      for (std::size_t first = 0; first < width; first += group_size) {
        alignas(64) float group[group_size] = {};
        std::memcpy(group, x + t * width + first,
                    (std::min)(width - first, std::size_t{group_size}) * sizeof(float));
        work(first / group_size, group);
      }
    };
    float squares = 0;
    for_groups([&](std::size_t, const float* group) { squares += sum_of_squares<Isa>(group); });
    const float limit = refinement_limit(squares, width);
    for_groups([&](std::size_t index, const float* group) {
      store_group<Isa, Activation>(out, t, index, group, limit);
    });
  });
}

}  // namespace tenon::host
