// The Llama family: pre-norm decoder with RMS norm, rotary embedding, grouped-query attention and SwiGLU
// (Touvron et al. 2023, arXiv 2302.13971 and 2307.09288). Here: the model policies, and how a file's metadata
// becomes a shape.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

#include "tenon/core/concat.hpp"
#include "tenon/core/error.hpp"
#include "tenon/core/fixed_string.hpp"
#include "tenon/io/gguf.hpp"
#include "tenon/model/shape.hpp"
#include "tenon/policy/slot.hpp"

namespace tenon::model {

/// Llama 2 and 3, Mistral, SmolLM, TinyLlama: files whose general.architecture is "llama". The shape is read
/// at run time.
struct llama {
  using slot = tenon::slot::model;
  static constexpr auto name = fixed_string("llama");
  static constexpr std::string_view architecture = "llama";
  static constexpr bool has_fixed_shape = false;
};

/// A family with its shape known at build time; a file of another shape is refused when it is loaded.
template <class Family, model::shape Shape>
struct fixed_shape {
  using slot = tenon::slot::model;
  static constexpr auto name = Family::name + " (" + decimal<Shape.layers>() + " layers of " +
                               decimal<Shape.hidden>() + ", " + decimal<Shape.heads>() + "/" +
                               decimal<Shape.kv_heads>() + " heads of " + decimal<Shape.head_dim>() + ")";
  static constexpr std::string_view architecture = Family::architecture;
  static constexpr bool has_fixed_shape = true;
  static constexpr model::shape shape = Shape;
};

/// What a model policy must have: the architecture's name in GGUF files, and whether its shape is fixed.
template <class P>
concept policy = engine_policy<P> && requires {
  { P::architecture } -> std::convertible_to<std::string_view>;
  { P::has_fixed_shape } -> std::convertible_to<bool>;
};

/// Shape and constants as a file states them.
struct description {
  model::shape shape;
  model::constants constants;
};

namespace detail {

/// Reads the family's keys ("llama.block_count" for "block_count") and refuses what cannot be.
class key_reader {
 public:
  key_reader(const io::gguf_file& file, std::string_view architecture)
      : file_(file), prefix_(concat(architecture, ".")) {}

  std::string key(std::string_view name) const { return concat(prefix_, name); }

  /// A whole number in [1, most].
  [[gnu::cold]] std::size_t size(std::string_view name, std::size_t most = std::size_t{1} << 24) const {
    return checked(name, file_.get<std::uint64_t>(key(name)), most);
  }
  [[gnu::cold]] std::size_t size_or(std::string_view name, std::size_t fallback) const {
    const auto value = file_.find<std::uint64_t>(key(name));
    return value ? checked(name, *value, std::size_t{1} << 24) : fallback;
  }
  [[gnu::cold]] double positive(std::string_view name, double value) const {
    if (!(value > 0.0) || !std::isfinite(value)) {
      throw fault(name, concat("is ", std::to_string(value), " but must be a positive number"));
    }
    return value;
  }
  [[gnu::cold]] load_error fault(std::string_view name, const std::string& what) const {
    const std::string full = key(name);
    return file_.fault(file_.contains(full) ? file_.offset_of(full) : 0,
                       concat("'", full, "' ", what, "; convert the model again"));
  }

 private:
  [[gnu::cold]] std::size_t checked(std::string_view name, std::uint64_t value, std::size_t most) const {
    if (value < 1 || value > most) {
      throw fault(name, concat("is ", value, " but must be from 1 to ", most));
    }
    return static_cast<std::size_t>(value);
  }

