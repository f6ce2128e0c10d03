// The forward pass of the Llama family, over a step plan and a backend's ops.
#pragma once

#include <cstddef>

#include "tenon/model/llama_weights.hpp"

namespace tenon::model {

/// Runs one step: afterwards the logits of the plan's sampled rows are in the backend's workspace. `Ops` is a
/// backend's set of operations, bound to the step's plan, cache and workspace; each op ends with its result
/// visible to the next. A product and the norm behind it are one op, as a backend may make one pass of them.
template <class Ops, class Matrix, class Vector>
void llama_forward(Ops& ops, const llama_weights<Matrix, Vector>& weights, float epsilon) {
  auto& w = ops.workspace();
  ops.embed(weights.embedding, w.hidden);
  ops.rope_angles();
  ops.norm(w.hidden, weights.layers.front().attention_norm, epsilon, w.normed);
  for (std::size_t layer = 0; layer < weights.layers.size(); ++layer) {
    const llama_layer<Matrix, Vector>& l = weights.layers[layer];
    ops.project_query_key_value(w.normed, l.query, l.key, l.value, w.query_key_value);
    ops.rope_and_append(layer, w.query_key_value);
    ops.attention(layer, w.query_key_value, w.attended);
    ops.project_add_and_norm(w.attended, l.attention_output, w.hidden, l.feed_forward_norm, epsilon,
                             w.normed);
    ops.gated_feed_forward(w.normed, l.gate, l.up, w.gated);
    if (layer + 1 < weights.layers.size()) {
      ops.project_add_and_norm(w.gated, l.down, w.hidden, weights.layers[layer + 1].attention_norm, epsilon,
                               w.normed);
    } else {
      ops.project_and_add(w.gated, l.down, w.hidden);
    }
  }
  ops.norm_sampled(w.hidden, weights.output_norm, epsilon, w.sampled);
  ops.project_sampled(w.sampled, weights.output(), w.logits);
}

}  // namespace tenon::model
