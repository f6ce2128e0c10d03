// A whole model of the llama family, straight from a GGUF file: every weight is decoded to fp32, sums are in
// fp64. It is what engines are held against. A paragraph of forward() is a step of the paper; nothing is
// fused, batched or planned.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "reference/ops.hpp"
#include "tenon/core/types.hpp"
#include "tenon/format/all.hpp"
#include "tenon/format/format.hpp"
#include "tenon/io/gguf.hpp"

namespace tenon::reference {

/// A tensor of a GGUF file in fp32, row major: [all dimensions but the fastest][fastest].
inline std::vector<float> decode_tensor(const io::gguf_tensor& tensor) {
  std::size_t count = 1;
  for (const std::uint64_t dimension : tensor.dimensions()) count *= static_cast<std::size_t>(dimension);
  std::vector<float> values(count);
  const auto decode_if = [&]<class F>(F) {
    if (tensor.type != F::gguf_type) return false;
    require(tensor.data.size() == row_bytes<F>(count), "decode_tensor: as many bytes as the shape asks for");
    decode_row<F>(tensor.data.data(), values.data(), count);
    return true;
  };
  const bool decoded = decode_if(f32{}) || decode_if(f16{}) || decode_if(bf16{}) || decode_if(q8_0{}) ||
                       decode_if(q4_0{}) || decode_if(q4_1{});
  if (!decoded)
    throw std::invalid_argument("the reference does not decode tensor " + std::string(tensor.name));
  return values;
}

/// The reference model. Usable for tests: about a second for twenty tokens of a model of 135 million weights.
class reference_llama {
 public:
  /// With a window, a token sees that many positions up to its own, and the first `sinks`.
  explicit reference_llama(const io::gguf_file& file, std::size_t window = 0, std::size_t sinks = 0)
      : window_(window), sinks_(sinks) {
    const auto number = [&](const char* key) {
      return static_cast<std::size_t>(file.get<std::uint64_t>(std::string("llama.") + key));
    };
    const auto number_or = [&](const char* key, std::size_t otherwise) {
      const auto found = file.find<std::uint64_t>(std::string("llama.") + key);
      return found ? static_cast<std::size_t>(*found) : otherwise;
    };
    width_ = number("embedding_length");
    heads_.heads = number("attention.head_count");
    heads_.kv_heads = number_or("attention.head_count_kv", heads_.heads);
    heads_.key_size = number_or("attention.key_length", width_ / heads_.heads);
    heads_.value_size = number_or("attention.value_length", heads_.key_size);
    epsilon_ = static_cast<double>(file.get<float>("llama.attention.layer_norm_rms_epsilon"));
    rope_.head_size = heads_.key_size;
    rope_.rotated = number_or("rope.dimension_count", heads_.key_size);
    rope_.base = static_cast<double>(file.find<float>("llama.rope.freq_base").value_or(10000.0f));
    if (const auto* factors = file.find_tensor("rope_freqs.weight")) rope_.factors = decode_tensor(*factors);
    require(number_or("attention.sliding_window", window_) == window_,
            "the reference's window is the model's");

    const auto tensor = [&](const std::string& name) {
      const io::gguf_tensor* found = file.find_tensor(name);
      if (found == nullptr) throw std::invalid_argument("the reference misses tensor " + name);
      return decode_tensor(*found);
    };
    embedding_ = tensor("token_embd.weight");
    output_norm_ = tensor("output_norm.weight");
    if (file.find_tensor("output.weight") != nullptr) output_ = tensor("output.weight");  // else tied
    layers_.resize(number("block_count"));
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      const std::string block = "blk." + std::to_string(i) + ".";
      layer& l = layers_[i];
      l.attention_norm = tensor(block + "attn_norm.weight");
      l.q = tensor(block + "attn_q.weight");
      l.k = tensor(block + "attn_k.weight");
      l.v = tensor(block + "attn_v.weight");
      l.attention_output = tensor(block + "attn_output.weight");
      l.ffn_norm = tensor(block + "ffn_norm.weight");
      l.gate = tensor(block + "ffn_gate.weight");
      l.up = tensor(block + "ffn_up.weight");
      l.down = tensor(block + "ffn_down.weight");
    }
  }

  /// Each head's keys and values become what these make of them, as a cache of fewer bits would hold them.
  using rounding = std::vector<float> (*)(std::span<const float>);
  void round_cache(rounding key, rounding value) {
    round_key_ = key;
    round_value_ = value;
  }

  std::size_t vocabulary() const { return embedding_.size() / width_; }

  /// The logits after the last of ids: [vocabulary].
  std::vector<float> logits(std::span<const token_id> ids) const {
    history past;
    return last_logits(forward(ids, past));
  }

  /// The logits after each of ids: [ids][vocabulary].
  std::vector<std::vector<float>> all_logits(std::span<const token_id> ids) const {
    history past;
    const std::vector<float> x = forward(ids, past);
    const std::vector<float> flat = matmul(normed(x, output_norm_), output(), width_);
    std::vector<std::vector<float>> rows;
    for (std::size_t i = 0; i < flat.size(); i += vocabulary())
      rows.emplace_back(flat.begin() + static_cast<std::ptrdiff_t>(i),
                        flat.begin() + static_cast<std::ptrdiff_t>(i + vocabulary()));
    return rows;
  }

