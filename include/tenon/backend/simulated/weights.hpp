// The weights of a model that is only there as sizes: of a file, without reading its tensors, or of a shape alone.
#pragma once

#include <cstddef>
#include <type_traits>

#include "tenon/backend/check_format.hpp"
#include "tenon/backend/simulated/kernel_time.hpp"
#include "tenon/io/gguf.hpp"
#include "tenon/model/llama_weights.hpp"
#include "tenon/policy/precision.hpp"

namespace tenon::simulated {

/// A matrix, [rows, columns].
struct matrix {
  std::size_t rows = 0, columns = 0;
  double row_bytes = 0;
  arithmetic computes = arithmetic::f16;

  double bytes() const { return static_cast<double>(rows) * row_bytes; }
};

/// A norm's weights; they are read with what they scale.
struct vector {};

using llama_weights = model::llama_weights<matrix, vector>;

/// What a product with weights of this format is computed with: integers only where both sides are blocks of them.
template <weight_format Weight, class Activation>
constexpr arithmetic arithmetic_of() {
  if constexpr (std::is_same_v<Activation, f32>) {
    return arithmetic::f32;
  } else if constexpr (std::is_same_v<Activation, int8> && !scalar_format<Weight>) {
    return arithmetic::int8;
  } else {
    return std::is_same_v<Weight, f32> ? arithmetic::f32 : arithmetic::f16;
  }
}

template <weight_format Weight, class Activation>
matrix matrix_of(std::size_t rows, std::size_t columns) {
  return {rows, columns, static_cast<double>(padded_row_bytes<Weight>(columns)),
          arithmetic_of<Weight, Activation>()};
}

/// The weights of a file. Throws load_error for a format that the precision does not hold.
template <precision::policy Precision>
[[gnu::cold]] llama_weights weights_of(const io::gguf_file& file, const model::shape& shape) {
  const model::llama_tensors tensors(file, shape);
  return tensors.load<matrix, vector>(
      [&](const model::tensor_use& use) {
        backend::check_format<typename Precision::weight_formats>(file, use);
        matrix made;
        Precision::weight_formats::visit(use.tensor->type, [&]<class Format>() {
          made = matrix_of<Format, typename Precision::activation>(use.rows, use.columns);
        });
        return made;
      },
      [](const model::tensor_use&) { return vector(); });
}

/// All matrices in one format.
template <weight_format Weight, class Activation>
[[gnu::cold]] llama_weights weights_of(const model::shape& s) {
  const std::size_t query = s.heads * s.head_dim, key_value = s.kv_heads * s.head_dim;
  constexpr auto of = matrix_of<Weight, Activation>;
  llama_weights made;
  made.embedding = of(s.vocabulary, s.hidden);
  const model::llama_layer<matrix, vector> layer{{},
                                                 of(query, s.hidden),
                                                 of(key_value, s.hidden),
                                                 of(key_value, s.hidden),
                                                 of(s.hidden, query),
                                                 {},
                                                 of(s.feed_forward, s.hidden),
                                                 of(s.feed_forward, s.hidden),
                                                 of(s.hidden, s.feed_forward)};
  made.layers.assign(s.layers, layer);
  made.tied_output = s.tied_output;
  if (!s.tied_output) made.separate_output = of(s.vocabulary, s.hidden);
  return made;
}

/// Bytes of all matrices.
[[gnu::cold]] inline double bytes(const llama_weights& weights) {
  double sum = weights.embedding.bytes() + weights.separate_output.bytes();
  for (const auto& l : weights.layers) {
    for (const matrix* each : {&l.query, &l.key, &l.value, &l.attention_output, &l.gate, &l.up, &l.down})
      sum += each->bytes();
  }
  return sum;
}

}  // namespace tenon::simulated
