// The page of page/ in parts, as html.cmake compiles it in: between the two goes the report's JSON.
#pragma once

#include <span>
#include <string_view>

namespace policy_bench::report_page {

extern const std::span<const std::string_view> before_report, after_report;

}  // namespace policy_bench::report_page
