// What a step takes on a device: the model's forward pass over operations that add up times instead of computing.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "tenon/backend/simulated/kernel_time.hpp"
#include "tenon/backend/simulated/weights.hpp"
#include "tenon/model/llama_forward.hpp"
#include "tenon/model/work.hpp"

namespace tenon::simulated {

/// Kernels, and what they take besides being started.
struct cost {
  double seconds = 0;
  std::size_t kernels = 0;

  void add(double kernel) {
    seconds += kernel;
    ++kernels;
  }
};

/// The operations of a model's forward pass (model::llama_forward) as costs: one kernel each, as in backend::cuda. Attention is
/// only counted, as its cost depends on where the step's tokens are.
class cost_ops {
 public:
  /// A step of so many rows, of which so many are sampled.
  cost_ops(const device::description& device, const model::shape& shape, std::size_t rows,
           std::size_t sampled)
      : device_(device), shape_(shape), rows_(rows), sampled_(sampled) {}

  cost of_rows() const { return of_rows_; }
  cost of_sampled() const { return of_sampled_; }
  std::size_t attention_kernels() const { return attention_kernels_; }

  // Nothing is in there.
  struct nothing {};
  struct workspace_of_nothing {
    nothing hidden, normed, query_key_value, attended, gated, sampled, logits;
  };
  workspace_of_nothing& workspace() { return workspace_; }

  void embed(const matrix& embedding, nothing&) {
    of_rows_.add(moving(device_, static_cast<double>(rows_) * (embedding.row_bytes + 4.0 * hidden())));
  }
  void rope_angles() { of_rows_.add(moving(device_, 4.0 * static_cast<double>(rows_ * shape_.rotated))); }
  void norm(nothing&, vector, float, nothing&) { of_rows_.add(norming(rows_)); }
  void norm_sampled(nothing&, vector, float, nothing&) { of_sampled_.add(norming(sampled_)); }
  void project_query_key_value(nothing&, const matrix& query, const matrix& key, const matrix& value,
                               nothing&) {
    of_rows_.add(product({&query, &key, &value}, true));
  }
  void rope_and_append(std::size_t, nothing&) {
    const double values = static_cast<double>((shape_.heads + 2 * shape_.kv_heads) * shape_.head_dim);
    of_rows_.add(moving(device_, 2 * 2 * static_cast<double>(rows_) * values / ranks()));
  }
  void attention(std::size_t, nothing&, nothing&) { ++attention_kernels_; }
  void project_and_add(nothing&, const matrix& weights, nothing&) {
    of_rows_.add(product({&weights}, false));
    if (device_.ranks > 1) of_rows_.add(all_reduce_time(device_, 2 * static_cast<double>(rows_) * hidden()));
  }
  void project_add_and_norm(nothing& x, const matrix& weights, nothing& out, vector, float, nothing&) {
    project_and_add(x, weights, out);
    of_rows_.seconds += norming(rows_);  // in the same kernel
  }
  void gated_feed_forward(nothing&, const matrix& gate, const matrix& up, nothing&) {
    of_rows_.add(product({&gate, &up}, true));
  }
  /// With the choice of a token, which reads the logits once.
  void project_sampled(nothing&, const matrix& output, nothing&) {
    of_sampled_.add(product_time(device_, size(sampled_, output.rows, output.columns, output.bytes(), true),
                                 output.computes));
    of_sampled_.add(moving(device_, 4.0 * static_cast<double>(sampled_ * output.rows)));
  }

 private:
  double hidden() const { return static_cast<double>(shape_.hidden); }
  double ranks() const { return static_cast<double>(device_.ranks); }
  double norming(std::size_t rows) const {
    return moving(device_, 6.0 * static_cast<double>(rows) * hidden());
  }

  /// Of one rank: outputs are divided among them, or inputs.
  product_size size(std::size_t rows, std::size_t outputs, std::size_t inputs, double bytes,
                    bool by_outputs) const {
    const auto n = static_cast<std::size_t>(device_.ranks);
    const auto share = [n](std::size_t whole) { return (whole + n - 1) / n; };
    return {rows, by_outputs ? share(outputs) : outputs, by_outputs ? inputs : share(inputs),
            bytes / ranks()};
  }
  /// Matrices of the same inputs, as one.
  double product(std::initializer_list<const matrix*> matrices, bool by_outputs) const {
    std::size_t outputs = 0;
    double bytes = 0;
    for (const matrix* each : matrices) outputs += each->rows, bytes += each->bytes();
    const matrix& first = **matrices.begin();
    return product_time(device_, size(rows_, outputs, first.columns, bytes, by_outputs), first.computes);
  }

  const device::description& device_;
  const model::shape& shape_;
  std::size_t rows_, sampled_;
  cost of_rows_, of_sampled_;
  std::size_t attention_kernels_ = 0;
  workspace_of_nothing workspace_;
};

/// Seconds of steps of one model on one device. What depends on the number of rows alone is computed once for each number.
class step_time {
 public:
  /// For steps of up to `max_rows` rows, `max_sampled` of them sampled; `kv_token` is a position's bytes of all layers.
  step_time(const device::description& device, const model::shape& shape, llama_weights weights,
            double kv_token, std::size_t max_rows, std::size_t max_sampled)
      : device_(device),
        shape_(shape),
        weights_(std::move(weights)),
        kv_token_(kv_token),
        rows_(max_rows + 1),
        sampled_(max_sampled + 1) {}

  /// A step that computes what is counted, as a graph or with its kernels started one by one.
  double seconds(const model::step_counts& step, bool as_graph) {
    const cost& rows = of_rows(step.tokens);
    const cost& sampled = of_sampled(step.sampled);
    const std::size_t kernels = rows.kernels + sampled.kernels + attention_kernels_;
    return rows.seconds + sampled.seconds + attention(step) +
           static_cast<double>(kernels) * (as_graph ? device_.graph_launch : device_.eager_launch);
  }

  /// Attention of all layers: it reads the keys and values that its spans see, and multiplies them.
  double attention(const model::step_counts& step) const {
    const double query = static_cast<double>(shape_.layers * shape_.heads * shape_.head_dim);
    const double moved =
        kv_token_ * static_cast<double>(step.read) + 4 * query * static_cast<double>(step.tokens);
    const double computed = 4 * query * static_cast<double>(step.attended);
    return (std::max)(moving(device_, moved), computed / (device_.attention_efficiency * device_.flops_16)) /
           static_cast<double>(device_.ranks);
  }

  const llama_weights& weights() const { return weights_; }

 private:
  const cost& of_rows(std::size_t count) {
    cost& known = rows_.at(count);
    if (known.kernels == 0) {
      cost_ops ops(device_, shape_, count, 0);
      model::llama_forward(ops, weights_, 0);
      known = ops.of_rows();
      attention_kernels_ = ops.attention_kernels();
    }
    return known;
  }
  const cost& of_sampled(std::size_t count) {
    static constexpr cost none;
    if (count == 0) return none;
    cost& known = sampled_.at(count);
    if (known.kernels == 0) {
      cost_ops ops(device_, shape_, 0, count);
      model::llama_forward(ops, weights_, 0);
      known = ops.of_sampled();
    }
    return known;
  }

  device::description device_;
  model::shape shape_;
  llama_weights weights_;
  double kv_token_;
  std::vector<cost> rows_, sampled_;
  std::size_t attention_kernels_ = 0;
};

}  // namespace tenon::simulated
