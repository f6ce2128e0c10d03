// The exceptions that tenon throws. Everything derives from tenon::error, so one handler catches all of them.
// The headers never print, abort or exit: a caller that wants to go on after an error can.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

#include "tenon/core/concat.hpp"

namespace tenon {

/// The base of all errors that tenon reports. what() says what was wrong and what to do.
class error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A model file that cannot be used: broken, unsupported, or not what the engine was built for.
class load_error : public error {
 public:
  /// `file` is a path or "<memory>", `offset` the byte in it where the fault lies (0 when it is not in one
  /// place).
  [[gnu::cold]] load_error(std::string file, std::uint64_t offset, const std::string& message)
      : error(offset != 0 ? concat(file, " (byte ", offset, "): ", message) : concat(file, ": ", message)),
        file_(std::move(file)),
        offset_(offset) {}

  const std::string& file() const { return file_; }
  std::uint64_t offset() const { return offset_; }

 private:
  std::string file_;
  std::uint64_t offset_;
};

/// A request that cannot be served: bad parameters, or a prompt that does not fit. Other requests are not
/// touched.
class request_error : public error {
 public:
  using error::error;
};

}  // namespace tenon
