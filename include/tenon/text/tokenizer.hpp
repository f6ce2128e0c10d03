// The tokenizer: text to token ids and back, for the byte-level BPE vocabularies that GGUF calls "gpt2". It
// stands alone; tokenizer_gguf.hpp makes one from a model file.
#pragma once

#include "tenon/core/concat.hpp"
#include "tenon/core/error.hpp"
#include "tenon/core/types.hpp"
#include "tenon/text/byte_alphabet.hpp"
#include "tenon/text/byte_pair.hpp"
#include "tenon/text/pre_tokenizer.hpp"
#include "tenon/text/special_finder.hpp"
#include "tenon/text/token_table.hpp"
#include "tenon/text/vocabulary.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tenon::io {
class gguf_file;
}

namespace tenon::text {

/// Whether the text of a control token, met in the text to encode, becomes that token.
enum class special_tokens {
  as_text,    ///< it is text like any other: for all that a user typed
  recognise,  ///< it becomes the control token: for prompts that the program itself has put together
};

/// A byte-level BPE tokenizer. Immutable once made: any number of threads may encode and decode at the same
/// time.
///
/// User-defined tokens (GGUF's type 4) are recognised in any text, and control tokens only when asked for, as
/// in llama.cpp; the leftmost one wins, then the longest, as in the `tokenizers` library. No merge makes a
/// control token, even where the file says so: text given as_text can never turn into one.
class tokenizer {
 public:
  /// Checks a vocabulary and takes it in. load_error if it is of an unknown kind, contradicts itself, or
  /// names tokens that it does not have.
  [[gnu::cold]] explicit tokenizer(const vocabulary& parts)
      : rules_(known_rules(parts)),
        pieces_(rules_),
        texts_(parts.tokens.size(), total_size(parts)),
        merges_(parts.merges.size()) {
    take_tokens(parts);
    take_merges(parts);
    take_special_ids(parts);
  }

  /// Of the file's keys under `tokenizer.ggml.`. Defined in tokenizer_gguf.hpp, which must be included to use
  /// it.
  static tokenizer from_gguf(const io::gguf_file& file);

  /// The ids of `text`, which may hold any bytes (up to 4 GiB of them). Nothing is added at either end. Bytes
  /// for which the vocabulary has no token are left out, and what is around them is joined; all others come
  /// back by decode().
  std::vector<token_id> encode(std::string_view text,
                               special_tokens special = special_tokens::as_text) const {
    const special_finder& finder = special == special_tokens::recognise ? all_special_ : user_defined_;
    std::vector<token_id> ids;
    ids.reserve(text.size() / 3 + 8);
    encoder work{*this, ids};
    for (std::size_t begin = 0; begin < text.size();) {
      const special_finder::hit hit = finder.find(text, begin);
      work.encode(text.substr(begin, hit.begin - begin));
      if (hit.length != 0) ids.push_back(hit.id);
      begin = hit.begin + hit.length;
    }
    return ids;
  }

  /// The bytes that a token stands for, which need not be whole characters. A control token stands for its
  /// text. request_error for an id outside the vocabulary.
  std::string_view bytes(token_id id) const { return bytes_[checked(id)]; }

  /// The bytes of all tokens in a row. Tokens that is_control() are left out unless `keep_control`.
  std::string decode(std::span<const token_id> ids, bool keep_control = false) const {
    std::string joined;
    for (const token_id id : ids)
      if (keep_control || !is_control(id)) joined += bytes(id);
    return joined;
  }

  /// The text of a token as the file writes it: "\u0120the" for the bytes " the".
  std::string_view text(token_id id) const { return texts_[static_cast<token_id>(checked(id))]; }
  /// The token with this text as the file writes it: find("<|im_end|>").
  std::optional<token_id> find(std::string_view token_text) const { return texts_.find(token_text); }

  token_type type(token_id id) const { return types_[checked(id)]; }
  /// Tokens that are no part of a text: control tokens, and the unknown and unused ones.
  bool is_control(token_id id) const {
    const token_type what = type(id);
    return what == token_type::control || what == token_type::unknown || what == token_type::unused;
  }

  std::size_t size() const { return texts_.size(); }
  std::optional<token_id> bos() const { return bos_; }
  std::optional<token_id> eos() const { return eos_; }
  /// Whether a prompt (not a chat template's) begins with bos(). encode() leaves that to its caller.
  bool adds_bos() const { return adds_bos_; }
  /// The tokens after which the model has nothing more to say, in rising order: those of the file (eos, eot,
  /// eom), and control tokens with a text that is known for it.
  std::span<const token_id> end_of_generation() const { return end_of_generation_; }
  std::string_view pre_tokenizer_name() const { return rules_.name; }

