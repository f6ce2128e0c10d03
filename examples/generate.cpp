// tenon-generate: text from a model, streamed to the terminal or as one JSON object.
#include <charconv>
#include <cstddef>
#include <fstream>
#include <functional>
#include <iomanip>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "engine.hpp"
#include "program.hpp"

namespace {

struct options {
  std::string model, prompt, prompt_file, prompt_tokens;
  bool chat = false, json = false;
  example_engine::params request{
      .temperature = 0.8f, .top_k = 40, .top_p = 0.95f, .min_p = 0.05f, .max_tokens = 256};
  std::size_t context = 0;
  int threads = 0;
};

void declare(CLI::App& app, options& o) {
  const auto value = [&](const char* names, auto& into, const char* help) {
    return app.add_option(names, into, help);
  };
  value("-m,--model", o.model, "GGUF model file")->required();
  CLI::Option* prompts[] = {
      value("-p,--prompt", o.prompt, "the prompt: plain text, in which control tokens are text too"),
      value("-f,--prompt-file", o.prompt_file, "file with the prompt, byte for byte ('-': standard input)"),
      value("--prompt-tokens", o.prompt_tokens, "the prompt as token ids: 1,2,3")};
  app.add_flag("--chat", o.chat, "the prompt is a user's message, answered by the model's chat template")
      ->excludes(prompts[2]);
  value("-n,--max-tokens", o.request.max_tokens, "most tokens to generate")->capture_default_str();
  value("--temperature,--temp", o.request.temperature, "0: greedy; 1: the model's own distribution")
      ->capture_default_str();
  value("--top-k", o.request.top_k, "draw from the k likeliest tokens (0: off)")->capture_default_str();
  value("--top-p", o.request.top_p, "draw from the fewest tokens with this probability (1: off)")
      ->capture_default_str();
  value("--min-p", o.request.min_p, "draw from tokens this likely, relative to the best (0: off)")
      ->capture_default_str();
  value("-s,--seed", o.request.seed, "same seed, same text (default: another seed each time)")
      ->check(CLI::NonNegativeNumber);
  value("--stop", o.request.stop, "end before this text; may be given more than once")
      ->allow_extra_args(false);
  app.add_flag("--ignore-eos", o.request.ignore_eos, "go on after the model's end-of-generation tokens");
  value("-t,--threads", o.threads, "default: one for each processor")->check(CLI::Range(0, 1024));
  value("-c,--ctx-size", o.context, "positions of prompt and answer (default: the model's, at most 4096)")
      ->check(CLI::Range(std::size_t{0}, std::size_t{1} << 32));
  app.add_flag("--json", o.json, "one JSON object on stdout, and nothing else");
  app.footer("Stages are applied in llama.cpp's order: top-k, top-p, min-p, temperature.");

  app.callback([&o, prompts] {
    if (prompts[0]->count() + prompts[1]->count() + prompts[2]->count() != 1)
      throw CLI::ValidationError("give exactly one of --prompt, --prompt-file and --prompt-tokens");
    tenon::sampling::validate(o.request);  // before the model is loaded
  });
}

std::vector<tenon::token_id> parse_tokens(std::string_view list) {
  std::vector<tenon::token_id> tokens;
  for (const char *at = list.data(), *end = at + list.size(); at != end;) {
    const auto [next, fault] = std::from_chars(at, end, tokens.emplace_back());
    if (fault != std::errc() || (next != end && (*next != ',' || next + 1 == end)))
      throw tenon::request_error("--prompt-tokens wants token ids with commas between them, as 1,2,3; not '" +
                                 std::string(list) + "'");
    at = next == end ? end : next + 1;
  }
  return tokens;
}

std::string read_file(const std::string& path) {
  if (path == "-") return read_all(std::cin, "standard input");
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error(path + " cannot be opened");
  return read_all(file, path);
}

/// The prompt as it was given: read before the model is loaded.
struct given_prompt {
  std::string text;
  std::vector<tenon::token_id> tokens;
};
given_prompt read_prompt(const options& o) {
  if (!o.prompt_file.empty()) return {read_file(o.prompt_file), {}};
  return {o.prompt, parse_tokens(o.prompt_tokens)};
}

std::vector<tenon::token_id> to_tokens(const given_prompt& given, bool chat, const example_engine& engine) {
  if (!given.tokens.empty()) return given.tokens;
  if (!chat) return engine.prompt_tokens(given.text);
  const tenon::text::message message{"user", given.text};
  return engine.chat_tokens({&message, 1});
}

double per_second(std::size_t tokens, double seconds) {
  return seconds > 0 ? static_cast<double>(tokens) / seconds : 0.0;
}

void print_json(const std::vector<tenon::token_id>& prompt, const tenon::request_result& result) {
  const tenon::measure::request_times& t = result.times;
  const std::size_t decoded = t.tokens - 1;  // tokens after the first, which belongs to the prompt's time
  const nlohmann::ordered_json timings = {
      {"prompt_n", t.prompt_tokens},
      {"prompt_ms", 1e3 * t.prefill()},
      {"prompt_per_token_ms", 1e3 * t.prefill() / static_cast<double>(t.prompt_tokens)},
      {"prompt_per_second", per_second(t.prompt_tokens, t.prefill())},
      {"predicted_n", t.tokens},
      {"predicted_ms", 1e3 * t.decode()},
      {"predicted_per_token_ms", 1e3 * t.tpot()},
      {"predicted_per_second", per_second(decoded, t.decode())},
      {"ttft_ms", 1e3 * t.ttft()},
      {"tpot_ms", 1e3 * t.tpot()}};
  const nlohmann::ordered_json object = {{"prompt_tokens", prompt},
                                         {"tokens", result.tokens},
                                         {"text", result.text},
                                         {"finish_reason", tenon::to_string(result.finish)},
                                         {"timings", timings}};
  std::cout << object.dump() << '\n';
}

void print_summary(const example_engine& engine, const tenon::measure::request_times& t) {
  std::cerr << std::fixed << std::setprecision(1)                                                  //
            << "\nTTFT " << 1e3 * t.ttft() << " ms for " << t.prompt_tokens << " prompt tokens, "  //
            << "TPOT " << std::setprecision(2) << 1e3 * t.tpot() << " ms over " << t.tokens << " tokens, "
            << std::setprecision(1) << per_second(t.tokens - 1, t.decode()) << " tokens/s, "
            << engine.threads() << " threads\n"
            << example_engine::description() << '\n';
}

example_engine load(const options& o) {
  loading_line line;
  return example_engine::load(
      o.model, {.max_batch = 1, .context = o.context, .threads = o.threads, .progress = std::ref(line)});
}

void generate(const options& o) {
  const given_prompt given = read_prompt(o);
  example_engine engine = load(o);
  const std::vector<tenon::token_id> prompt = to_tokens(given, o.chat, engine);
  auto run = engine.generate(prompt, o.request);
  for (const tenon::piece& piece : run)
    if (!o.json) std::cout << piece.text << std::flush;
  if (o.json) return print_json(prompt, run.result());
  std::cout << std::endl;
  print_summary(engine, run.result().times);
}

}  // namespace

int main(int count, char** arguments) {
  CLI::App app("Text from a GGUF model of the Llama family.", "tenon-generate");
  options o;
  declare(app, o);
  return run_program(app, count, arguments, [&] { generate(o); });
}