  /// The n tokens that follow ids when the likeliest is always taken (the lowest id on a tie). No token ends
  /// it.
  std::vector<token_id> greedy(std::span<const token_id> ids, std::size_t n) const {
    std::vector<token_id> tokens;
    history past;
    while (tokens.size() < n) {
      const std::vector<float> x =
          tokens.empty() ? forward(ids, past) : forward(std::span<const token_id>(&tokens.back(), 1), past);
      tokens.push_back(argmax(last_logits(x)));
    }
    return tokens;
  }

 private:
  /// Weights are [outputs][inputs], norms [width].
  struct layer {
    std::vector<float> attention_norm, q, k, v, attention_output, ffn_norm, gate, up, down;
  };

  /// K and V of the positions so far, for each layer [positions][kv_heads][head size].
  struct history {
    std::vector<std::vector<float>> keys, values;
    std::size_t positions = 0;
  };

  /// rms_norm of every row of x [tokens][width].
  std::vector<float> normed(std::span<const float> x, std::span<const float> weight) const {
    std::vector<float> result;
    result.reserve(x.size());
    for (std::size_t row = 0; row < x.size(); row += width_) {
      const std::vector<float> y = rms_norm(x.subspan(row, width_), weight, epsilon_);
      result.insert(result.end(), y.begin(), y.end());
    }
    return result;
  }

  static void add(std::vector<float>& x, std::span<const float> y) {
    for (std::size_t i = 0; i < x.size(); ++i) x[i] += y[i];
  }

  static void round_heads(std::vector<float>& x, std::size_t size, rounding round) {
    if (round == nullptr) return;
    for (std::size_t at = 0; at < x.size(); at += size) {
      const std::vector<float> head = round(std::span<const float>(x).subspan(at, size));
      std::copy(head.begin(), head.end(), x.begin() + static_cast<std::ptrdiff_t>(at));
    }
  }

  /// Rotates row t of x for position first + t.
  void rotate(std::vector<float>& x, std::size_t tokens, std::size_t first) const {
    const std::size_t row = x.size() / tokens;
    for (std::size_t t = 0; t < tokens; ++t) rope(std::span(x).subspan(t * row, row), rope_, first + t);
  }

  /// Runs ids behind the positions of `past` and appends them to it: the last layer's result [ids][width],
  /// not normed.
  std::vector<float> forward(std::span<const token_id> ids, history& past) const {
    require(!ids.empty(), "reference_llama: at least one token");
    past.keys.resize(layers_.size());
    past.values.resize(layers_.size());
    const double scale = 1.0 / std::sqrt(static_cast<double>(heads_.key_size));

    std::vector<float> x = embedding(ids, embedding_, width_);
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      const layer& l = layers_[i];

      std::vector<float> h = normed(x, l.attention_norm);
      std::vector<float> q = matmul(h, l.q, width_);
      std::vector<float> k = matmul(h, l.k, width_);
      std::vector<float> v = matmul(h, l.v, width_);
      rotate(q, ids.size(), past.positions);
      rotate(k, ids.size(), past.positions);
      round_heads(k, heads_.key_size, round_key_);
      round_heads(v, heads_.value_size, round_value_);
      past.keys[i].insert(past.keys[i].end(), k.begin(), k.end());
      past.values[i].insert(past.values[i].end(), v.begin(), v.end());

      std::vector<float> seen;  // [tokens][heads][value_size]
      for (std::size_t t = 0; t < ids.size(); ++t) {
        const std::size_t row = heads_.heads * heads_.key_size, position = past.positions + t;
        const std::size_t key_row = heads_.kv_heads * heads_.key_size;
        const std::vector<float> seen_keys = seen_rows(past.keys[i], key_row, position, window_, sinks_);
        const std::vector<float> seen_values =
            seen_rows(past.values[i], heads_.kv_heads * heads_.value_size, position, window_, sinks_);
        const std::vector<float> head_rows =
            attention(std::span<const float>(q).subspan(t * row, row), seen_keys, seen_values, heads_,
                      seen_keys.size() / key_row, scale);
        seen.insert(seen.end(), head_rows.begin(), head_rows.end());
      }
      add(x, matmul(seen, l.attention_output, heads_.heads * heads_.value_size));

      h = normed(x, l.ffn_norm);
      const std::vector<float> inner = swiglu(matmul(h, l.gate, width_), matmul(h, l.up, width_));
      add(x, matmul(inner, l.down, l.down.size() / width_));
    }
    past.positions += ids.size();
    return x;
  }

  std::vector<float> last_logits(std::span<const float> x) const {
    return matmul(normed(x.last(width_), output_norm_), output(), width_);
  }

  /// [vocabulary][width]; the embedding's own table where the file has no other.
  std::span<const float> output() const { return output_.empty() ? embedding_ : output_; }

  std::size_t window_, sinks_;
  rounding round_key_ = nullptr, round_value_ = nullptr;
  std::size_t width_ = 0;
  double epsilon_ = 0;
  attention_shape heads_{.heads = 1, .kv_heads = 1, .key_size = 0, .value_size = 0};
  rope_shape rope_{.head_size = 0, .rotated = 0};
  std::vector<float> embedding_, output_norm_, output_;
  std::vector<layer> layers_;
};

}  // namespace tenon::reference
