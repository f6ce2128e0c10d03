// Chat templates: how a conversation becomes the tokens that a model was trained to answer. Model files carry
// them as Jinja programs; tenon does not run those, but recognises the family and does what they do.
#pragma once

#include "tenon/core/concat.hpp"
#include "tenon/core/error.hpp"
#include "tenon/core/types.hpp"
#include "tenon/text/tokenizer.hpp"

#include <cstddef>
#include <cstdint>
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

/// One turn of a conversation.
struct message {
  std::string role;  ///< "system", "user", "assistant"
  std::string content;
};

/// ChatML: every message is "<|im_start|>ROLE\nCONTENT<|im_end|>\n", and the answer begins after
/// "<|im_start|>assistant\n".
class chat_template {
 public:
  /// Recognises the ChatML family in a Jinja template, whether it begins with the BOS token, and the system
  /// prompt that it puts in front of conversations that have none. load_error for any other template:
  /// `source` and `offset` say where it is from.
  [[gnu::cold]] explicit chat_template(std::string_view jinja, std::string source = "<memory>",
                                       std::uint64_t offset = 0)
      : source_(std::move(source)) {
    const auto has = [&](std::string_view part) { return jinja.find(part) != std::string_view::npos; };
    // Phi-4's template has ChatML's marks, and one of its own after the role.
    if (!has(begin_mark) || !has(end_mark) || has("<|im_sep|>"))
      throw load_error(
          source_, offset,
          "tokenizer.chat_template is not ChatML (<|im_start|>role, newline, text, <|im_end|>), the only "
          "family known; put the prompt together yourself and encode it with special_tokens::recognise");
    default_system_ = find_default_system(jinja);
    begins_with_bos_ = has("bos_token");
  }

  /// Of the file's `tokenizer.chat_template`. Defined in tokenizer_gguf.hpp, which must be included to use
  /// it.
  static chat_template from_gguf(const io::gguf_file& file);

  /// The tokens of a conversation, ready for the model to answer if `add_generation_prompt`. Roles and
  /// contents are plain text: marks typed by a user do not become control tokens, so nobody can end or forge
  /// a turn. request_error without messages, load_error if the vocabulary lacks ChatML's marks.
  std::vector<token_id> encode(const tokenizer& vocabulary, std::span<const message> messages,
                               bool add_generation_prompt = true) const {
    if (messages.empty()) throw request_error("a chat needs at least one message; there is none");
    std::vector<token_id> ids;
    if (begins_with_bos_ && vocabulary.bos()) ids.push_back(*vocabulary.bos());
    const token_id begin = mark(vocabulary, begin_mark), end = mark(vocabulary, end_mark);
    const auto append = [&](std::string_view plain) {
      const std::vector<token_id> more = vocabulary.encode(plain, special_tokens::as_text);
      ids.insert(ids.end(), more.begin(), more.end());
    };
    const auto turn = [&](std::string_view role, std::string_view content) {
      ids.push_back(begin);
      append(concat(role, "\n", content));  // in one: a token may reach across the newline
      ids.push_back(end);
      append("\n");
    };
    if (default_system_ && messages.front().role != "system") turn("system", *default_system_);
    for (const message& one : messages) turn(one.role, one.content);
    if (add_generation_prompt) {
      ids.push_back(begin);
      append("assistant\n");
    }
    return ids;
  }

  /// The system prompt that goes in front of a conversation that does not begin with one.
  const std::optional<std::string>& default_system() const { return default_system_; }

 private:
  static constexpr std::string_view begin_mark = "<|im_start|>";
  static constexpr std::string_view end_mark = "<|im_end|>";

  [[gnu::cold]] token_id mark(const tokenizer& vocabulary, std::string_view text) const {
    const std::optional<token_id> id = vocabulary.find(text);
    if (id) return *id;
    throw load_error(source_, 0,
                     concat("the chat template needs the token ", text,
                            ", which the vocabulary does not have; use the template of this model"));
  }

  // The default is written out as one string literal, '<|im_start|>system\nTEXT<|im_end|>...', in the
  // templates that have one. Where the turn is put together from parts, the text between the marks leaves the
  // literal.
  [[gnu::cold]] static std::optional<std::string> find_default_system(std::string_view jinja) {
    const std::string opening = concat(begin_mark, "system");
    for (std::size_t place = jinja.find(opening); place != std::string_view::npos;
         place = jinja.find(opening, place + 1)) {
      const char quote = place != 0 ? jinja[place - 1] : '\0';
      if (quote != '\'' && quote != '"') continue;
      if (const auto literal = read_literal(jinja.substr(place), quote)) {
        const std::size_t begin = opening.size() + 1, end = literal->find(end_mark);
        if ((*literal)[opening.size()] == '\n' && end != std::string::npos && end > begin)
          return literal->substr(begin, end - begin);
      }
    }
    return std::nullopt;
  }

  // The string literal of Jinja that `text` begins inside of, its escapes resolved.
  [[gnu::cold]] static std::optional<std::string> read_literal(std::string_view text, char quote) {
    std::string value;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == quote) return value;
      if (text[i] != '\\' || i + 1 == text.size()) {
        value += text[i];
        continue;
      }
      const char escaped = text[++i];
      value += escaped == 'n' ? '\n' : escaped == 't' ? '\t' : escaped;
    }
    return std::nullopt;
  }

  std::string source_;
  std::optional<std::string> default_system_;
  bool begins_with_bos_ = false;
};

}  // namespace tenon::text
