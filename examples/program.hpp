// What the command-line programs share: how they end, and how they say that loading takes long.
#pragma once

#include <unistd.h>
#include <algorithm>
#include <chrono>
#include <CLI/CLI.hpp>
#include <exception>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <tenon/backend/host/load.hpp>
#include <utility>

/// Reads the arguments and runs `body`. Returns the exit code: 0, or after one line on stderr `bad_usage` for arguments
/// that cannot be used and 1 for everything else.
template <class Body>
int run_program(CLI::App& app, int count, char** arguments, Body&& body, int bad_usage = 1) {
  const auto fail = [&](std::string message, int code = 1) {
    std::replace(message.begin(), message.end(), '\n', ' ');
    std::cerr << app.get_name() << ": " << message << '\n';
    return code;
  };
  try {
    app.parse(count, arguments);
    body();
    if (!std::cout.flush()) throw std::runtime_error("standard output could not be written");
    return 0;
  } catch (const CLI::ParseError& end) {
    if (end.get_exit_code() == 0) return app.exit(end);  // --help
    return fail(end.what() + std::string(" (see --help)"), bad_usage);
  } catch (const std::exception& fault) {
    return fail(fault.what());
  }
}

/// All bytes of a stream; `name` is for the error.
inline std::string read_all(std::istream& stream, const std::string& name) {
  std::ostringstream bytes;
  if (stream.peek() != std::istream::traits_type::eof()) bytes << stream.rdbuf();
  if (stream.bad() || !bytes || (stream.fail() && !stream.eof()))
    throw std::runtime_error(name + " cannot be read");
  return std::move(bytes).str();
}

/// A line on stderr while weights are loaded, once that takes more than a second. Only on a terminal:
/// elsewhere stderr is for one line that says what went wrong, or for a summary.
class loading_line {
 public:
  ~loading_line() {
    if (shown_) std::cerr << "\r\033[K" << std::flush;
  }

  void operator()(const tenon::load_progress& progress) {
    if (!terminal_ || clock::now() - start_ < std::chrono::seconds(1)) return;
    shown_ = true;
    std::cerr << "\rloading the model: " << progress.done / 1'000'000 << " of " << progress.total / 1'000'000
              << " MB" << std::flush;
  }

 private:
  using clock = std::chrono::steady_clock;
  bool terminal_ = isatty(STDERR_FILENO) != 0;
  bool shown_ = false;
  clock::time_point start_ = clock::now();
};
