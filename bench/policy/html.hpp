// A report of the policy bench as one HTML file: the JSON (see report.hpp), and the page of html/page/ that draws it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <ostream>

namespace policy_bench {

/// Writes a page that needs no other file and no network, whatever is in the report's strings. Bytes that are no UTF-8 become
/// U+FFFD. The caller checks the stream.
void write_html(std::ostream& out, const nlohmann::ordered_json& report);

}  // namespace policy_bench
