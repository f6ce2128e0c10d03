// The numbers that give a model its shape. They come from the file at run time, or are fixed at build time.
#pragma once

#include <cstddef>

#include "tenon/format/format.hpp"

namespace tenon::model {

/// The sizes of a decoder-only transformer. All members are whole numbers, so that a shape can be a template
/// argument.
struct shape {
  std::size_t layers = 0;
  std::size_t hidden = 0;    // width of the residual stream
  std::size_t heads = 0;     // query heads
  std::size_t kv_heads = 0;  // key-value heads; heads is a multiple of it
  std::size_t head_dim = 0;
  std::size_t rotated = 0;       // leading values of a head that rotary embedding turns
  std::size_t feed_forward = 0;  // width of the feed-forward block
  std::size_t vocabulary = 0;
  std::size_t context = 0;   // positions that the model was trained for
  bool tied_output = false;  // the output matrix is the embedding matrix

  friend constexpr bool operator==(const shape&, const shape&) = default;

  /// Weights in all matrices and norms.
  constexpr std::size_t parameters() const {
    const std::size_t query = heads * head_dim, key_value = kv_heads * head_dim;
    const std::size_t layer =
        hidden * (query + 2 * key_value) + query * hidden + 3 * hidden * feed_forward + 2 * hidden;
    return layers * layer + hidden + vocabulary * hidden * (tied_output ? 1 : 2);
  }

  /// Bytes of keys and values for one token: 2 x layers x kv_heads rows of head_dim values, half of them keys.
  template <weight_format Key, weight_format Value>
  constexpr std::size_t kv_bytes_per_token() const {
    return layers * kv_heads * (padded_row_bytes<Key>(head_dim) + padded_row_bytes<Value>(head_dim));
  }
};

/// Model numbers that are not sizes.
struct constants {
  float norm_epsilon = 0;
  double rope_base = 0;
};

}  // namespace tenon::model