 private:
  // One call of encode(): the memory that its pieces share.
  struct encoder {
    const tokenizer& self;
    std::vector<token_id>& ids;
    regex_pattern::workspace room{};
    pair_merger merger{};
    std::string stand_ins{};

    void encode(std::string_view plain) {
      self.pieces_.split(plain, room, [&](std::string_view piece) { encode_piece(piece); });
    }

    void encode_piece(std::string_view piece) {
      if (self.rules_.whole_piece_first && piece.size() <= self.longest_) {
        stand_ins.clear();
        append_stand_ins(stand_ins, piece);
        const std::optional<token_id> whole = self.texts_.find(stand_ins);
        if (whole && self.type(*whole) == token_type::normal) return ids.push_back(*whole);
      }
      for (const char byte : piece) {
        const token_id id = self.byte_tokens_[static_cast<unsigned char>(byte)];
        if (id >= 0) merger.push(id);
      }
      merger.finish(self.merges_, ids);
    }
  };

  [[gnu::cold]] static std::size_t total_size(const vocabulary& parts) {
    std::size_t bytes = 0;
    for (const std::string_view text : parts.tokens) bytes += text.size();
    if (bytes > 0xffffffffu)
      throw parts.fault("tokens", concat("is ", bytes, " bytes of text; 4294967295 are supported"));
    return bytes;
  }

  [[gnu::cold]] static const pre_tokenizer_rules& known_rules(const vocabulary& parts) {
    if (parts.model != "gpt2")
      throw parts.fault("model",
                        concat("is \"", parts.model,
                               "\"; this tokenizer reads byte-level BPE vocabularies only (\"gpt2\")"));
    std::string names;
    for (const pre_tokenizer_rules& known : known_pre_tokenizers) {
      if (known.name == parts.pre) return known;
      names += concat(names.empty() ? "" : ", ", known.name);
    }
    throw parts.fault("pre",
                      concat("is \"", parts.pre, "\"; known are ", names,
                             ". Another one's pattern would give wrong ids, so none is taken instead"));
  }

  void take_tokens(const vocabulary& parts);
  void take_merges(const vocabulary& parts);
  void take_special_ids(const vocabulary& parts);

  std::size_t checked(token_id id) const {
    if (id < 0 || static_cast<std::size_t>(id) >= texts_.size()) fail_outside(id);
    return static_cast<std::size_t>(id);
  }

  [[noreturn, gnu::cold]] void fail_outside(token_id id) const {
    throw request_error(concat("token id ", id, " is outside the vocabulary of ", texts_.size(), " tokens"));
  }

