// A vocabulary without a model file: a token for each byte, and tokens that stand for nothing.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tenon/core/concat.hpp"
#include "tenon/core/error.hpp"
#include "tenon/text/byte_alphabet.hpp"
#include "tenon/text/tokenizer.hpp"
#include "tenon/text/vocabulary.hpp"

namespace tenon::text {

/// A tokenizer whose first 256 tokens are the bytes in order; the rest, up to `size`, are unused. Throws tenon::error for
/// fewer than 256.
[[gnu::cold]] inline tokenizer byte_tokenizer(std::size_t size) {
  constexpr std::size_t bytes = 256;
  if (size < bytes) throw error(concat("a vocabulary of ", size, " tokens has no room for the 256 bytes"));
  std::vector<std::string> texts(size);
  for (std::size_t id = 0; id < size; ++id) {
    if (id < bytes) append_stand_ins(texts[id], std::string(1, static_cast<char>(id)));
    else texts[id] = concat("<unused ", id, ">");
  }
  vocabulary parts;
  parts.pre = "gpt-2";
  parts.tokens.assign(texts.begin(), texts.end());
  parts.token_type.emplace(size, static_cast<std::int32_t>(token_type::unused));
  for (std::size_t id = 0; id < bytes; ++id)
    (*parts.token_type)[id] = static_cast<std::int32_t>(token_type::normal);
  return tokenizer(parts);
}

}  // namespace tenon::text
