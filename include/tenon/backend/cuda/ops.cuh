// The CUDA backend's operations, bound to one step: what the models' forward passes call. Each puts its kernels on the
// stream; nothing waits.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "tenon/backend/cuda/kernel/attention.cuh"
#include "tenon/backend/cuda/kernel/embed.cuh"
#include "tenon/backend/cuda/kernel/norm.cuh"
#include "tenon/backend/cuda/kernel/rope.cuh"
#include "tenon/backend/cuda/kv_store.hpp"
#include "tenon/backend/cuda/load.hpp"
#include "tenon/backend/cuda/products.cuh"
#include "tenon/backend/cuda/step_inputs.cuh"
#include "tenon/backend/cuda/workspace.hpp"
#include "tenon/model/llama.hpp"
#include "tenon/policy/precision.hpp"

namespace tenon::cuda {

/// What the operations of a step work on. The counts are those that the kernels are launched for.
template <precision::policy Precision, class View, class Request, class Products>
struct step_context {
  const stream& on;
  const model::description& description;
  cuda::workspace& workspace;
  attention_memory& attention;
  Products& products;
  kv_store<typename Precision::key, typename Precision::value>& cache;
  const step_arrays<View, Request>& inputs;
  std::size_t tokens;
  std::size_t sampled;
  attention_extent extent;
};

/// Calls f.template operator()<HeadSize>() for the size that the attention kernels have for heads of `head_dim`: the only one
/// that a model with a fixed shape compiles.
template <class Model, class F>
void with_head_size(std::size_t head_dim, F&& f) {
  if constexpr (Model::has_fixed_shape) {
    f.template operator()<attention_head_size(static_cast<int>(Model::shape.head_dim))>();
  } else {
    switch (attention_head_size(static_cast<int>(head_dim))) {
      case 64:
        return f.template operator()<64>();
      case 80:
        return f.template operator()<80>();
      case 96:
        return f.template operator()<96>();
      case 128:
        return f.template operator()<128>();
      default:
        return f.template operator()<256>();
    }
  }
}

template <class Model, precision::policy Precision, class View, class Request, class Instrumentation,
          class Products>
class ops {
  using key = typename Precision::key;
  using value = typename Precision::value;
  using formats = typename Precision::weight_formats;
  using range = typename Instrumentation::range;

 public:
  using context = step_context<Precision, View, Request, Products>;
  explicit ops(const context& step) : c_(step) {}

  cuda::workspace& workspace() { return c_.workspace; }

  void embed(const matrix& embedding, device_buffer<float>& hidden) {
    const range stage("embed");
    formats::visit(embedding.format, [&]<class Format>() {
      cuda::embed<Format>(c_.on, embedding.records, c_.inputs.tokens, c_.tokens, embedding.columns,
                          hidden.data());
    });
  }
  void rope_angles() {
    const range stage("rope_angles");
    // named: nvcc 13.0 gives g++ a broken call when the braces are an argument
    const rope_angle_parameters p{c_.inputs.positions, c_.workspace.angles.data(),
                                  static_cast<int>(shape().rotated / 2), c_.description.constants.rope_base};
    cuda::rope_angles(c_.on, p, c_.tokens);
  }
  void norm(const device_buffer<float>& hidden, const vector& weight, float epsilon, activations& normed) {
    const range stage("norm");
    cuda::norm(c_.on, norm_of(hidden, nullptr, weight, epsilon, normed), c_.tokens);
  }
  void norm_sampled(const device_buffer<float>& hidden, const vector& weight, float epsilon,
                    activations& normed) {
    const range stage("norm_sampled");
    cuda::norm(c_.on, norm_of(hidden, c_.inputs.sampled_rows, weight, epsilon, normed), c_.sampled);
  }
  void project_query_key_value(activations& x, const matrix& query, const matrix& key, const matrix& value,
                               device_buffer<float>& out) {
    const range stage("project_query_key_value");
    c_.products.store(c_.on, std::array{&query, &key, &value}, x.view(), c_.tokens, out.data(),
                      (shape().heads + 2 * shape().kv_heads) * shape().head_dim);
  }
  void rope_and_append(std::size_t layer, device_buffer<float>& query_key_value) {
    const range stage("rope_and_append");
    const model::shape& s = shape();
    const rope_append_parameters<View> p{query_key_value.data(),
                                         c_.workspace.angles.data(),
                                         c_.inputs.positions,
                                         c_.inputs.span_of,
                                         c_.inputs.views,
                                         c_.cache.layer(layer),
                                         static_cast<int>(s.heads),
                                         static_cast<int>(s.kv_heads),
                                         static_cast<int>(s.head_dim),
                                         static_cast<int>(s.rotated),
                                         1.0f / std::sqrt(static_cast<float>(s.head_dim))};
    rope_append<key, value, View>(c_.on, p, c_.tokens);
  }
  void attention(std::size_t layer, const device_buffer<float>& query_key_value, activations& attended) {
    const range stage("attention");
    const model::shape& s = shape();
    const attention_parameters<View> p{
        query_key_value.data(),      c_.inputs.spans, c_.inputs.views,           c_.cache.layer(layer),
        c_.attention.view(),         attended.view(), static_cast<int>(s.heads), static_cast<int>(s.kv_heads),
        static_cast<int>(s.head_dim)};
    with_head_size<Model>(s.head_dim, [&]<int HeadSize>() {
      cuda::attention<HeadSize, key, value, full_attention>(c_.on, p, c_.extent);
    });
  }
  void project_and_add(activations& x, const matrix& weights, device_buffer<float>& hidden) {
    const range stage("project_and_add");
    c_.products.add(c_.on, weights, x.view(), c_.tokens, hidden.data());
  }
  void project_add_and_norm(activations& x, const matrix& weights, device_buffer<float>& hidden,
                            const vector& norm_weight, float epsilon, activations& normed) {
    const range stage("project_add_and_norm");
    c_.products.add_and_norm(c_.on, weights, x.view(), c_.tokens, hidden.data(),
                             norm_of(hidden, nullptr, norm_weight, epsilon, normed),
                             c_.workspace.arrived.data());
  }
  void gated_feed_forward(activations& x, const matrix& gate, const matrix& up, activations& gated) {
    const range stage("gated_feed_forward");
    c_.products.swiglu(c_.on, gate, up, x.view(), c_.tokens, gated.view());
  }
  void project_sampled(activations& x, const matrix& output, device_buffer<float>& logits) {
    const range stage("project_sampled");
    c_.products.store(c_.on, std::array{&output}, x.view(), c_.sampled, logits.data(),
                      logit_stride(output.rows));
  }

 private:
  const model::shape& shape() const { return c_.description.shape; }
  norm_parameters norm_of(const device_buffer<float>& hidden, const int* rows, const vector& weight,
                          float epsilon, activations& normed) const {
    return {hidden.data(), rows, weight.values, normed.view(), static_cast<int>(weight.size), epsilon};
  }

  context c_;
};

/// The forms of activations that a model's matrices read, place by place.
template <class Products>
workspace_forms forms_of(const llama_weights& weights) {
  const auto reads = [](const matrix& m) { return Products::reads(m.format); };
  workspace_forms all;
  all.sampled = reads(weights.output());
  for (const auto& layer : weights.layers) {
    for (const matrix* each : {&layer.query, &layer.key, &layer.value, &layer.gate, &layer.up})
      all.normed = all.normed | reads(*each);
    all.attended = all.attended | reads(layer.attention_output);
    all.gated = all.gated | reads(layer.down);
  }
  return all;
}

}  // namespace tenon::cuda
