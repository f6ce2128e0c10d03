// tenon-bench-kernels: runs the operations of the CUDA backend one by one and writes what each has to move and compute,
// which kernels it launched, and how long they took, as JSON. report.py makes tables of it, and of what an emulator counted.
#include <algorithm>
#include <CLI/CLI.hpp>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "program.hpp"
#include "run_case.hpp"
#include "tenon/backend/cuda/device.hpp"

namespace {

using tenon::bench::kernel_case;

struct options {
  std::vector<std::string> only;
  std::string output;
  bool quick = false, list = false;
  int repetitions = 21;
};

std::vector<kernel_case> all_cases() {
  std::vector<kernel_case> cases;
  for (const auto& family :
       {tenon::bench::f16_product_cases, tenon::bench::int8_product_cases, tenon::bench::attention_cases,
        tenon::bench::sampling_cases, tenon::bench::row_cases}) {
    for (kernel_case& each : family()) cases.push_back(std::move(each));
  }
  return cases;
}

bool wanted(const kernel_case& c, const options& given) {
  if (given.quick && c.slow) return false;
  const auto in_name = [&](const std::string& part) { return c.name.find(part) != std::string::npos; };
  return given.only.empty() || std::any_of(given.only.begin(), given.only.end(), in_name);
}

nlohmann::json as_json(const kernel_case& c) {
  return {{"name", c.name},
          {"kind", c.kind},
          {"read_bytes", c.read_bytes},
          {"write_bytes", c.write_bytes},
          {"useful_flops", c.useful_flops},
          {"working_blocks", c.working_blocks},
          {"step", c.step},
          {"times", c.times},
          {"slow", c.slow}};
}

nlohmann::json as_json(const tenon::bench::kernel_launch& l) {
  return {{"name", l.name},
          {"grid", l.grid},
          {"block", l.block},
          {"shared", l.dynamic_shared + l.static_shared},
          {"local_bytes", l.local_bytes},
          {"registers", l.registers},
          {"blocks_per_multiprocessor", l.blocks_per_multiprocessor}};
}

nlohmann::json measured(const kernel_case& c, int repetitions) {
  nlohmann::json made = as_json(c);
  const tenon::bench::case_run run = tenon::bench::run_case(c, repetitions);
  for (const auto& each : run.launches) made["launches"].push_back(as_json(each));
  if (run.microseconds) made["microseconds"] = *run.microseconds;
  return made;
}

void report(const options& given) {
  nlohmann::json made = {{"cases", nlohmann::json::array()}};
  if (!given.list) {
    const auto device = tenon::cuda::device_info::of(0);
    device.require();
    made["device"] = {{"name", device.name},
                      {"capability", device.capability},
                      {"multiprocessors", device.multiprocessors},
                      {"counts", tenon::bench::runtime_counts()}};
  }
  for (const kernel_case& each : all_cases()) {
    if (wanted(each, given))
      made["cases"].push_back(given.list ? as_json(each) : measured(each, given.repetitions));
  }
  if (given.output.empty()) {
    std::cout << made.dump(1) << '\n';
    return;
  }
  std::ofstream file(given.output);
  file << made.dump(1) << '\n';
  if (!file.flush()) throw std::runtime_error(given.output + " cannot be written");
}

}  // namespace

int main(int count, char** arguments) {
  CLI::App app("Runs each operation of tenon's CUDA backend by itself; report.py makes tables of it.",
               "tenon-bench-kernels");
  options o;
  app.add_option("--only", o.only, "cases whose name has one of these parts");
  app.add_flag("--quick", o.quick, "leave out what takes long on an emulator, as the tests do");
  app.add_flag("--list", o.list, "describe the cases, and run none");
  app.add_option("--repetitions", o.repetitions, "runs of which to take the median, after one to warm up")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  app.add_option("--output", o.output, "file for the JSON, else standard output");
  return run_program(app, count, arguments, [&] { report(o); });
}
