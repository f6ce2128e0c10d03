// A whole file as read-only memory. Pages come from the disk when they are first touched, so that opening a
// model of many gigabytes is instant and programs that use the same file share its memory. POSIX (Linux,
// macOS).
#pragma once

#include "tenon/core/concat.hpp"
#include "tenon/core/error.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <system_error>
#include <utility>

namespace tenon::io {

/// A read-only mapping of a regular file. The file must not be made shorter while it is mapped: the system
/// answers a touch of a page that is gone with SIGBUS.
class mapped_file {
 public:
  /// Maps `path`. load_error when it cannot be opened, is no regular file, or does not fit the address space.
  [[gnu::cold]] explicit mapped_file(const std::string& path) {
    // O_NONBLOCK: opening a named pipe must not wait for a writer.
    const descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
    if (file.number < 0) fail(path, "cannot be opened");
    struct ::stat status {};
    if (::fstat(file.number, &status) != 0) fail(path, "cannot be examined");
    if (!S_ISREG(status.st_mode)) {
      throw load_error(path, 0, "is not a regular file; give the path of a model file");
    }
    const auto size = static_cast<std::uint64_t>(status.st_size);
    if (size > (std::numeric_limits<std::size_t>::max)()) {
      throw load_error(path, 0, "is larger than the address space; use a 64-bit program");
    }
    if (size == 0) return;  // nothing to map, and mmap refuses a length of 0
    void* memory = ::mmap(nullptr, static_cast<std::size_t>(size), PROT_READ, MAP_PRIVATE, file.number, 0);
    if (memory == MAP_FAILED)
      fail(path, "cannot be mapped into memory");  // NOLINT: a cast of the system's header
    bytes_ = {static_cast<const std::byte*>(memory), static_cast<std::size_t>(size)};
  }

  mapped_file(mapped_file&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
  mapped_file& operator=(mapped_file&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  mapped_file(const mapped_file&) = delete;
  mapped_file& operator=(const mapped_file&) = delete;

  ~mapped_file() {
    if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  }

  /// The file's bytes, valid as long as this object (or the one it was moved to) lives. Page-aligned.
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  struct descriptor {
    int number;
    ~descriptor() {
      if (number >= 0) ::close(number);
    }
  };

  [[noreturn, gnu::cold]] static void fail(const std::string& path, const char* what) {
    throw load_error(path, 0, concat(what, ": ", std::system_category().message(errno)));
  }

  std::span<const std::byte> bytes_;
};

}  // namespace tenon::io
