// tenon-case-study: a textbook's 7B model on an A100, first in a static and then in a continuous batch, replayed on
// backend::simulated: whether its figures fit together, where a good engine lands, and what further policies add.
#include <CLI/CLI.hpp>
#include <cmath>
#include <fstream>
#include <iostream>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "case_study/study.hpp"
#include "program.hpp"
#include "serve/table.hpp"

namespace {

using namespace case_study;

constexpr serve::column reconciliation_columns[] = {
    {"reported TPOT", "reported_tpot_ms"}, {"tok/s of a full batch", "throughput_of_full_batch"},
    {"GB a step", "step_gb", 1},           {"% of bandwidth", "bandwidth_percent"},
    {"device ms", "device_ms", 1},         {"lost ms", "lost_ms", 1}};
constexpr serve::column load_columns[] = {{"out tok/s", "output_throughput"},
                                          {"TTFT mean", "mean_ttft_ms"},
                                          {"median", "median_ttft_ms"},
                                          {"p99", "p99_ttft_ms"},
                                          {"TPOT mean", "mean_tpot_ms", 1},
                                          {"p99", "p99_tpot_ms", 1},
                                          {"ITL p99", "p99_itl_ms", 1},
                                          {"batch", "mean_batch", 1},
                                          {"goodput", "request_goodput", 2},
                                          {"good %", "good_percent", 1},
                                          {"longest wait s", "longest_wait_s", 1},
                                          {"starved %", "starved_percent", 1},
                                          {"preempted", "preemptions"}};
constexpr serve::column capacity_columns[] = {{"req/s", "rate", 2},
                                              {"out tok/s", "output_throughput"},
                                              {"TTFT p99", "p99_ttft_ms"},
                                              {"TPOT mean", "mean_tpot_ms", 1},
                                              {"batch", "mean_batch", 1}};

/// As in 1, or 33.7.
std::string decimal(double value) {
  std::ostringstream text;
  text << value;
  return text.str();
}

void print(const std::string& title, std::string_view heading, std::span<const serve::column> columns,
           const ordered_json& rows) {
  std::cout << title << "\n\n";
  serve::print_table(std::cout, heading, columns, std::vector<ordered_json>(rows.begin(), rows.end()));
  std::cout << '\n';
}

void study(const std::string& json, const std::vector<double>& rates, const settings& s) {
  ordered_json all = {{"reported", ordered_json::array()},
                      {"requests", s.requests},
                      {"burstiness", s.burstiness},
                      {"seed", s.seed}};
  for (const reported_system& r : {reported_static, reported_continuous}) {
    all["reported"].push_back({{"batch", r.batch},
                               {"ttft_ms", r.ttft_ms},
                               {"tpot_ms", r.tpot_ms},
                               {"output_throughput", r.output_throughput}});
  }
  std::cout
      << "A 7B model in 16 bits on one A100-80GB, requests of up to " << max_length
      << " tokens. Reported: static batch of 8, TTFT 800 ms,\nTPOT 45 ms, 180 tok/s; continuous batch of 16, "
         "450 ms, 38 ms, 420 tok/s. All that follows is simulated, in ms where\nnothing else is said.\n\n";

  all["reconciliation"] = reconciliation();
  print(
      "1. Do the figures fit? The rates are those of full batches; but a step moves too little for its time. "
      "What is "
      "lost is\n   not the device's: its host must have taken that long between two steps.",
      "", reconciliation_columns, all["reconciliation"]);

  all["full_batches"] = full_batches(s);
  print(tenon::concat(
            "2. As many users as places, each sending when answered. Slow host: ",
            decimal(static_gap_us / 1e3), " and ", decimal(continuous_gap_us / 1e3),
            " ms between two steps, as found above;\n   fast host: 0.1 ms. A static batch is full only while "
            "its requests are alike."),
        "", load_columns, all["full_batches"]);

  all["loads"] = ordered_json::array();
  for (const double rate : rates) {
    const auto rows = under_load(rate, s);
    all["loads"].push_back({{"rate", rate}, {"rows", rows}});
    print(tenon::concat(
              "3. ", decimal(rate),
              " requests a second, arriving unevenly, lengths as in the Azure conversation trace; good: "
              "TTFT up to 500, TPOT up to 100;\n   starved: waited more than 10 s. Caches take 16 GiB."),
          "", load_columns, rows);
  }

  all["capacity"] = ordered_json::array();
  for (const candidate& c : good_engines()) all["capacity"].push_back(capacity(c, s));
  print("4. The highest rate at which nine requests in ten are good", "", capacity_columns, all["capacity"]);

  if (json.empty()) return;
  std::ofstream file(json, std::ios::binary);
  file << all.dump(2) << '\n';
  if (!file.flush()) throw tenon::error(json + " could not be written");
}

}  // namespace

int main(int count, char** arguments) {
  CLI::App app("A textbook's static and continuous batches on a simulated A100.", "tenon-case-study");
  std::string json;
  settings s;
  bool speed = false;
  std::vector<double> rates = {1, 2};
  const auto number = CLI::Range(1e-3, 1e3);
  app.add_option("--json", json, "file for all figures");
  app.add_option("--request-rate,--rate", rates, "loads of part 3, requests a second")
      ->delimiter(',')
      ->check(number)
      ->capture_default_str();
  app.add_option("--num-prompts,--requests", s.requests, "requests of each load")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  app.add_option("--burstiness", s.burstiness, "shape of the gamma distribution of gaps; 1: Poisson")
      ->check(number)
      ->capture_default_str();
  app.add_option("--seed", s.seed, "of arrivals and lengths")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_flag("--speed", speed, "say at last how many requests were simulated in how long");
  constexpr int bad_usage = 2;
  const auto body = [&] {
    const auto begin = tenon::measure::clock::now();
    study(json, rates, s);
    if (!speed) return;
    const double seconds = tenon::measure::seconds(begin, tenon::measure::clock::now());
    std::cout << "\n"
              << simulated_requests() << " requests simulated in " << decimal(seconds)
              << " s: " << std::llround(static_cast<double>(simulated_requests()) / seconds) << " a second\n";
  };
  return run_program(app, count, arguments, body, bad_usage);
}
