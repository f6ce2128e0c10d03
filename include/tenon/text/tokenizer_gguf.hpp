// Tokenizers and chat templates from GGUF model files.
#pragma once

#include "tenon/core/concat.hpp"
#include "tenon/io/gguf.hpp"
#include "tenon/text/chat_template.hpp"
#include "tenon/text/tokenizer.hpp"
#include "tenon/text/vocabulary.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tenon::text {

/// The vocabulary of a model file; its views are of the file's bytes. load_error if one of the keys is
/// missing or of another type. Whether the parts fit together is for the tokenizer to say.
[[gnu::cold]] inline vocabulary read_vocabulary(const io::gguf_file& file) {
  const auto full = [](std::string_view key) { return concat("tokenizer.ggml.", key); };
  vocabulary parts;
  parts.source = file.name();
  for (const std::string_view key : {"model", "pre", "tokens", "token_type", "merges", "bos_token_id",
                                     "eos_token_id", "eot_token_id", "eom_token_id", "add_bos_token"})
    parts.offsets.emplace_back(key, file.offset_of(full(key)));
  parts.model = file.get<std::string_view>(full("model"));
  if (parts.model != "gpt2") return parts;  // other kinds have other keys; the tokenizer names what is wrong
  parts.pre = file.get<std::string_view>(full("pre"));
  parts.tokens = file.get_array(full("tokens")).strings();
  if (const auto types = file.find<io::gguf_array>(full("token_type")))
    parts.token_type = types->values<std::int32_t>();
  parts.merges = file.get_array(full("merges")).strings();
  parts.bos_token_id = file.find<std::uint64_t>(full("bos_token_id"));
  parts.eos_token_id = file.find<std::uint64_t>(full("eos_token_id"));
  parts.eot_token_id = file.find<std::uint64_t>(full("eot_token_id"));
  parts.eom_token_id = file.find<std::uint64_t>(full("eom_token_id"));
  parts.add_bos_token = file.find<bool>(full("add_bos_token"));
  return parts;
}

[[gnu::cold]] inline tokenizer tokenizer::from_gguf(const io::gguf_file& file) {
  return tokenizer(read_vocabulary(file));
}

[[gnu::cold]] inline chat_template chat_template::from_gguf(const io::gguf_file& file) {
  const std::string_view key = "tokenizer.chat_template";
  return chat_template(file.get<std::string_view>(key), file.name(), file.offset_of(key));
}

}  // namespace tenon::text
