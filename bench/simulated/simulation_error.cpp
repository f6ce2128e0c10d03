// tenon-simulation-error: how far backend::simulated is off. Beside published figures of engines on A100s and 4090s; and, with a
// model, beside the host engine on this machine, in the same run.
#include <CLI/CLI.hpp>
#include <cmath>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "program.hpp"
#include "serve/arrivals.hpp"
#include "serve/engine_clock.hpp"
#include "serve/lengths.hpp"
#include "serve/report.hpp"
#include "serve/table.hpp"
#include "serve/workload.hpp"
#include "simulated/published.hpp"
#include "simulated/this_machine.hpp"

namespace {

using namespace simulated_error;
using nlohmann::ordered_json;

constexpr serve::column published_columns[] = {{"device", "device"},
                                               {"model", "model"},
                                               {"weights", "weights"},
                                               {"batch", "batch"},
                                               {"prompt", "prompt"},
                                               {"answer", "output"},
                                               {"figure", "figure"},
                                               {"published", "published", 1},
                                               {"simulated", "simulated", 1},
                                               {"off %", "error_percent", 1},
                                               {"with 1 ms", "simulated_slow_host", 1},
                                               {"off %", "error_percent_slow_host", 1}};
constexpr serve::column host_columns[] = {
    {"measured", "measured", 3}, {"simulated", "simulated", 3}, {"off %", "error_percent", 1}};

double percent_off(double simulated, double real) { return 100 * (simulated / real - 1); }

ordered_json beside_published() {
  using tenon::device::host_gap;
  ordered_json rows = ordered_json::array();
  for (const published_run& run : published_runs) {
    const double fast = simulate<host_gap<100>>(run), slow = simulate<host_gap<1000>>(run);
    rows.push_back({{"label", run.source},
                    {"device", run.device},
                    {"model", run.model},
                    {"weights", run.weights},
                    {"batch", run.batch},
                    {"prompt", run.prompt},
                    {"output", run.output},
                    {"figure", run.what == figure::first_token_ms ? "TTFT ms" : "out tok/s"},
                    {"published", run.value},
                    {"simulated", fast},
                    {"error_percent", percent_off(fast, run.value)},
                    {"simulated_slow_host", slow},
                    {"error_percent_slow_host", percent_off(slow, run.value)}});
  }
  return rows;
}

ordered_json row(std::string label, double measured, double simulated) {
  return {{"label", std::move(label)},
          {"measured", measured},
          {"simulated", simulated},
          {"error_percent", percent_off(simulated, measured)}};
}

std::string text_of(const point& p) {
  return tenon::concat(p.decodes ? "TPOT ms, batch of " : "TTFT ms, prompt of ",
                       p.decodes ? p.batch : p.prompt,
                       p.decodes ? tenon::concat(" at ", p.prompt) : std::string());
}

/// The same requests, at the same times; the fields of `vllm bench serve`.
template <class Engine, class Clock>
ordered_json serve_load(Engine& engine, Clock&& clock, std::span<const serve::planned_request> requests) {
  const auto prompts = serve::make_prompts(requests, 0, 1000, 1);
  return serve::metrics_json(serve::driver(engine, clock, requests, prompts, 0).run(), std::nullopt);
}

/// Requests as in a conversation service at a tenth of its lengths, at six tenths of what the machine can carry.
std::vector<serve::planned_request> load_for(const std::string& model) {
  constexpr std::size_t count = 60;
  const auto lengths = serve::length_model::parse("azure_conv");
  const auto requests_at = [&](double rate) {
    return serve::plan_requests(serve::arrivals(count, rate, 1, 1), lengths, {.scale = 0.1}, 1);
  };
  simulated_engine engine = simulate_this_machine(model);
  const ordered_json at_once =
      serve_load(engine, serve::engine_clock(engine), requests_at(std::numeric_limits<double>::infinity()));
  return requests_at(0.6 * at_once["request_throughput"].get<double>());
}

ordered_json beside_this_machine(const std::string& model, int runs) {
  loading_line line;
  host_engine host = host_engine::load(model, {.max_step_tokens = 1024, .progress = std::ref(line)});
  calibrate(model, host, runs);
  ordered_json rows = ordered_json::array();
  for (const point& p : predicted_points) {
    simulated_engine simulated = simulate_this_machine(model);
    rows.push_back(row(text_of(p), 1e3 * figure_of(host, p, runs), 1e3 * figure_of(simulated, p)));
  }
  const auto requests = load_for(model);
  simulated_engine simulated = simulate_this_machine(model);
  const ordered_json predicted = serve_load(simulated, serve::engine_clock(simulated), requests);
  const ordered_json measured = serve_load(host, serve::steady_clock(), requests);
  for (const auto& [field, what] : {std::pair{"output_throughput", "under load: out tok/s"},
                                    {"mean_ttft_ms", "under load: mean TTFT ms"},
                                    {"mean_tpot_ms", "under load: mean TPOT ms"},
                                    {"p99_itl_ms", "under load: p99 ITL ms"}})
    rows.push_back(row(what, measured[field], predicted[field]));
  return rows;
}

double mean_error(const ordered_json& rows, const char* field) {
  double sum = 0;
  for (const ordered_json& each : rows) sum += std::abs(each[field].get<double>());
  return sum / static_cast<double>(rows.size());
}

std::vector<ordered_json> list(const ordered_json& rows) { return {rows.begin(), rows.end()}; }

void compare(const std::string& model, int runs, const std::string& json) {
  ordered_json all = {{"published", beside_published()}};
  serve::print_table(std::cout, "published by", published_columns, list(all["published"]));
  std::cout << "\nmean error: " << mean_error(all["published"], "error_percent")
            << " %; with a host that takes 1 ms "
            << "between steps: " << mean_error(all["published"], "error_percent_slow_host") << " %\n";
  if (!model.empty()) {
    all["this_machine"] = beside_this_machine(model, runs);
    const tenon::device::description d = this_machine::describe();
    std::cout << "\nThis machine, by three figures of its engine: " << d.bandwidth / 1e9 << " GB/s, "
              << d.product_efficiency * d.flops_16 / 1e9 << " GFLOP/s in products, "
              << d.attention_efficiency * d.flops_16 / 1e9 << " in attention. Others, predicted:\n\n";
    serve::print_table(std::cout, "", host_columns, list(all["this_machine"]));
    std::cout << "\nmean error: " << mean_error(all["this_machine"], "error_percent") << " %\n";
  }
  if (json.empty()) return;
  std::ofstream file(json, std::ios::binary);
  file << all.dump(2) << '\n';
  if (!file.flush()) throw tenon::error(json + " could not be written");
}

}  // namespace

int main(int count, char** arguments) {
  CLI::App app("How far simulated engines are off.", "tenon-simulation-error");
  std::string model, json;
  int runs = 5;
  app.add_option("-m,--model", model,
                 "GGUF model file, to compare with the host engine on this machine, too");
  app.add_option("-r,--repetitions", runs,
                 "runs of the host engine for each figure, of which the best counts")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--json", json, "file for all figures");
  constexpr int bad_usage = 2;
  return run_program(
      app, count, arguments, [&] { compare(model, runs, json); }, bad_usage);
}
