// How long prompts and answers are: distributions of published traces, or a plain choice.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <tenon/core/concat.hpp>
#include <utility>
#include <vector>

#include "serve/bad_input.hpp"
#include "serve/text.hpp"

namespace serve {

/// An inverse distribution function in straight lines between points.
class quantile_curve {
 public:
  struct point {
    double share;   // 0 for the first point, 1 for the last, ascending
    double length;  // in tokens
  };
  explicit quantile_curve(std::vector<point> points) : points_(std::move(points)) {}

  /// The length that this share, 0 to 1, of all does not exceed.
  double at(double share) const {
    const auto right = std::find_if(points_.begin() + 1, points_.end() - 1,
                                    [&](const point& p) { return p.share >= share; });
    const auto left = right - 1;
    return left->length +
           (right->length - left->length) * (share - left->share) / (right->share - left->share);
  }

  /// Whole numbers from low to high, all equally likely once rounded.
  static quantile_curve uniform(double low, double high) {
    return quantile_curve({{0, low - 0.5}, {1, high + 0.5}});
  }

  /// A trace's 5, 25, 50, 75, 90, 95 and 99 % quantiles. Below them it goes down to 1 token; above, where nothing is
  /// published, lengths stay at the last.
  static quantile_curve published(const std::array<double, 7>& q) {
    return quantile_curve({{0, 1},
                           {0.05, q[0]},
                           {0.25, q[1]},
                           {0.5, q[2]},
                           {0.75, q[3]},
                           {0.9, q[4]},
                           {0.95, q[5]},
                           {0.99, q[6]},
                           {1, q[6]}});
  }

 private:
  std::vector<point> points_;
};

/// A service whose lengths were published.
struct published_lengths {
  std::string_view name;
  std::array<double, 7> input, output;  // quantiles as above
};

/// Azure: the LLM inference traces of 2023. Mooncake: the traces of its FAST 2025 paper. arXiv summarisation: the trace
/// of the simulator Vidur. Lengths of prompts and answers hardly depend on each other in them (correlation 0.0 to 0.1).
inline constexpr published_lengths published_traces[] = {
    {"azure_code", {75, 578, 1469, 2744, 5187, 7303, 7436}, {6, 9, 13, 24, 55, 90, 251}},
    {"azure_conv", {181, 396, 1020, 1189, 2734, 4083, 4142}, {41, 85, 129, 395, 424, 451, 601}},
    {"mooncake_conversation",
     {901, 2306, 6909, 15367, 27367, 39550, 85400},
     {10, 156, 350, 472, 597, 698, 1118}},
    {"mooncake_synthetic", {22, 277, 11587, 23175, 38611, 48904, 66456}, {2, 11, 69, 250, 389, 519, 768}},
    {"arxiv_summarization", {748, 1986, 2730, 3370, 3702, 3813, 3933}, {60, 115, 167, 242, 372, 736, 3271}},
};

/// The lengths of a workload's prompts and answers, independent of each other.
struct length_model {
  quantile_curve input, output;

  /// A name from published_traces, "fixed:IN:OUT" or "uniform:LOW-HIGH:LOW-HIGH". Throws bad_input.
  static length_model parse(std::string_view text);
};

namespace detail {

/// "LOW-HIGH" or, with `ends` 1, "LENGTH".
inline bool read_curve(std::string_view text, std::size_t ends, std::vector<quantile_curve>& into) {
  std::size_t low = 0, high = 0;
  const auto parts = split(text, '-');
  if (parts.size() != ends || !read_length(parts.front(), low) || !read_length(parts.back(), high) ||
      low > high)
    return false;
  into.push_back(ends == 1 ? quantile_curve({{0, static_cast<double>(low)}, {1, static_cast<double>(low)}})
                           : quantile_curve::uniform(static_cast<double>(low), static_cast<double>(high)));
  return true;
}

}  // namespace detail

inline length_model length_model::parse(std::string_view text) {
  std::string names;
  for (const published_lengths& trace : published_traces) {
    if (trace.name == text)
      return {quantile_curve::published(trace.input), quantile_curve::published(trace.output)};
    names = tenon::concat(names, trace.name, ", ");
  }
  const auto parts = split(text, ':');
  std::vector<quantile_curve> curves;
  if (parts.size() == 3 && (parts[0] == "fixed" || parts[0] == "uniform")) {
    const std::size_t ends = parts[0] == "fixed" ? 1 : 2;
    if (detail::read_curve(parts[1], ends, curves) && detail::read_curve(parts[2], ends, curves))
      return {curves[0], curves[1]};
  }
  throw bad_input(tenon::concat("--lengths has '", text, "'; give one of ", names,
                                "fixed:IN:OUT or uniform:LOW-HIGH:LOW-HIGH, with 1 to ", longest_length,
                                " tokens"));
}

}  // namespace serve
