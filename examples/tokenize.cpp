// tenon-tokenize: the tokens of a text by a model's own tokenizer. Nothing is added at either end.
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <tenon/text/tokenizer_gguf.hpp>
#include <vector>

#include "program.hpp"

namespace {

/// The bytes of a token in quotes; what is no whole character shows as U+FFFD.
std::string quoted(std::string_view bytes) {
  return nlohmann::json(bytes).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

int main(int count, char** arguments) {
  CLI::App app("Prints the tokens of a text: id and bytes, one a line.", "tenon-tokenize");
  std::string model, text;
  bool special = false, json = false;
  app.add_option("-m,--model", model, "GGUF model file")->required();
  const CLI::Option* given =
      app.add_option("text", text, "the text (default: standard input, byte for byte)");
  app.add_flag("--special", special, "text of control tokens, as <|im_end|>, becomes those tokens");
  app.add_flag("--json", json, R"(one JSON object on stdout: {"tokens":[...]})");

  return run_program(app, count, arguments, [&] {
    const auto tokenizer = tenon::text::tokenizer::from_gguf(tenon::io::gguf_file::open(model));
    if (given->count() == 0) text = read_all(std::cin, "standard input");
    const std::vector<tenon::token_id> tokens = tokenizer.encode(
        text, special ? tenon::text::special_tokens::recognise : tenon::text::special_tokens::as_text);
    if (json) {
      std::cout << nlohmann::json{{"tokens", tokens}} << '\n';
    } else {
      for (const tenon::token_id token : tokens)
        std::cout << token << '\t' << quoted(tokenizer.bytes(token)) << '\n';
    }
  });
}
