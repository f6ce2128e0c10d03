// Reading a GGUF file from front to back with every step held against the bytes that are left.
#pragma once

#include "tenon/core/concat.hpp"
#include "tenon/core/error.hpp"
#include "tenon/io/gguf_value.hpp"
#include "tenon/io/printable.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tenon::io::detail {

/// What is being read, for a message: "a string of key", "general.name". Costs nothing until there is an
/// error.
struct reading {
  const char* what;
  std::string_view name = {};

  std::string text() const {
    return name.data() == nullptr ? std::string(what) : concat(what, " ", quoted(name));
  }
};

/// A position in the bytes of a file. Every read checks the bytes left first and throws load_error when they
/// are few.
class gguf_cursor {
 public:
  gguf_cursor(std::span<const std::byte> bytes, const std::string& file) : bytes_(bytes), file_(&file) {}

  std::uint64_t position() const { return position_; }
  std::uint64_t left() const { return bytes_.size() - position_; }
  const std::byte* here() const { return bytes_.data() + position_; }
  const std::string& file() const { return *file_; }

  /// Moves over `count` elements of `size` bytes (not 0). No product is formed that could wrap.
  void skip(std::uint64_t count, std::uint64_t size, const reading& what) {
    if (count > left() / size) fail_cut(count, size, what);
    position_ += static_cast<std::size_t>(count * size);
  }

  template <class T>
  T read(const reading& what) {
    const std::byte* value = here();
    skip(sizeof(T), 1, what);
    return load<T>(value);
  }

  std::string_view read_string(const reading& what) {
    const auto length = read<std::uint64_t>(what);
    const auto* text = reinterpret_cast<const char*>(here());
    skip(length, 1, what);
    return {text, static_cast<std::size_t>(length)};
  }

  [[noreturn, gnu::cold]] void fail(const std::string& message) const { fail_at(position_, message); }
  [[noreturn, gnu::cold]] void fail_at(std::uint64_t offset, const std::string& message) const {
    throw load_error(*file_, offset, message);
  }

 private:
  [[noreturn, gnu::cold]] void fail_cut(std::uint64_t count, std::uint64_t size, const reading& what) const {
    const std::string bytes = size == 1 ? " bytes" : concat(" elements of ", size, " bytes or more");
    fail(concat("the file ends inside ", what.text(), ": it takes ", count, bytes, ", and ", left(),
                " bytes are left; the file was cut short or is damaged, fetch it again"));
  }

  std::span<const std::byte> bytes_;
  const std::string* file_;
  std::size_t position_ = 0;
};

}  // namespace tenon::io::detail
