// tenon-bench: tokens per second of one engine on one model. Either one prompt in one step (--prefill), or
// sequences that decode together after their prompts (--decode). Loading is not timed, and a first run warms
// up.
#include <algorithm>
#include <CLI/CLI.hpp>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine.hpp"
#include "program.hpp"

namespace {

struct options {
  std::string model;
  int threads = 0;
  std::size_t prefill = 0, decode = 0, batch = 1, prompt = 16;
  int repetitions = 5;
  bool json = false;
};

/// Tokens without a meaning, the same in each run: a step takes as long for any other.
std::vector<tenon::token_id> some_tokens(std::size_t count, std::size_t vocabulary, std::uint64_t state) {
  std::vector<tenon::token_id> tokens;
  for (std::size_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    tokens.push_back(static_cast<tenon::token_id>((state >> 33) % vocabulary));
  }
  return tokens;
}

/// Runs `count` steps and returns the seconds that they took.
double timed_steps(example_engine& engine, std::size_t count) {
  const auto start = tenon::measure::clock::now();
  for (std::size_t i = 0; i < count; ++i) engine.step();
  return tenon::measure::seconds(start, tenon::measure::clock::now());
}

/// Seconds for the prompts in one step, which ends with each sequence's first token, and for the decode steps
/// after it.
struct run_seconds {
  double prefill, decode;
};
run_seconds run_once(example_engine& engine, std::size_t batch, std::size_t prompt, std::size_t decode) {
  std::vector<tenon::request_id> ids;
  for (std::size_t i = 0; i < batch; ++i) {
    const auto tokens = some_tokens(prompt, engine.tokenizer().size(), i + 1);
    const auto most = static_cast<std::int32_t>(decode + 2);  // none ends while the time is taken
    ids.push_back(engine.submit(tokens, {.temperature = 0, .max_tokens = most, .ignore_eos = true}));
  }
  const run_seconds taken{timed_steps(engine, 1), timed_steps(engine, decode)};
  for (const tenon::request_id id : ids) {
    engine.cancel(id);
    const std::size_t tokens = engine.take(id)->tokens.size();
    if (tokens != decode + 1) throw tenon::error("a step did not give one token for each sequence");
  }
  return taken;
}

void bench(options o) {
  if ((o.prefill != 0) == (o.decode != 0)) throw tenon::error("give either --prefill or --decode");
  if (o.prefill != 0) o.batch = 1, o.prompt = o.prefill;
  loading_line line;
  auto engine = example_engine::load(o.model, {.max_batch = o.batch,
                                               .context = o.prompt + o.decode + 2,
                                               .max_step_tokens = o.batch * o.prompt,
                                               .threads = o.threads,
                                               .progress = std::ref(line)});
  if (engine.context() < o.prompt + o.decode + 2)
    throw tenon::error("the model's context has only " + std::to_string(engine.context()) + " positions");

  run_once(engine, o.batch, o.prompt, o.decode);
  std::vector<double> seconds;
  for (int i = 0; i < o.repetitions; ++i) {
    const run_seconds taken = run_once(engine, o.batch, o.prompt, o.decode);
    seconds.push_back(o.prefill != 0 ? taken.prefill : taken.decode);
  }
  std::sort(seconds.begin(), seconds.end());
  const auto tokens = static_cast<double>(o.prefill != 0 ? o.prefill : o.batch * o.decode);
  const double median = seconds[seconds.size() / 2];  // of an even number, the slower of the two
  if (o.json) {
    const nlohmann::ordered_json object = {{"tokens_per_second", tokens / median},
                                           {"best_tokens_per_second", tokens / seconds.front()},
                                           {"seconds", median},
                                           {"description", example_engine::description()},
                                           {"threads", engine.threads()}};
    std::cout << object.dump() << '\n';
    return;
  }
  std::cout << (o.prefill != 0 ? "prefill of " + std::to_string(o.prefill) + " tokens"
                               : "decode of " + std::to_string(o.batch) + " x " + std::to_string(o.decode) +
                                     " tokens after " + std::to_string(o.prompt))
            << ", " << engine.threads() << " threads: " << tokens / median << " tokens/s (median of "
            << o.repetitions << "), best " << tokens / seconds.front() << '\n'
            << example_engine::description() << '\n';
}

}  // namespace

int main(int count, char** arguments) {
  constexpr std::size_t most = std::size_t{1} << 20;
  CLI::App app("Tokens per second of prefill or decode.", "tenon-bench");
  options o;
  app.add_option("-m,--model", o.model, "GGUF model file")->required();
  app.add_option("-t,--threads", o.threads, "default: one for each processor")->check(CLI::Range(0, 1024));
  app.add_option("--prefill", o.prefill, "time one prompt of so many tokens")
      ->check(CLI::Range(std::size_t{1}, most));
  app.add_option("--decode", o.decode, "time so many steps of one token for each sequence")
      ->check(CLI::Range(std::size_t{1}, most));
  app.add_option("--batch", o.batch, "with --decode: sequences at once")
      ->capture_default_str()
      ->check(CLI::Range(std::size_t{1}, std::size_t{example_engine::batching_policy::max_batch}));
  app.add_option("--prompt", o.prompt, "with --decode: tokens of each prompt")
      ->capture_default_str()
      ->check(CLI::Range(std::size_t{1}, most));
  app.add_option("--repetitions", o.repetitions, "runs of which to take the median, after one to warm up")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  app.add_flag("--json", o.json, "one JSON object on stdout");
  return run_program(app, count, arguments, [&] { bench(o); });
}
