// tenon-policy-html: the HTML page of a report that the policy bench has written as JSON.
#include <CLI/CLI.hpp>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "policy/html.hpp"
#include "program.hpp"

namespace {

nlohmann::ordered_json read_report(const std::string& path) {
  std::ifstream file(path);
  const auto report = nlohmann::ordered_json::parse(read_all(file, path), nullptr, false);
  if (report.is_discarded()) throw std::runtime_error(path + " is no JSON");
  if (!report.is_object() || !report.contains("workloads") || !report["workloads"].is_array())
    throw std::runtime_error(
        path + " is no report: it has no list of workloads; give what --json of a policy bench wrote");
  return report;
}

}  // namespace

int main(int count, char** arguments) {
  CLI::App app("Writes the HTML page of a policy bench's JSON to standard output.", "tenon-policy-html");
  std::string path;
  app.add_option("report", path, "the JSON file")->required();
  return run_program(
      app, count, arguments, [&] { policy_bench::write_html(std::cout, read_report(path)); }, 2);
}
