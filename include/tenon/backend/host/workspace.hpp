// The memory of a step: everything between the embedding and the logits, allocated once.
#pragma once

#include <cstddef>

#include "tenon/backend/host/activations.hpp"
#include "tenon/core/buffer.hpp"
#include "tenon/model/shape.hpp"

namespace tenon::host {

/// Which forms of activations a product's weights read.
struct activation_forms {
  bool as_float = false;
  bool as_int8 = false;
  bool as_bf16 = false;

  friend constexpr activation_forms operator|(activation_forms a, activation_forms b) {
    return {a.as_float || b.as_float, a.as_int8 || b.as_int8, a.as_bf16 || b.as_bf16};
  }
};

/// The forms for each place in the forward pass where activations are handed to products.
struct workspace_forms {
  activation_forms normed, attended, gated, sampled;
};

struct workspace {
  buffer<float> hidden;             // [tokens, hidden], the residual stream
  activations normed;               // [tokens, hidden]
  buffer<float> query_key_value;    // [tokens, (heads + 2 kv_heads) * head_dim]
  buffer<float> attention_results;  // [tokens, heads * head_dim]
  activations attended;             // the same, for the next product
  activations gated;                // [tokens, feed_forward]
  activations sampled;              // [batch, hidden]
  buffer<float> logits;             // [batch, vocabulary]
  buffer<float> cosines, sines;     // [tokens, rotated / 2]

  workspace() = default;
  workspace(const model::shape& s, const workspace_forms& forms, std::size_t tokens, std::size_t batch)
      : hidden(tokens * s.hidden),
        normed(tokens, s.hidden, forms.normed.as_float, forms.normed.as_int8, forms.normed.as_bf16),
        query_key_value(tokens * (s.heads + 2 * s.kv_heads) * s.head_dim),
        attention_results(tokens * s.heads * s.head_dim),
        attended(tokens, s.heads * s.head_dim, forms.attended.as_float, forms.attended.as_int8,
                 forms.attended.as_bf16),
        gated(tokens, s.feed_forward, forms.gated.as_float, forms.gated.as_int8, forms.gated.as_bf16),
        sampled(batch, s.hidden, forms.sampled.as_float, forms.sampled.as_int8, forms.sampled.as_bf16),
        logits(batch * s.vocabulary),
        cosines(tokens * s.rotated / 2),
        sines(tokens * s.rotated / 2) {}

  /// Bytes that such a workspace takes.
  static std::size_t bytes(const model::shape& s, const workspace_forms& forms, std::size_t tokens,
                           std::size_t batch) {
    const auto row = [](std::size_t width, activation_forms form) {
      return activations::bytes_per_token(width, form.as_float, form.as_int8, form.as_bf16);
    };
    const std::size_t per_token =
        sizeof(float) * (s.hidden + (2 * s.heads + 2 * s.kv_heads) * s.head_dim + s.rotated) +
        row(s.hidden, forms.normed) + row(s.heads * s.head_dim, forms.attended) +
        row(s.feed_forward, forms.gated);
    return tokens * per_token + batch * (row(s.hidden, forms.sampled) + s.vocabulary * sizeof(float));
  }
};

}  // namespace tenon::host
