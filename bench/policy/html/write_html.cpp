#include "policy/html.hpp"

#include <nlohmann/json.hpp>
#include <string>

#include "policy/html/report_page.hpp"

namespace policy_bench {
namespace {

/// JSON that a script element can hold. No "<" is left in it, by which the element could end or a comment begin (JSON has it
/// in strings only, where it may be escaped), and nothing beyond ASCII, as some line separators are.
std::string embeddable(const nlohmann::ordered_json& report) {
  constexpr bool ascii = true;
  const std::string json = report.dump(-1, ' ', ascii, nlohmann::ordered_json::error_handler_t::replace);
  std::string safe;
  safe.reserve(json.size());
  for (const char c : json)
    if (c == '<') safe += "\\u003c";
    else safe += c;
  return safe;
}

}  // namespace

void write_html(std::ostream& out, const nlohmann::ordered_json& report) {
  for (const auto part : report_page::before_report) out << part;
  out << embeddable(report);
  for (const auto part : report_page::after_report) out << part;
}

}  // namespace policy_bench