  pre_tokenizer_rules rules_;
  pre_tokenizer pieces_;
  token_table texts_;
  string_arena bytes_;
  std::vector<token_type> types_;
  std::size_t longest_ = 0;                  // bytes of the longest token
  std::array<token_id, 256> byte_tokens_{};  // -1 where the vocabulary has none
  merge_table merges_;
  special_finder all_special_;  // control and user-defined
  special_finder user_defined_;
  std::optional<token_id> bos_, eos_;
  bool adds_bos_ = false;
  std::vector<token_id> end_of_generation_;
};

[[gnu::cold]] inline void tokenizer::take_tokens(const vocabulary& parts) {
  const std::size_t count = parts.tokens.size();
  if (count == 0) throw parts.fault("tokens", "is empty: a vocabulary has at least one token");
  if (count > static_cast<std::size_t>((std::numeric_limits<token_id>::max)()))
    throw parts.fault("tokens", concat("has ", count, " entries, more than ids can number (2147483647)"));
  if (parts.token_type && parts.token_type->size() != count)
    throw parts.fault("token_type",
                      concat("has ", parts.token_type->size(), " entries for the ", count, " tokens"));
  types_.assign(count, token_type::normal);
  bytes_.reserve(count, total_size(parts));
  for (std::size_t i = 0; i < count; ++i) {
    const auto id = static_cast<token_id>(i);
    if (const std::optional<token_id> other = texts_.add(parts.tokens[i]))
      throw parts.fault(
          "tokens", concat("has the same text for ids ", *other, " and ", i, ": \"", parts.tokens[i], "\""));
    if (parts.token_type) {
      const std::int32_t number = (*parts.token_type)[i];
      if (number < 1 || number > 5)  // 6 is a raw byte, for vocabularies that do not write bytes as stand-ins
        throw parts.fault("token_type",
                          concat("has ", number, " for id ", i, "; byte-level vocabularies have 1 to 5"));
      types_[i] = static_cast<token_type>(number);
    }
    if (types_[i] == token_type::normal)
      bytes_.push_back_with([&](std::string& end) { append_bytes(end, parts.tokens[i]); });
    else bytes_.push_back(parts.tokens[i]);
    longest_ = (std::max)(longest_, bytes_[i].size());
    if (types_[i] == token_type::user_defined) user_defined_.add(parts.tokens[i], id);
    else if (types_[i] != token_type::control && types_[i] != token_type::unknown) continue;
    all_special_.add(parts.tokens[i], id);
  }
  user_defined_.prepare();
  all_special_.prepare();

  std::string stand_in;
  for (std::size_t byte = 0; byte < 256; ++byte) {
    stand_in.clear();
    append_stand_ins(stand_in, std::string(1, static_cast<char>(byte)));
    const std::optional<token_id> id = texts_.find(stand_in);
    byte_tokens_[byte] = id && !is_control(*id) ? *id : -1;
  }
}

[[gnu::cold]] inline void tokenizer::take_merges(const vocabulary& parts) {
  struct entry {
    token_id left, right;
    merge what;
  };
  std::vector<entry> entries;  // filled into the table at the end: misses of the cache then overlap
  entries.reserve(parts.merges.size());
  std::string joined;
  std::size_t guess = size();
  for (std::size_t rank = 0; rank < parts.merges.size(); ++rank) {
    const std::string_view line = parts.merges[rank];
    const auto broken = [&](const std::string& why) {
      return parts.fault("merges",
                         concat("entry ", rank, " of ", parts.merges.size(), ", \"", line, "\", ", why));
    };
    const std::size_t gap = line.find(' ', 1);  // a token may begin with a blank
    if (gap == std::string_view::npos) throw broken("has no blank between two tokens");
    const std::string_view halves[] = {line.substr(0, gap), line.substr(gap + 1)};
    joined.assign(halves[0]).append(halves[1]);
    // Vocabularies are mostly written in the order of their merges: this result then follows the last one.
    const bool guessed = guess < size() && texts_[static_cast<token_id>(guess)] == joined;
    const auto result = guessed ? std::optional(static_cast<token_id>(guess)) : texts_.find(joined);
    const auto left = texts_.find(halves[0]), right = texts_.find(halves[1]);
    if (!left || !right || !result)
      throw broken(concat("names or gives a token that is not among the ", size(), " tokens"));
    guess = static_cast<std::size_t>(*result) + 1;
    if (!is_control(*result)) entries.push_back({*left, *right, {static_cast<std::uint32_t>(rank), *result}});
  }
  for (const entry& one : entries) merges_.add(one.left, one.right, one.what);
}

[[gnu::cold]] inline void tokenizer::take_special_ids(const vocabulary& parts) {
  const auto id_of = [&](std::string_view key,
                         const std::optional<std::uint64_t>& id) -> std::optional<token_id> {
    if (!id) return std::nullopt;
    if (*id >= size())
      throw parts.fault(key, concat("is ", *id, ", outside the vocabulary of ", size(), " tokens"));
    return static_cast<token_id>(*id);
  };
  bos_ = id_of("bos_token_id", parts.bos_token_id);
  eos_ = id_of("eos_token_id", parts.eos_token_id);
  adds_bos_ = parts.add_bos_token.value_or(rules_.adds_bos && bos_.has_value());
  if (adds_bos_ && !bos_)
    throw parts.fault("add_bos_token", "is true, but there is no tokenizer.ggml.bos_token_id");

  std::vector<token_id>& ends = end_of_generation_;
  for (const std::optional<token_id> id :
       {eos_, id_of("eot_token_id", parts.eot_token_id), id_of("eom_token_id", parts.eom_token_id)})
    if (id) ends.push_back(*id);
  for (const std::string_view known : {"<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|eom_id|>", "<|end|>",
                                       "<|end_of_text|>", "<end_of_turn>", "</s>"}) {
    const std::optional<token_id> id = find(known);
    if (id && type(*id) == token_type::control) ends.push_back(*id);
  }
  std::sort(ends.begin(), ends.end());
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
}

}  // namespace tenon::text
