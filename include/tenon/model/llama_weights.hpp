// The weights of a Llama-family model, by name, and where a file keeps them. The matrix type is the
// backend's.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/core/concat.hpp"
#include "tenon/core/error.hpp"
#include "tenon/io/gguf.hpp"
#include "tenon/model/shape.hpp"

namespace tenon::model {

/// One decoder layer. Matrices are [outputs, inputs].
template <class Matrix, class Vector>
struct llama_layer {
  Vector attention_norm;     // [hidden]
  Matrix query;              // [heads * head_dim, hidden]
  Matrix key;                // [kv_heads * head_dim, hidden]
  Matrix value;              // [kv_heads * head_dim, hidden]
  Matrix attention_output;   // [hidden, heads * head_dim]
  Vector feed_forward_norm;  // [hidden]
  Matrix gate;               // [feed_forward, hidden]
  Matrix up;                 // [feed_forward, hidden]
  Matrix down;               // [hidden, feed_forward]
};

template <class Matrix, class Vector>
struct llama_weights {
  Matrix embedding;  // [vocabulary, hidden]
  std::vector<llama_layer<Matrix, Vector>> layers;
  Vector output_norm;      // [hidden]
  Matrix separate_output;  // [vocabulary, hidden]; empty when tied
  bool tied_output = true;

  const Matrix& output() const { return tied_output ? embedding : separate_output; }
};

/// A tensor of the file and the shape that the model gives it.
struct tensor_use {
  const io::gguf_tensor* tensor;
  std::size_t rows;     // 0 for a vector
  std::size_t columns;  // length of a row, or of the vector
};

/// The file's tensors in the order in which the model uses them; each found and of the right shape.
class llama_tensors {
 public:
  [[gnu::cold]] llama_tensors(const io::gguf_file& file, const shape& shape) : file_(file), shape_(shape) {
    const std::size_t query = shape.heads * shape.head_dim, key_value = shape.kv_heads * shape.head_dim;
    add("token_embd.weight", shape.vocabulary, shape.hidden);
    for (std::size_t i = 0; i < shape.layers; ++i) {
      const auto add_to_layer = [&](const char* name, std::size_t rows, std::size_t columns) {
        add(concat("blk.", i, ".", name), rows, columns);
      };
      add_to_layer("attn_norm.weight", 0, shape.hidden);
      add_to_layer("attn_q.weight", query, shape.hidden);
      add_to_layer("attn_k.weight", key_value, shape.hidden);
      add_to_layer("attn_v.weight", key_value, shape.hidden);
      add_to_layer("attn_output.weight", shape.hidden, query);
      add_to_layer("ffn_norm.weight", 0, shape.hidden);
      add_to_layer("ffn_gate.weight", shape.feed_forward, shape.hidden);
      add_to_layer("ffn_up.weight", shape.feed_forward, shape.hidden);
      add_to_layer("ffn_down.weight", shape.hidden, shape.feed_forward);
    }
    add("output_norm.weight", 0, shape.hidden);
    if (!shape.tied_output) add("output.weight", shape.vocabulary, shape.hidden);
    refuse_what_is_not_computed();
  }

  const std::vector<tensor_use>& uses() const { return uses_; }

  /// Moves loaded parts into place: `matrix(use)` and `vector(use)` are called in the order of uses().
  template <class Matrix, class Vector, class LoadMatrix, class LoadVector>
  llama_weights<Matrix, Vector> load(LoadMatrix&& matrix, LoadVector&& vector) const {
    std::size_t next = 0;
    llama_weights<Matrix, Vector> made;
    made.embedding = matrix(uses_[next++]);
    made.layers.resize(shape_.layers);
    for (llama_layer<Matrix, Vector>& layer : made.layers) {
      layer.attention_norm = vector(uses_[next++]);
      layer.query = matrix(uses_[next++]);
      layer.key = matrix(uses_[next++]);
      layer.value = matrix(uses_[next++]);
      layer.attention_output = matrix(uses_[next++]);
      layer.feed_forward_norm = vector(uses_[next++]);
      layer.gate = matrix(uses_[next++]);
      layer.up = matrix(uses_[next++]);
      layer.down = matrix(uses_[next++]);
    }
    made.output_norm = vector(uses_[next++]);
    made.tied_output = shape_.tied_output;
    if (!shape_.tied_output) made.separate_output = matrix(uses_[next++]);
    return made;
  }

 private:
  [[gnu::cold]] void add(const std::string& name, std::size_t rows, std::size_t columns) {
    const io::gguf_tensor* tensor = file_.find_tensor(name);
    if (tensor == nullptr) {
      throw file_.fault(0, concat("the tensor '", name, "' is missing; convert the model again"));
    }
    const auto dimensions = tensor->dimensions();
    const bool fits = rows == 0 ? dimensions.size() == 1 && dimensions[0] == columns
                                : dimensions.size() == 2 && dimensions[0] == columns && dimensions[1] == rows;
    if (!fits) {
      const std::string wanted = rows == 0 ? concat(columns) : concat(columns, " x ", rows);
      std::string is;
      for (const std::uint64_t d : dimensions) is += concat(is.empty() ? "" : " x ", d);
      throw file_.fault(tensor->offset,
                        concat("the tensor '", name, "' is ", is, ", but the metadata make it ", wanted,
                               "; convert the model again"));
    }
    uses_.push_back({tensor, rows, columns});
  }

  /// A tensor inside a layer that the forward pass would leave out makes another model of it.
  [[gnu::cold]] void refuse_what_is_not_computed() const {
    for (const io::gguf_tensor& tensor : file_.tensors()) {
      const bool matters = tensor.name.starts_with("blk.") || tensor.name.starts_with("rope_") ||
                           tensor.name == "output.bias" || tensor.name == "output_norm.bias";
      if (!matters || used(tensor)) continue;
      throw file_.fault(tensor.offset, concat("the tensor '", tensor.name,
                                              "' has no place in a Llama model as this engine computes it"));
    }
  }
  bool used(const io::gguf_tensor& tensor) const {
    for (const tensor_use& use : uses_) {
      if (use.tensor == &tensor) return true;
    }
    return false;
  }

  const io::gguf_file& file_;
  shape shape_;
  std::vector<tensor_use> uses_;
};

}  // namespace tenon::model
