// The metadata values of a GGUF file: their types, and how their bytes become C++ values. Nothing is copied:
// strings and arrays are views of the file's bytes, which the parser (gguf_parse.hpp) has checked before they
// come here.
#pragma once

#include "tenon/core/concat.hpp"
#include "tenon/core/error.hpp"
#include "tenon/io/printable.hpp"

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace tenon::io {

/// The type of a metadata value, numbered as in the file.
enum class gguf_value_type : std::uint32_t {
  u8,
  i8,
  u16,
  i16,
  u32,
  i32,
  f32,
  boolean,
  string,
  array,
  u64,
  i64,
  f64
};

/// "u32", "string"; "unknown" for a number that no type has.
constexpr std::string_view gguf_value_type_name(gguf_value_type type) {
  constexpr std::string_view names[] = {"u8",   "i8",     "u16",   "i16", "u32", "i32", "f32",
                                        "bool", "string", "array", "u64", "i64", "f64"};
  const auto number = static_cast<std::uint32_t>(type);
  return number < std::size(names) ? names[number] : std::string_view("unknown");
}

/// Bytes of a value of this type; 0 for strings and arrays, whose size is in the file, and for unknown types.
constexpr std::size_t gguf_value_bytes(gguf_value_type type) {
  constexpr std::size_t bytes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
  const auto number = static_cast<std::uint32_t>(type);
  return number < std::size(bytes) ? bytes[number] : 0;
}

namespace detail {

/// The C++ integers that hold metadata: of any width, but neither bool nor a character type.
template <class T>
concept gguf_integer =
    std::integral<T> && !std::same_as<T, bool> && !std::same_as<T, char> && !std::same_as<T, wchar_t> &&
    !std::same_as<T, char8_t> && !std::same_as<T, char16_t> && !std::same_as<T, char32_t>;

template <class T>
concept gguf_scalar =
    gguf_integer<T> || std::same_as<T, bool> || std::same_as<T, float> || std::same_as<T, double>;

/// The value type that is stored as T is.
template <class T>
constexpr gguf_value_type stored_as() {
  using enum gguf_value_type;
  if constexpr (std::same_as<T, bool>) return boolean;
  else if constexpr (std::same_as<T, float>) return f32;
  else if constexpr (std::same_as<T, double>) return f64;
  else if constexpr (std::same_as<T, std::string_view>) return string;
  else if constexpr (sizeof(T) == 1) return std::is_signed_v<T> ? i8 : u8;
  else if constexpr (sizeof(T) == 2) return std::is_signed_v<T> ? i16 : u16;
  else if constexpr (sizeof(T) == 4) return std::is_signed_v<T> ? i32 : u32;
  else return std::is_signed_v<T> ? i64 : u64;
}

constexpr bool is_integer(gguf_value_type type) {
  using enum gguf_value_type;
  return type == u8 || type == i8 || type == u16 || type == i16 || type == u32 || type == i32 ||
         type == u64 || type == i64;
}

template <class T>
T load(const std::byte* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

/// Calls f with the value of type `type` at `bytes`; nothing for strings and arrays.
template <class F>
void visit_scalar(gguf_value_type type, const std::byte* bytes, F&& f) {
  using enum gguf_value_type;
  switch (type) {
    case u8:
      return f(load<std::uint8_t>(bytes));
    case i8:
      return f(load<std::int8_t>(bytes));
    case u16:
      return f(load<std::uint16_t>(bytes));
    case i16:
      return f(load<std::int16_t>(bytes));
    case u32:
      return f(load<std::uint32_t>(bytes));
    case i32:
      return f(load<std::int32_t>(bytes));
    case u64:
      return f(load<std::uint64_t>(bytes));
    case i64:
      return f(load<std::int64_t>(bytes));
    case f32:
      return f(load<float>(bytes));
    case f64:
      return f(load<double>(bytes));
    case boolean:
      return f(load<std::uint8_t>(bytes) != 0);
    case string:
    case array:
      return;
  }
}

/// May a value of type `type` be asked for as T? Integers as integers, fp32 as double; the rest as it is.
template <class T>
constexpr bool can_become(gguf_value_type type) {
  if constexpr (gguf_integer<T>) return is_integer(type);
  else if constexpr (std::same_as<T, double>)
    return type == gguf_value_type::f32 || type == gguf_value_type::f64;
  else return type == stored_as<T>();
}

/// The value as T, or nothing when it is an integer that T cannot hold. Wants can_become<T>(type).
template <gguf_scalar T>
std::optional<T> scalar_as(gguf_value_type type, const std::byte* bytes) {
  std::optional<T> result;
  visit_scalar(type, bytes, [&]<class V>(V value) {
    if constexpr (gguf_integer<T> && gguf_integer<V>) {
      if (std::in_range<T>(value)) result = static_cast<T>(value);
    } else if constexpr (gguf_integer<T> == gguf_integer<V> &&
                         std::same_as<T, bool> == std::same_as<V, bool>) {
      result = static_cast<T>(value);
    }
  });
  return result;
}

/// The string at `bytes` (length, then text) that the parser has checked.
inline std::string_view string_at(const std::byte* bytes) {
  const auto length = static_cast<std::size_t>(load<std::uint64_t>(bytes));
  return {reinterpret_cast<const char*>(bytes) + 8, length};
}

}  // namespace detail

/// A metadata array: a view of a file's bytes, valid as long as the gguf_file that it comes from.
class gguf_array {
 public:
  gguf_array(const std::string& file, std::uint64_t offset, gguf_value_type element_type, std::uint64_t size,
             const std::byte* elements)
      : file_(&file), offset_(offset), element_type_(element_type), size_(size), elements_(elements) {}

  gguf_value_type element_type() const { return element_type_; }
  std::uint64_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  /// The byte in the file where the first element lies, for messages.
  std::uint64_t offset() const { return offset_; }

  /// Element `i` of an array of numbers or bools. The element type must be T's; integers may differ in
  /// signedness, not in width. load_error when it is another, when the value does not fit, or when there is
  /// no element `i`.
  template <detail::gguf_scalar T>
  T at(std::uint64_t i) const {
    expect_elements<T>();
    if (i >= size_) fail(concat("has ", size_, " elements; element ", i, " is missing"));
    const std::byte* bytes = elements_ + static_cast<std::size_t>(i) * sizeof(T);
    const std::optional<T> value = detail::scalar_as<T>(element_type_, bytes);
    if (!value) {
      const std::string_view wanted = gguf_value_type_name(detail::stored_as<T>());
      fail(concat("has a value in element ", i, " that does not fit ", wanted));
    }
    return *value;
  }

  /// All elements, converted as at<T> does.
  template <detail::gguf_scalar T>
  std::vector<T> values() const {
    expect_elements<T>();
    std::vector<T> all;
    all.reserve(static_cast<std::size_t>(size_));  // the elements are there: the parser has seen them
    for (std::uint64_t i = 0; i < size_; ++i) all.push_back(at<T>(i));
    return all;
  }

  /// All elements of an array of strings, as views of the file. (They differ in length, so there is no access
  /// by index.)
  std::vector<std::string_view> strings() const {
    expect_elements<std::string_view>();
    std::vector<std::string_view> all;
    all.reserve(static_cast<std::size_t>(size_));
    const std::byte* next = elements_;
    for (std::uint64_t i = 0; i < size_; ++i) {
      all.push_back(detail::string_at(next));
      next += 8 + all.back().size();
    }
    return all;
  }

  /// All elements of an array of arrays.
  std::vector<gguf_array> arrays() const {
    if (element_type_ != gguf_value_type::array) fail(wrong_type("array"));
    std::vector<gguf_array> all;
    const std::byte* next = elements_;
    for (std::uint64_t i = 0; i < size_; ++i) {
      all.push_back(from_bytes(*file_, offset_ + static_cast<std::uint64_t>(next - elements_), next));
      next = all.back().end();
    }
    return all;
  }

  /// The array at `bytes` (element type, count, elements), which lie at `offset` in the file and have been
  /// checked.
  static gguf_array from_bytes(const std::string& file, std::uint64_t offset, const std::byte* bytes) {
    const auto type = static_cast<gguf_value_type>(detail::load<std::uint32_t>(bytes));
    return {file, offset + 12, type, detail::load<std::uint64_t>(bytes + 4), bytes + 12};
  }

 private:
  template <class T>
  void expect_elements() const {
    constexpr gguf_value_type wanted = detail::stored_as<T>();
    const bool alike = detail::gguf_integer<T> && detail::is_integer(element_type_) &&
                       gguf_value_bytes(element_type_) == gguf_value_bytes(wanted);
    if (element_type_ != wanted && !alike) fail(wrong_type(gguf_value_type_name(wanted)));
  }

  [[gnu::cold]] std::string wrong_type(std::string_view wanted) const {
    return concat("holds elements of type ", gguf_value_type_name(element_type_), " where ", wanted,
                  " is needed");
  }

  [[noreturn, gnu::cold]] void fail(const std::string& message) const {
    throw load_error(*file_, offset_,
                     concat("the metadata array here ", message, "; convert the model again"));
  }

  const std::byte* end() const {
    const std::byte* next = elements_;
    if (element_type_ == gguf_value_type::string) {
      for (std::uint64_t i = 0; i < size_; ++i) next += 8 + detail::string_at(next).size();
    } else if (element_type_ == gguf_value_type::array) {
      for (std::uint64_t i = 0; i < size_; ++i) next = from_bytes(*file_, 0, next).end();
    } else {
      next += static_cast<std::size_t>(size_) * gguf_value_bytes(element_type_);
    }
    return next;
  }

  const std::string* file_;
  std::uint64_t offset_;
  gguf_value_type element_type_;
  std::uint64_t size_;
  const std::byte* elements_;
};

}  // namespace tenon::io
