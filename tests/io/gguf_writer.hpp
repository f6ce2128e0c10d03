// Writes small GGUF files in memory, byte by byte, for the tests of the reader.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace tenon::test {

/// The bytes of a file that grows by calls; metadata first, then tensors. bytes() puts the counts in and
/// pads.
class gguf_writer {
 public:
  explicit gguf_writer(std::uint32_t version = 3) {
    raw("GGUF", 4).number(version).number(std::uint64_t{0}).number(std::uint64_t{0});
  }

  /// A writer that already holds general.architecture = "llama".
  static gguf_writer llama(std::uint32_t version = 3) {
    gguf_writer writer(version);
    writer.key("general.architecture", 8).text("llama");
    return writer;
  }

  /// The head of an entry; its value follows by number() or text(), an array's by array() and elements.
  gguf_writer& key(std::string_view name, std::uint32_t type) {
    ++keys_;
    return text(name).number(type);
  }
  gguf_writer& array(std::uint32_t element_type, std::uint64_t count) {
    return number(element_type).number(count);
  }

  /// A tensor without data: the data section is what the test appends with zeros().
  gguf_writer& tensor(std::string_view name, std::uint32_t type, const std::vector<std::uint64_t>& dimensions,
                      std::uint64_t offset) {
    ++tensors_;
    text(name).number(static_cast<std::uint32_t>(dimensions.size()));
    for (const std::uint64_t extent : dimensions) number(extent);
    return number(type).number(offset);
  }

  template <class T>
  gguf_writer& number(T value) {
    return raw(&value, sizeof value);
  }
  gguf_writer& text(std::string_view characters) {
    return number(std::uint64_t{characters.size()}).raw(characters.data(), characters.size());
  }
  gguf_writer& pad(std::size_t alignment = 32) {
    return zeros((alignment - bytes_.size() % alignment) % alignment);
  }
  gguf_writer& zeros(std::size_t count) {
    bytes_.resize(bytes_.size() + count);
    return *this;
  }
  gguf_writer& raw(const void* source, std::size_t count) {
    const auto* first = static_cast<const std::byte*>(source);
    bytes_.insert(bytes_.end(), first, first + count);
    return *this;
  }

  std::size_t size() const { return bytes_.size(); }
  std::vector<std::byte> bytes() const {
    std::vector<std::byte> file = bytes_;
    std::memcpy(file.data() + 8, &tensors_, 8);
    std::memcpy(file.data() + 16, &keys_, 8);
    return file;
  }

 private:
  std::vector<std::byte> bytes_;
  std::uint64_t keys_ = 0;
  std::uint64_t tensors_ = 0;
};

}  // namespace tenon::test
