// The vocabulary of tests/data/text/tokenizer_vectors.json, to make tokenizers from without a model file.
#pragma once

#include "support/json.hpp"
#include "tenon/text/tokenizer.hpp"
#include "tenon/text/vocabulary.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::test {

/// Owns the strings that a vocabulary views. Tokens 0 to 3 are the control tokens <|endoftext|>,
/// <|im_start|>,
/// <|im_end|> and <s>; the last three are user-defined. Bytes 13, f5 and ff have no token.
class small_vocabulary {
 public:
  small_vocabulary() : data_(load_json("text/tokenizer_vectors.json")) {
    tokens = data_.at("tokens").get<std::vector<std::string>>();
    types = data_.at("types").get<std::vector<std::int32_t>>();
    merges = data_.at("merges").get<std::vector<std::string>>();
  }

  /// What a file would hold. Valid while this object lives.
  text::vocabulary parts(std::string_view pre = "gpt-2") const {
    text::vocabulary all;
    all.source = "small.gguf";
    all.pre = pre;
    all.tokens.assign(tokens.begin(), tokens.end());
    all.token_type = types;
    all.merges.assign(merges.begin(), merges.end());
    all.bos_token_id = 3;
    all.eos_token_id = 2;
    return all;
  }
  text::tokenizer make(std::string_view pre = "gpt-2") const { return text::tokenizer(parts(pre)); }
  const json& data() const { return data_; }

  std::vector<std::string> tokens, merges;
  std::vector<std::int32_t> types;

 private:
  json data_;
};

/// One for all tests of a program.
inline const small_vocabulary& shared_vocabulary() {
  static const small_vocabulary vocabulary;
  return vocabulary;
}

/// The bytes that pairs of hexadecimal digits write.
inline std::string from_hex(const std::string& digits) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2)
    bytes += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
  return bytes;
}

}  // namespace tenon::test