  const io::gguf_file& file_;
  std::string prefix_;
};

}  // namespace detail

/// Reads and checks the metadata of a Llama-family file for an engine whose tokens see `window` positions, or everything
/// (0). Throws load_error for what is missing, out of range, or asks for something that this family or engine does not
/// compute (scaled rotary embedding, another window, experts).
[[gnu::cold]] inline description describe_llama(const io::gguf_file& file, std::size_t window = 0) {
  const auto architecture = file.get<std::string_view>("general.architecture");
  if (architecture != llama::architecture) {
    throw file.fault(
        file.offset_of("general.architecture"),
        concat("the architecture is '", architecture, "', but this engine was built for 'llama'"));
  }
  const detail::key_reader keys(file, architecture);
  description read;
  model::shape& s = read.shape;
  s.layers = keys.size("block_count", file.tensors().size());
  s.hidden = keys.size("embedding_length");
  s.heads = keys.size("attention.head_count", s.hidden * 64);
  s.kv_heads = keys.size_or("attention.head_count_kv", s.heads);
  if (s.kv_heads > s.heads || s.heads % s.kv_heads != 0) {
    throw keys.fault("attention.head_count_kv",
                     concat("is ", s.kv_heads, ", which does not divide the ", s.heads, " query heads"));
  }
  if (!file.contains(keys.key("attention.key_length")) && s.hidden % s.heads != 0) {
    throw keys.fault("embedding_length", concat("is ", s.hidden, ", which is no multiple of the ", s.heads,
                                                " heads, and there is no key_length"));
  }
  s.head_dim = keys.size_or("attention.key_length", s.hidden / s.heads);
  const std::size_t value_dim = keys.size_or("attention.value_length", s.head_dim);
  if (value_dim != s.head_dim) {
    throw keys.fault(
        "attention.value_length",
        concat("is ", value_dim, ", but this engine needs it to be the key length, ", s.head_dim));
  }
  s.rotated = keys.size_or("rope.dimension_count", s.head_dim);
  if (s.rotated % 2 != 0 || s.rotated > s.head_dim) {
    throw keys.fault("rope.dimension_count",
                     concat("is ", s.rotated, " but must be even and at most the head size, ", s.head_dim));
  }
  s.feed_forward = keys.size("feed_forward_length");
  s.context = keys.size("context_length", std::size_t{1} << 32);
  read.constants.norm_epsilon = static_cast<float>(keys.positive(
      "attention.layer_norm_rms_epsilon", file.get<float>(keys.key("attention.layer_norm_rms_epsilon"))));
  read.constants.rope_base =
      keys.positive("rope.freq_base", file.find<float>(keys.key("rope.freq_base")).value_or(10000.0f));

  const auto scaling = file.find<std::string_view>(keys.key("rope.scaling.type")).value_or("none");
  if (scaling != "none" || file.contains(keys.key("rope.scale_linear"))) {
    throw keys.fault("rope.scaling.type", concat("is '", scaling, "', which this engine does not compute"));
  }
  const auto of_model = file.find<std::uint64_t>(keys.key("attention.sliding_window")).value_or(0);
  if (of_model != 0 && of_model != window) {
    throw keys.fault("attention.sliding_window", concat("is ", of_model, ", but this engine attends to ",
                                                        window == 0 ? "everything" : "another window",
                                                        "; build it with cache::sliding<", of_model, ">"));
  }
  if (file.find<std::uint64_t>(keys.key("expert_count")).value_or(0) != 0) {
    throw keys.fault("expert_count", "is set, but this engine has no mixture of experts");
  }

  const io::gguf_tensor* embedding = file.find_tensor("token_embd.weight");
  if (embedding == nullptr || embedding->dimensions().size() != 2) {
    throw file.fault(0, "there is no matrix 'token_embd.weight'; convert the model again");
  }
  s.vocabulary = static_cast<std::size_t>(embedding->dimensions()[1]);
  const std::size_t stated = keys.size_or("vocab_size", s.vocabulary);
  if (stated != s.vocabulary) {
    throw keys.fault("vocab_size",
                     concat("is ", stated, ", but the embedding matrix has ", s.vocabulary, " rows"));
  }
  s.tied_output = file.find_tensor("output.weight") == nullptr;
  return read;
}

/// The first size in which two shapes differ, as "layers is 2 in the file and 30 in the engine's type"; empty
/// if none. `context` is not compared: it limits requests, not code.
[[gnu::cold]] inline std::string difference(const shape& file, const shape& type) {
  const auto differs = [](const char* name, std::size_t in_file, std::size_t in_type) {
    return in_file == in_type
               ? std::string()
               : concat(name, " is ", in_file, " in the file and ", in_type, " in the engine's type");
  };
  for (const std::string& text :
       {differs("layers", file.layers, type.layers), differs("hidden", file.hidden, type.hidden),
        differs("heads", file.heads, type.heads), differs("kv_heads", file.kv_heads, type.kv_heads),
        differs("head_dim", file.head_dim, type.head_dim), differs("rotated", file.rotated, type.rotated),
        differs("feed_forward", file.feed_forward, type.feed_forward),
        differs("vocabulary", file.vocabulary, type.vocabulary),
        differs("tied_output", file.tied_output, type.tied_output)}) {
    if (!text.empty()) return text;
  }
  return {};
}

}  // namespace tenon::model
