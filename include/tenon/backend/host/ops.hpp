// The host backend's operations, bound to one step: what the models' forward passes call.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <type_traits>

#include "tenon/backend/host/context.hpp"
#include "tenon/backend/host/kv_store.hpp"
#include "tenon/backend/host/matrix.hpp"
#include "tenon/backend/host/op/attention.hpp"
#include "tenon/backend/host/op/matmul.hpp"
#include "tenon/backend/host/op/norm.hpp"
#include "tenon/backend/host/op/rope.hpp"
#include "tenon/backend/host/workspace.hpp"

namespace tenon::host {

/// One thread's handle on a step. All threads of the team call the same operations in the same order.
template <class Isa, precision::policy Precision, cache::layout_view View, class Heads>
class ops {
  using product = products<Isa, typename Precision::weight_formats, typename Precision::activation>;

 public:
  using store = kv_store<typename Precision::key, typename Precision::value>;

  ops(op_context context, host::workspace& workspace, store& cache, const step_plan& plan,
      std::span<const View> views, const Heads& heads, double rope_base)
      : context_(context),
        workspace_(workspace),
        cache_(cache),
        plan_(plan),
        views_(views),
        heads_(heads),
        rope_base_(rope_base) {}

  host::workspace& workspace() { return workspace_; }

  void embed(const matrix& embedding, buffer<float>& hidden) {
    host::embed<Isa, typename Precision::weight_formats>(context_, embedding, plan_.tokens, hidden.data());
  }
  void rope_angles() {
    host::rope_angles(context_, plan_.positions, heads_.rotated, rope_base_, workspace_.cosines.data(),
                      workspace_.sines.data());
  }
  void norm(const buffer<float>& hidden, const buffer<float>& weight, float epsilon, activations& normed) {
    host::norm<Isa, typename Precision::activation>(context_, hidden.data(), plan_.tokens.size(),
                                                    {weight.data(), weight.size()}, epsilon, normed);
  }
  void norm_sampled(const buffer<float>& hidden, const buffer<float>& weight, float epsilon,
                    activations& normed) {
    host::norm_rows<Isa, typename Precision::activation>(context_, hidden.data(), plan_.sampled_rows,
                                                         {weight.data(), weight.size()}, epsilon, normed);
  }
  void project_query_key_value(const activations& x, const matrix& query, const matrix& key,
                               const matrix& value, buffer<float>& out) {
    product::store(context_, std::array{&query, &key, &value}, x, plan_.tokens.size(), out.data(),
                   heads_.width());
  }
  void rope_and_append(std::size_t layer, buffer<float>& query_key_value) {
    host::rope_and_append<Isa>(context_, plan_, views_, heads_, workspace_.cosines.data(),
                               workspace_.sines.data(), layer, query_key_value.data(), cache_);
  }
  void attention(std::size_t layer, const buffer<float>& query_key_value, activations& attended) {
    float* results = workspace_.attention_results.data();
    host::attention<Isa>(context_, plan_, views_, heads_, layer, query_key_value.data(), cache_, results);
    prepare<Isa, typename Precision::activation>(context_, results, plan_.tokens.size(),
                                                 heads_.heads * heads_.head_dim, attended);
  }
  void project_and_add(const activations& x, const matrix& weights, buffer<float>& hidden) {
    product::add(context_, weights, x, plan_.tokens.size(), hidden.data());
  }
  void project_add_and_norm(const activations& x, const matrix& weights, buffer<float>& hidden,
                            const buffer<float>& norm_weight, float epsilon, activations& normed) {
    project_and_add(x, weights, hidden);
    norm(hidden, norm_weight, epsilon, normed);
  }
  void gated_feed_forward(const activations& x, const matrix& gate, const matrix& up, activations& gated) {
    product::swiglu(context_, gate, up, x, plan_.tokens.size(), gated);
  }
  void project_sampled(const activations& x, const matrix& output, buffer<float>& logits) {
    product::store(context_, std::array{&output}, x, plan_.sampled_rows.size(), logits.data(), output.rows);
  }

 private:
  op_context context_;
  host::workspace& workspace_;
  store& cache_;
  const step_plan& plan_;
  std::span<const View> views_;
  const Heads& heads_;
  double rope_base_;
};

}  // namespace tenon::host
