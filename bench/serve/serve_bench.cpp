// tenon-serve-bench: the same requests, at the same times, for engines of different policies, side by side. What is
// measured, and the names of it, are those of `vllm bench serve`; the engine runs in this process.
#include <CLI/CLI.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <exception>
#include <fstream>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <tenon/io/gguf.hpp>
#include <vector>

#include "program.hpp"
#include "serve/arrivals.hpp"
#include "serve/lengths.hpp"
#include "serve/policy_set.hpp"
#include "serve/report.hpp"
#include "serve/table.hpp"
#include "serve/trace.hpp"
#include "serve/workload.hpp"

namespace {

using nlohmann::ordered_json;

/// The arguments.
struct options {
  std::string model, trace, lengths = "azure_conv", json, csv;
  std::vector<std::string> policies = {"static", "continuous", "chunked"}, goodput;
  std::size_t requests = 100, max_concurrency = 0, max_num_seqs = 8, context = 0, step_tokens = 512,
              cache_tokens = 0;
  double rate = std::numeric_limits<double>::infinity(), burstiness = 1;
  serve::length_fit fit;
  std::uint64_t seed = 0;
  int threads = 0;
  bool detailed = false;
};

/// A policy set as an argument names it: "static", or "static_8" for 8 sequences at once.
struct chosen_set {
  std::string label;
  serve::policy_set set;
  std::size_t max_num_seqs;
};

/// What the arguments ask for.
struct bench {
  std::vector<chosen_set> sets;
  std::vector<serve::planned_request> requests;
  std::optional<tenon::measure::service_limits> limits;
};

chosen_set choose_set(const std::string& name, std::size_t max_num_seqs) {
  std::string known;
  for (const serve::policy_set& set : serve::all_policy_sets()) {
    known += tenon::concat(known.empty() ? "" : ", ", set.name);
    if (!name.starts_with(set.name)) continue;
    const std::string_view rest = std::string_view(name).substr(set.name.size());
    if (!rest.empty() && (rest[0] != '_' || !serve::read_number(rest.substr(1), max_num_seqs))) continue;
    if (max_num_seqs < 1 || max_num_seqs > set.most_sequences)
      throw serve::bad_input(tenon::concat("--policies has '", name, "', but ", set.name, " can run 1 to ",
                                           set.most_sequences, " sequences at once"));
    return {tenon::concat(set.name, "_", max_num_seqs), set, max_num_seqs};
  }
  throw serve::bad_input(tenon::concat("--policies has '", name, "'; there are ", known,
                                       ", each also with a number of sequences: static_8"));
}

std::vector<serve::planned_request> plan_requests(const options& o) {
  if (o.trace.empty()) {
    const auto arrivals = serve::arrivals(o.requests, o.rate, o.burstiness, o.seed);
    return serve::plan_requests(arrivals, serve::length_model::parse(o.lengths), o.fit, o.seed);
  }
  std::ifstream file(o.trace, std::ios::binary);
  if (!file) throw serve::bad_input(o.trace + " cannot be opened");
  return serve::cut_trace(serve::trace_reader(file, o.trace).read(), o.requests, o.fit);
}

/// Throws bad_input.
bench prepare(const options& o) {
  bench made;
  for (const std::string& name : o.policies) made.sets.push_back(choose_set(name, o.max_num_seqs));
  made.limits = serve::parse_goodput(o.goodput);
  made.requests = plan_requests(o);
  for (const std::string& path : {o.json, o.csv})  // before minutes are spent on what could not be kept
    if (!path.empty() && !std::ofstream(path, std::ios::app))
      throw serve::bad_input(path + " cannot be written");
  return made;
}

std::string date() {
  char text[32] = "";
  const std::time_t now = std::time(nullptr);
  std::strftime(text, sizeof text, "%Y%m%d-%H%M%S", std::localtime(&now));
  return text;
}

/// Infinite numbers have no spelling in JSON; vLLM has this one.
ordered_json number(double value) { return std::isinf(value) ? ordered_json("inf") : ordered_json(value); }

/// What was run, first in a run's object.
ordered_json settings_json(const options& o, const chosen_set& chosen, std::size_t requests) {
  const bool traced = !o.trace.empty();
  return {
      {"date", date()},
      {"backend", "tenon"},
      {"label", chosen.label},
      {"model_id", o.model},
      {"tokenizer_id", o.model},
      {"num_prompts", requests},
      {"request_rate", traced ? ordered_json(nullptr) : number(o.rate)},
      {"burstiness", traced ? ordered_json(nullptr) : number(o.burstiness)},
      {"max_concurrency", o.max_concurrency == 0 ? ordered_json(nullptr) : ordered_json(o.max_concurrency)},
      {"seed", o.seed},
      {"lengths", traced ? o.trace : o.lengths},
      {"length_scale", o.fit.scale},
      {"random_prefix_len", o.fit.prefix_len},
      {"max_num_seqs", chosen.max_num_seqs},
      {"max_num_batched_tokens", o.step_tokens},
      {"description", chosen.set.description}};
}

/// The longest request, for which a cache has to be made; no longer than the model can.
std::size_t longest(const std::vector<serve::planned_request>& requests) {
  std::size_t most = 1;
  for (const auto& r : requests) most = (std::max)(most, r.input_len + r.output_len);
  return most;
}

serve::run_outcome run(const options& o, const bench& b, const chosen_set& chosen) {
  loading_line line;
  serve::run_settings settings;
  settings.model = o.model;
  settings.options.max_batch = chosen.max_num_seqs;
  settings.options.context = o.context != 0 ? o.context : longest(b.requests);
  settings.options.max_step_tokens = o.step_tokens;
  settings.options.cache_tokens = o.cache_tokens;
  settings.options.threads = o.threads;
  settings.options.progress = std::ref(line);
  settings.requests = b.requests;
  settings.prefix_len = o.fit.prefix_len;
  settings.max_concurrency = o.max_concurrency;
  settings.seed = o.seed;
  return chosen.set.run(settings);
}

/// How many of a run's requests failed, and why the first one did.
std::string failures(const chosen_set& chosen, const serve::run_outcome& outcome) {
  std::size_t failed = 0;
  std::string first;
  for (const serve::request_record& r : outcome.requests) {
    if (!r.completed() && failed++ == 0) first = r.error;
  }
  if (failed == 0) return {};
  return tenon::concat("tenon-serve-bench: ", chosen.label, ": ", failed, " of ", outcome.requests.size(),
                       " requests failed; the first: ", first, "\n");
}

void write(const std::string& path, const std::function<void(std::ostream&)>& content) {
  if (path.empty()) return;
  std::ofstream file(path, std::ios::binary);
  content(file);
  if (!file.flush()) throw tenon::error(path + " could not be written");
}

/// All runs so far, so that a run that fails costs none of those before it.
void write_files(const options& o, std::span<const ordered_json> runs,
                 std::span<const ordered_json> details) {
  write(o.csv, [&](std::ostream& out) { serve::write_csv(out, runs); });
  write(o.json, [&](std::ostream& out) {
    ordered_json all = ordered_json::array();
    for (std::size_t i = 0; i < runs.size(); ++i) {
      all.push_back(runs[i]);
      all.back().update(details[i]);
    }
    out << all.dump(2) << '\n';
  });
}

void print_tables(std::span<const ordered_json> runs) {
  serve::print_table(std::cout, "throughput", serve::throughput_columns, runs);
  std::cout << '\n';
  serve::print_table(std::cout, "milliseconds", serve::latency_columns, runs);
  std::cout << '\n';
  serve::print_table(std::cout, "scheduler", serve::work_columns, runs);
}

void compare(const options& o, const bench& b) {
  tenon::io::gguf_file::open(o.model);  // one that cannot be read stops all
  std::vector<ordered_json> runs, details;
  std::string faults;
  for (const chosen_set& chosen : b.sets) {
    try {
      const serve::run_outcome outcome = run(o, b, chosen);
      ordered_json& made = runs.emplace_back(settings_json(o, chosen, b.requests.size()));
      made.update(serve::metrics_json(outcome.requests, b.limits));
      made.update(serve::work_json(outcome.work));
      details.push_back(o.detailed ? serve::details_json(outcome.requests) : ordered_json::object());
      std::cerr << failures(chosen, outcome);
      write_files(o, runs, details);
    } catch (const std::exception& fault) {
      faults += tenon::concat(faults.empty() ? "" : "; ", chosen.label, ": ", fault.what());
    }
  }
  if (!runs.empty()) print_tables(runs);
  if (!faults.empty()) throw tenon::error(faults);
}

void list_policies() {
  for (const serve::policy_set& set : serve::all_policy_sets())
    std::cout << set.name << ": " << set.what << "\n  " << set.description << '\n';
}

/// A number above 0, up to a bound, which may be infinite.
CLI::Validator positive(double most = std::numeric_limits<double>::infinity()) {
  return CLI::Validator(
      [most](const std::string& text) {
        double value = 0;
        if (serve::read_number(text, value) && value > 0 && value <= most) return std::string();
        return "'" + text + "' is no number above 0" + (std::isinf(most) ? "" : " and up to 1000");
      },
      "ABOVE 0");
}

void declare(CLI::App& app, options& o) {
  const auto add = [&](const char* names, auto& into, const char* help) {
    return app.add_option(names, into, help)->capture_default_str();
  };
  const auto whole = [](std::size_t low) { return CLI::Range(low, std::size_t{1} << 24); };
  add("-m,--model", o.model, "GGUF model file");
  add("--policies", o.policies,
      "policy sets to run, with commas between them; NAME_N runs N sequences at once")
      ->delimiter(',');
  add("--num-prompts,--requests", o.requests, "requests; of a trace, at most so many")->check(whole(1));
  CLI::Option* rate =
      add("--request-rate,--rate", o.rate, "requests per second; inf: all at once")->check(positive());
  CLI::Option* burstiness =
      add("--burstiness", o.burstiness, "shape of the gamma distribution of gaps; 1: Poisson, lower: bursts")
          ->check(positive());
  CLI::Option* lengths =
      add("--lengths", o.lengths,
          "lengths as in azure_code, azure_conv, mooncake_conversation, mooncake_synthetic or "
          "arxiv_summarization, or fixed:IN:OUT, or uniform:LOW-HIGH:LOW-HIGH");
  app.add_option("--trace", o.trace, "CSV file of arrivals and lengths, see below")
      ->excludes(rate)
      ->excludes(burstiness)
      ->excludes(lengths);
  add("--length-scale", o.fit.scale, "lengths are multiplied by this, for small models")
      ->check(positive(1000));
  add("--random-prefix-len", o.fit.prefix_len, "tokens that come first in every prompt, besides its own")
      ->check(whole(0));
  add("--max-concurrency", o.max_concurrency,
      "requests that are not sent before others have ended (0: no limit)")
      ->check(whole(0));
  add("--seed", o.seed, "of arrivals, lengths and prompts")->check(CLI::NonNegativeNumber);
  add("--goodput", o.goodput, "limits in ms that a good request meets: ttft:500 tpot:100 e2el:30000");
  add("--max-num-seqs", o.max_num_seqs, "sequences at once, where --policies does not say")->check(whole(1));
  add("--max-num-batched-tokens", o.step_tokens, "tokens in one step")->check(whole(1));
  add("-c,--ctx-size,--max-model-len", o.context, "positions of one sequence (default: the longest request)")
      ->check(whole(0));
  add("--cache-tokens", o.cache_tokens, "positions of paged caches (default: a context for each sequence)")
      ->check(whole(0));
  add("-t,--threads", o.threads, "default: one for each processor")->check(CLI::Range(0, 1024));
  add("--json", o.json, "file for all results, with vLLM's names");
  add("--csv", o.csv, "file for all results, one row for each policy set");
  app.add_flag("--save-detailed", o.detailed, "the JSON file has each request's figures, too");
  app.footer(
      "A trace has a first row that names its columns, of which it needs arrival (seconds, ascending), "
      "input_len and\n"
      "output_len (tokens). Exit codes: 0; 1 when something failed; 2 for arguments or a trace that cannot "
      "be used.");
}

}  // namespace

int main(int count, char** arguments) {
  CLI::App app("Serving policies under the same load.", "tenon-serve-bench");
  options o;
  bench prepared;
  bool list = false;
  declare(app, o);
  app.add_flag("--list", list, "print the policy sets, and what they are made of");
  app.callback([&] {
    if (list) return;
    if (o.model.empty()) throw CLI::RequiredError("--model");
    try {
      prepared = prepare(o);
    } catch (const serve::bad_input& fault) {
      throw CLI::ValidationError(fault.what());
    }
  });
  constexpr int bad_usage = 2;
  return run_program(
      app, count, arguments, [&] { list ? list_policies() : compare(o, prepared); }, bad_usage);
}
