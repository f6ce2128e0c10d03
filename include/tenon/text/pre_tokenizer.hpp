// Pre-tokenizers: how text is cut into pieces before merges are applied. No token ever reaches across a cut,
// so ids are right only if the pattern is the one that the vocabulary was trained with.
#pragma once

#include "tenon/text/pcre2.hpp"
#include "tenon/text/utf8.hpp"

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace tenon::text {

/// What a value of `tokenizer.ggml.pre` means.
struct pre_tokenizer_rules {
  std::string_view name;
  /// Matches exactly one piece. `\s` and `\S` are those of Unicode's White_Space property: see
  /// expand_blanks().
  std::string_view pattern;
  /// A piece that is a token by itself is that token, whatever the merges would make of it.
  bool whole_piece_first = false;
  /// Whether a prompt begins with the BOS token where the file does not say.
  bool adds_bos = false;
};

/// The pre-tokenizers that tenon knows. Repeats that nothing follows are possessive (`++`): the same matches
/// as in the originals, without a way back.
inline constexpr std::array<pre_tokenizer_rules, 4> known_pre_tokenizers = {{
    // openai/gpt-2, src/encoder.py.
    {"gpt-2", R"('(?:[stmd]|re|ve|ll)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s+(?!\S)|\s++)"},
    // HuggingFaceTB/SmolLM2-*, tokenizer.json: each digit alone, then GPT-2's pattern on what is between. In
    // one
    // pattern, a number ends the text for the look-ahead.
    {"smollm", R"('(?:[stmd]|re|ve|ll)| ?\p{L}++|\p{N}| ?[^\s\p{L}\p{N}]++|\s+(?![^\s\p{N}])|\s++)"},
    // meta-llama/llama3, llama/tokenizer.py (pat_str); whole pieces first: ignore_merges in its
    // tokenizer.json.
    {"llama-bpe",
     R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|)"
     R"(\s*[\r\n]+|\s+(?!\S)|\s++)",
     true, true},
    // Qwen/Qwen2-*, tokenizer.json. Its normalisation to NFC is left out, as llama.cpp does: ids decode to
    // the bytes
    // that came in.
    {"qwen2", R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}++|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*+|)"
              R"(\s*[\r\n]+|\s+(?!\S)|\s++)"},
}};

namespace detail {
/// Writes out the blanks of Unicode for `\s` and `\S` in a pattern. PCRE2's own `\s` knows ASCII only, or
/// (with PCRE2_UCP) takes U+180E for a blank, which no tokenizer does. Inside brackets the range alone is
/// wanted.
[[gnu::cold]] inline std::string expand_blanks(std::string_view pattern) {
  constexpr std::string_view blanks =
      R"(\x09-\x0d\x20\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})";
  std::string expanded;
  bool in_brackets = false;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const std::string_view escape = pattern.substr(i, 2);
    if (escape == R"(\s)" || escape == R"(\S)") {
      if (!in_brackets) expanded += escape == R"(\S)" ? "[^" : "[";
      expanded += blanks;
      if (!in_brackets) expanded += ']';
      ++i;
      continue;
    }
    if (pattern[i] == '[') in_brackets = true;
    if (pattern[i] == ']') in_brackets = false;
    expanded += pattern[i];
  }
  return expanded;
}
}  // namespace detail

/// Cuts text into pieces. Immutable, so any number of threads may use one.
class pre_tokenizer {
 public:
  explicit pre_tokenizer(const pre_tokenizer_rules& rules)
      : rules_(rules), pattern_(detail::expand_blanks(rules.pattern)) {}

  const pre_tokenizer_rules& rules() const { return rules_; }

  /// Calls `visit(std::string_view)` for each piece of `bytes`, in order; joined, the pieces are `bytes`.
  /// Bytes that are no UTF-8 end the text before them and are a piece of their own.
  template <class Visit>
  void split(std::string_view bytes, regex_pattern::workspace& room, Visit&& visit) const {
    while (!bytes.empty()) {
      const std::string_view text = bytes.substr(0, valid_utf8_prefix(bytes));
      for (std::size_t begin = 0; begin < text.size();) {
        std::size_t end = pattern_.match(text, begin, room);
        // Each pattern matches at every character. Should PCRE2 give up, no byte is lost: the character goes
        // alone.
        if (end == begin) end += next_utf8(text.substr(begin)).length;
        visit(text.substr(begin, end - begin));
        begin = end;
      }
      bytes.remove_prefix(text.size());
      if (bytes.empty()) return;
      const std::size_t invalid = next_utf8(bytes).length;
      visit(bytes.substr(0, invalid));
      bytes.remove_prefix(invalid);
    }
  }

 private:
  pre_tokenizer_rules rules_;
  regex_pattern pattern_;
};

}  // namespace tenon::text
