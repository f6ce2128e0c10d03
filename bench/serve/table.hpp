// Runs side by side: as tables for a terminal, one row for each run, and as CSV.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iomanip>
#include <nlohmann/json.hpp>
#include <ostream>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace serve {

/// A column of a table: a field of the runs' JSON objects.
struct column {
  std::string_view title, field;
  int decimals = 0;
};

inline constexpr column throughput_columns[] = {{"done", "completed"},
                                                {"failed", "failed"},
                                                {"seconds", "duration", 2},
                                                {"req/s", "request_throughput", 2},
                                                {"goodput", "request_goodput", 2},
                                                {"out tok/s", "output_throughput", 1},
                                                {"tok/s", "total_token_throughput", 1},
                                                {"peak tok/s", "max_output_tokens_per_s"},
                                                {"peak req", "max_concurrent_requests"}};
inline constexpr column latency_columns[] = {
    {"TTFT mean", "mean_ttft_ms", 1}, {"median", "median_ttft_ms", 1}, {"p99", "p99_ttft_ms", 1},
    {"TPOT mean", "mean_tpot_ms", 1}, {"median", "median_tpot_ms", 1}, {"p99", "p99_tpot_ms", 1},
    {"ITL mean", "mean_itl_ms", 1},   {"median", "median_itl_ms", 1},  {"p99", "p99_itl_ms", 1},
    {"E2EL mean", "mean_e2el_ms", 1}, {"median", "median_e2el_ms", 1}, {"p99", "p99_e2el_ms", 1}};
inline constexpr column work_columns[] = {{"steps", "steps"},
                                          {"computed", "computed_tokens"},
                                          {"recomputed", "recomputed_tokens"},
                                          {"preemptions", "preemptions"},
                                          {"prefix queries", "prefix_cache_queries"},
                                          {"prefix hits", "prefix_cache_hits"}};

namespace detail {

inline std::string cell(const nlohmann::ordered_json& value, int decimals) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_number()) return "-";
  std::ostringstream text;
  text << std::fixed << std::setprecision(decimals) << value.get<double>();
  return text.str();
}

/// As RFC 4180 has it.
inline std::string csv_cell(const nlohmann::ordered_json& value) {
  if (value.is_null()) return "";
  if (!value.is_string()) return value.dump();
  const auto& text = value.get_ref<const std::string&>();
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + '"';
}

}  // namespace detail

/// A heading, a row of titles, and a row for each run that begins with its label. What a run does not have is "-".
inline void print_table(std::ostream& out, std::string_view heading, std::span<const column> columns,
                        std::span<const nlohmann::ordered_json> runs) {
  std::vector<std::vector<std::string>> rows(1, {std::string(heading)});
  for (const column& c : columns) rows[0].emplace_back(c.title);
  for (const auto& run : runs) {
    std::vector<std::string>& row = rows.emplace_back();
    row.push_back(detail::cell(run.at("label"), 0));
    for (const column& c : columns) row.push_back(detail::cell(run.at(c.field), c.decimals));
  }
  std::vector<std::size_t> widths(rows[0].size());
  for (const auto& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = (std::max)(widths[i], row[i].size());
  for (const auto& row : rows) {
    out << std::left << std::setw(static_cast<int>(widths[0])) << row[0] << std::right;
    for (std::size_t i = 1; i < row.size(); ++i)
      out << "  " << std::setw(static_cast<int>(widths[i])) << row[i];
    out << '\n';
  }
}

/// All fields of runs that have the same, none of which are lists: a row of names, and one for each run.
inline void write_csv(std::ostream& out, std::span<const nlohmann::ordered_json> runs) {
  const auto row = [&](const nlohmann::ordered_json& run, auto&& text_of) {
    std::string_view separator;
    for (const auto& [name, value] : run.items()) {
      out << separator << text_of(name, value);
      separator = ",";
    }
    out << "\r\n";
  };
  if (!runs.empty()) row(runs.front(), [](const std::string& name, const auto&) { return name; });
  for (const auto& run : runs)
    row(run, [](const std::string&, const auto& value) { return detail::csv_cell(value); });
}

}  // namespace serve
