// A vocabulary as a model file writes it, before it is checked: what a tokenizer is made from.
#pragma once

#include "tenon/core/concat.hpp"
#include "tenon/core/error.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tenon::text {

/// What a token is for, numbered as in GGUF's `tokenizer.ggml.token_type`.
enum class token_type : std::int32_t { normal = 1, unknown, control, user_defined, unused };

/// The parts of a byte-level BPE vocabulary, named as GGUF's keys under `tokenizer.ggml.`. The views are read
/// while a tokenizer is constructed and not kept.
struct vocabulary {
  std::string source = "<memory>";                      ///< the file, for messages
  std::string_view model = "gpt2";                      ///< the kind of vocabulary
  std::string_view pre;                                 ///< the name of the pre-tokenizer
  std::vector<std::string_view> tokens;                 ///< by id, with a stand-in character for each byte
  std::optional<std::vector<std::int32_t>> token_type;  ///< one per token; all are normal if absent
  std::vector<std::string_view> merges;                 ///< "left right", those learnt first in front
  std::optional<std::uint64_t> bos_token_id, eos_token_id, eot_token_id, eom_token_id;
  std::optional<bool> add_bos_token;
  /// Where in the file the values of the keys are, for messages. May be empty.
  std::vector<std::pair<std::string_view, std::uint64_t>> offsets;

  /// An error about one key, to be thrown. `key` is without the "tokenizer.ggml.".
  [[gnu::cold]] load_error fault(std::string_view key, const std::string& message) const {
    std::uint64_t offset = 0;
    for (const auto& [known, place] : offsets)
      if (known == key) offset = place;
    return {source, offset, concat("tokenizer.ggml.", key, " ", message)};
  }
};

}  // namespace tenon::text
