// The numbers that give a model its shape. They come from the file at run time, or are fixed at build time.
#pragma once

#include <cstddef>

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

  /// Bytes of keys and values for one token: 2 x layers x kv_heads x head_dim values, half of them keys.
  constexpr std::size_t kv_bytes_per_token(std::size_t key_bytes, std::size_t value_bytes) const {
    return layers * kv_heads * head_dim * (key_bytes + value_bytes);
  }
};

// A model of 7 billion parameters with 32 layers and 32 heads of 128 keeps half a mebibyte a token in 16
// bits.
static_assert(shape{.layers = 32, .kv_heads = 32, .head_dim = 128}.kv_bytes_per_token(2, 2) == 512 * 1024);

/// Model numbers that are not sizes.
struct constants {
  float norm_epsilon = 0;
  double rope_base = 0;
};

}  // namespace tenon::model
