// Reads a trace: a CSV file of when requests arrive, and how long they are.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <istream>
#include <string>
#include <string_view>
#include <tenon/core/concat.hpp>
#include <vector>

#include "serve/bad_input.hpp"
#include "serve/planned_request.hpp"
#include "serve/text.hpp"

namespace serve {

/// The columns that a trace must have, in any order and among others.
inline constexpr std::array<std::string_view, 3> trace_columns = {"arrival", "input_len", "output_len"};

/// Reads the lines of one trace; `name` is for errors, which count rows and columns from 1.
class trace_reader {
 public:
  trace_reader(std::istream& stream, std::string name) : stream_(stream), name_(std::move(name)) {}

  /// Throws bad_input for what cannot be read.
  std::vector<planned_request> read() {
    read_header();
    std::vector<planned_request> requests;
    while (next_row()) {
      if (fields_.size() == 1 && fields_[0].empty()) continue;  // an empty line
      if (fields_.size() != width_)
        fail(tenon::concat("row ", row_, " has ", fields_.size(), " columns, the first has ", width_));
      planned_request request{arrival(), length(1), length(2)};
      if (!requests.empty() && request.arrival < requests.back().arrival)
        fail_at(0, "is earlier than the row before; sort the file by arrival");
      requests.push_back(request);
    }
    if (requests.empty()) fail("there is no request in it");
    return requests;
  }

 private:
  bool next_row() {
    if (!std::getline(stream_, line_)) {
      if (stream_.bad() || !stream_.eof()) fail("it cannot be read");
      return false;
    }
    ++row_;
    if (!line_.empty() && line_.back() == '\r') line_.pop_back();
    fields_ = split(line_, ',');
    return true;
  }

  void read_header() {
    const std::string wanted = tenon::concat("a first row that names the columns ", trace_columns[0], ", ",
                                             trace_columns[1], " and ", trace_columns[2]);
    if (!next_row()) fail(tenon::concat("it is empty; it needs ", wanted));
    width_ = fields_.size();
    for (std::size_t i = 0; i < trace_columns.size(); ++i) {
      std::size_t found = 0;
      while (found < width_ && fields_[found] != trace_columns[i]) ++found;
      if (found == width_)
        fail(tenon::concat("row 1 has no column ", trace_columns[i], "; it needs ", wanted));
      places_[i] = found;
    }
  }

  double arrival() {
    double seconds = 0;
    if (!read_number(fields_[places_[0]], seconds) || !std::isfinite(seconds) || seconds < 0 || seconds > 1e9)
      fail_at(0, "is no number of seconds from 0 to 1e9");
    return seconds;
  }

  std::size_t length(std::size_t column) {
    std::size_t tokens = 0;
    if (!read_length(fields_[places_[column]], tokens))
      fail_at(column, tenon::concat("is no number of tokens from 1 to ", longest_length));
    return tokens;
  }

  [[noreturn]] void fail(std::string_view why) const { throw bad_input(tenon::concat(name_, ": ", why)); }
  [[noreturn]] void fail_at(std::size_t column, std::string_view why) const {
    fail(tenon::concat("row ", row_, ", column ", places_[column] + 1, " (", trace_columns[column], "): '",
                       fields_[places_[column]], "' ", why));
  }

  std::istream& stream_;
  std::string name_, line_;
  std::vector<std::string_view> fields_;  // of line_
  std::size_t row_ = 0, width_ = 0;
  std::array<std::size_t, trace_columns.size()> places_ = {};
};

}  // namespace serve
