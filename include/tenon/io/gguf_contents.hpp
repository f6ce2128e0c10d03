// What a GGUF file holds, as the parser leaves it: the metadata entries and the tensors, as views of the
// file's bytes.
#pragma once

#include "tenon/core/concat.hpp"
#include "tenon/io/gguf_value.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::io {

/// One key of the metadata. Its value is read through gguf_file::get.
struct gguf_entry {
  std::string_view key;
  gguf_value_type type;
  std::uint64_t offset;    ///< the byte in the file where the value begins
  const std::byte* value;  ///< its bytes, checked
};

/// One tensor: its place in the file and its shape.
struct gguf_tensor {
  std::string_view name;
  std::uint32_t type;    ///< the number of a gguf_type that is in use
  std::uint64_t offset;  ///< the byte in the file where the data begins, a multiple of the alignment
  std::span<const std::byte> data;      ///< all of it, inside the file
  std::array<std::uint64_t, 4> extent;  ///< the dimensions, 1 where there is none
  std::uint32_t dimension_count;        ///< 1 to 4

  /// The dimensions, none of them 0, the one that varies fastest in memory (the length of a row) first.
  std::span<const std::uint64_t> dimensions() const { return {extent.data(), dimension_count}; }
  /// The number of values. The parser has made sure that it does not wrap.
  std::uint64_t element_count() const { return extent[0] * extent[1] * extent[2] * extent[3]; }
};

/// A shape as text: "[576, 49152]".
[[gnu::cold]] inline std::string shape_text(std::span<const std::uint64_t> dimensions) {
  std::string text = "[";
  for (const std::uint64_t extent : dimensions) text += concat(text.size() > 1 ? ", " : "", extent);
  return text += ']';
}

namespace detail {

/// A checked file. The orders are indices sorted by name, for look-ups.
struct gguf_contents {
  std::uint32_t version = 0;
  std::uint64_t alignment = 32;
  std::vector<gguf_entry> entries;
  std::vector<gguf_tensor> tensors;
  std::vector<std::size_t> entry_order;
  std::vector<std::size_t> tensor_order;
};

/// The text of a number, or of a string made printable.
[[gnu::cold]] inline std::string scalar_text(gguf_value_type type, const std::byte* value,
                                             std::size_t limit) {
  if (type == gguf_value_type::string) return printable(string_at(value), limit);
  char digits[32];  // enough for the shortest text of any number
  char* end = digits;
  visit_scalar(type, value, [&]<class V>(V number) {
    if constexpr (std::same_as<V, bool>) end = std::copy_n(number ? "true" : "false", number ? 4 : 5, digits);
    else end = std::to_chars(digits, digits + sizeof digits, number).ptr;
  });
  return {digits, end};
}

}  // namespace detail

/// The value of an entry as one line of text for people: cut to about `limit` bytes; of arrays the type, the
/// size and the first elements.
[[gnu::cold]] inline std::string value_text(const gguf_entry& entry, std::size_t limit = 60) {
  if (entry.type != gguf_value_type::array) return detail::scalar_text(entry.type, entry.value, limit);
  const std::string no_file;
  const auto array = gguf_array::from_bytes(no_file, entry.offset, entry.value);
  std::string text = concat(gguf_value_type_name(array.element_type()), "[", array.size(), "]");
  if (array.element_type() == gguf_value_type::array) return text;
  const std::byte* next = entry.value + 12;
  for (std::uint64_t i = 0; i < array.size(); ++i) {
    if (text.size() >= limit) return text += ", ...";
    text += i == 0 ? " " : ", ";
    text += detail::scalar_text(array.element_type(), next, limit);
    next += array.element_type() == gguf_value_type::string ? 8 + detail::string_at(next).size()
                                                            : gguf_value_bytes(array.element_type());
  }
  return text;
}

}  // namespace tenon::io
