// The device memory of a step: everything between the embedding and the logits, allocated once.
#pragma once

#include <cstddef>

#include "tenon/backend/cuda/activations.hpp"
#include "tenon/backend/cuda/memory.hpp"
#include "tenon/model/shape.hpp"

namespace tenon::cuda {

/// The forms for each place in the forward pass where activations are handed to products.
struct workspace_forms {
  activation_forms normed, attended, gated, sampled;
};

/// Values from one row of logits to the next.
constexpr std::size_t logit_stride(std::size_t vocabulary) { return (vocabulary + 3) / 4 * 4; }

struct workspace {
  device_buffer<float> hidden;           // [tokens, hidden], the residual stream
  activations normed;                    // [tokens, hidden]
  device_buffer<float> query_key_value;  // [tokens, (heads + 2 kv_heads) * head_dim]
  activations attended;                  // [tokens, heads * head_dim]
  activations gated;                     // [tokens, feed_forward]
  activations sampled;                   // [batch, hidden]
  device_buffer<float> logits;           // [batch, logit_stride]
  device_buffer<float2> angles;          // [tokens, rotated / 2]
  device_buffer<unsigned> arrived;       // one counter, zero between launches

  workspace(const model::shape& s, const workspace_forms& forms, std::size_t tokens, std::size_t batch,
            const stream& on)
      : hidden(tokens * s.hidden),
        normed(tokens, s.hidden, forms.normed, on),
        query_key_value(tokens * (s.heads + 2 * s.kv_heads) * s.head_dim),
        attended(tokens, s.heads * s.head_dim, forms.attended, on),
        gated(tokens, s.feed_forward, forms.gated, on),
        sampled(batch, s.hidden, forms.sampled, on),
        logits(batch * logit_stride(s.vocabulary)),
        angles(tokens * s.rotated / 2),
        arrived(1) {
    logits.zero(on);  // vocabularies end in the middle of what sampling loads at once
    arrived.zero(on);
  }

  /// Bytes that such a workspace takes.
  static std::size_t bytes(const model::shape& s, const workspace_forms& forms, std::size_t tokens,
                           std::size_t batch) {
    const std::size_t per_token =
        sizeof(float) * (s.hidden + (s.heads + 2 * s.kv_heads) * s.head_dim + s.rotated) +
        activations::bytes_per_token(s.hidden, forms.normed) +
        activations::bytes_per_token(s.heads * s.head_dim, forms.attended) +
        activations::bytes_per_token(s.feed_forward, forms.gated);
    return sizeof(unsigned) + tokens * per_token +
           batch * (activations::bytes_per_token(s.hidden, forms.sampled) +
                    logit_stride(s.vocabulary) * sizeof(float));
  }
};

}  // namespace tenon::cuda
