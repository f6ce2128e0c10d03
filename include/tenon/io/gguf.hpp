// A GGUF model file: its metadata by key and its tensors by name. Opening checks the whole container once;
// afterwards everything is a view of the file's bytes, and nothing is copied. Whether the model makes sense
// (its hyper-parameters, its vocabulary, the tensors that it needs) is for the loader and the tokenizer to
// say; fault() words their errors.
#pragma once

#include "tenon/core/concat.hpp"
#include "tenon/core/error.hpp"
#include "tenon/io/gguf_contents.hpp"
#include "tenon/io/gguf_parse.hpp"
#include "tenon/io/gguf_type.hpp"
#include "tenon/io/gguf_value.hpp"
#include "tenon/io/mapped_file.hpp"

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tenon::io {

/// An opened GGUF file of version 2 or 3. Move-only; views taken from it stay valid when it is moved. All
/// const members may be called from several threads at once.
class gguf_file {
 public:
  /// Maps and checks the file at `path`. load_error when it cannot be opened or is broken.
  [[gnu::cold]] static gguf_file open(const std::string& path) {
    mapped_file mapping(path);
    gguf_file file = parse(mapping.bytes(), path);
    file.mapping_.emplace(std::move(mapping));
    return file;
  }

  /// Checks a file that lies in memory and borrows its bytes, which must outlive the result. `name` is for
  /// messages.
  [[gnu::cold]] static gguf_file parse(std::span<const std::byte> bytes, std::string name = "<memory>") {
    gguf_file file;
    file.name_ = std::make_unique<const std::string>(std::move(name));
    file.contents_ = detail::gguf_parser(bytes, *file.name_).parse();
    file.byte_count_ = bytes.size();
    return file;
  }

  const std::string& name() const { return *name_; }
  std::uint32_t version() const { return contents_.version; }
  std::uint64_t alignment() const { return contents_.alignment; }
  std::uint64_t byte_count() const { return byte_count_; }

  /// The keys, in the order of the file. value_text() words their values.
  std::span<const gguf_entry> entries() const { return contents_.entries; }
  bool contains(std::string_view key) const { return find_entry(key) != nullptr; }
  /// The byte where the value of `key` begins, 0 when there is none: for fault().
  std::uint64_t offset_of(std::string_view key) const {
    const gguf_entry* entry = find_entry(key);
    return entry != nullptr ? entry->offset : 0;
  }

  /// The value of `key` as T: an integer, bool, float, double, std::string_view or gguf_array; nothing when
  /// the key is missing. Integers convert between widths when the value fits, and an fp32 is readable as
  /// double; anything else is a load_error.
  template <class T>
  std::optional<T> find(std::string_view key) const {
    const gguf_entry* entry = find_entry(key);
    if (entry == nullptr) return std::nullopt;
    return value_of<T>(*entry);
  }

  /// As find; a missing key is a load_error.
  template <class T>
  T get(std::string_view key) const {
    const gguf_entry* entry = find_entry(key);
    if (entry == nullptr) {
      throw fault(0,
                  concat("has no key ", detail::quoted(key), ", which is needed; convert the model again"));
    }
    return value_of<T>(*entry);
  }

  gguf_array get_array(std::string_view key) const { return get<gguf_array>(key); }

  /// The tensors, in the order of the file.
  std::span<const gguf_tensor> tensors() const { return contents_.tensors; }
  /// The tensor of this name, or nullptr.
  const gguf_tensor* find_tensor(std::string_view name) const {
    return look_up(contents_.tensors, contents_.tensor_order, name,
                   [](const gguf_tensor& t) { return t.name; });
  }

  /// An error about this file, to be thrown; `offset` is the byte where the fault lies, 0 when it is nowhere.
  [[gnu::cold]] load_error fault(std::uint64_t offset, const std::string& message) const {
    return {*name_, offset, message};
  }

 private:
  gguf_file() = default;

  template <class Item, class Name>
  static const Item* look_up(const std::vector<Item>& items, const std::vector<std::size_t>& order,
                             std::string_view wanted, Name name) {
    const auto at = std::lower_bound(order.begin(), order.end(), wanted,
                                     [&](std::size_t i, std::string_view w) { return name(items[i]) < w; });
    return at != order.end() && name(items[*at]) == wanted ? &items[*at] : nullptr;
  }

  const gguf_entry* find_entry(std::string_view key) const {
    return look_up(contents_.entries, contents_.entry_order, key, [](const gguf_entry& e) { return e.key; });
  }

  template <class T>
  T value_of(const gguf_entry& entry) const {
    if constexpr (std::same_as<T, gguf_array>) {
      if (entry.type != gguf_value_type::array) throw wrong_type(entry, "array");
      return gguf_array::from_bytes(*name_, entry.offset, entry.value);
    } else {
      static_assert(
          detail::gguf_scalar<T> || std::same_as<T, std::string_view>,
          "a metadata value is an integer, bool, float, double, std::string_view or tenon::io::gguf_array");
      const std::string_view wanted = gguf_value_type_name(detail::stored_as<T>());
      if (!detail::can_become<T>(entry.type)) throw wrong_type(entry, wanted);
      if constexpr (std::same_as<T, std::string_view>) {
        return detail::string_at(entry.value);
      } else {
        const std::optional<T> value = detail::scalar_as<T>(entry.type, entry.value);
        if (value) return *value;
        throw fault(entry.offset, concat("key ", detail::quoted(entry.key), " is ", value_text(entry),
                                         ", which does not fit ", wanted, "; convert the model again"));
      }
    }
  }

  [[gnu::cold]] load_error wrong_type(const gguf_entry& entry, std::string_view wanted) const {
    return fault(entry.offset,
                 concat("key ", detail::quoted(entry.key), " is of type ", gguf_value_type_name(entry.type),
                        " where ", wanted, " is needed; convert the model again"));
  }

  std::unique_ptr<const std::string> name_;  // at a fixed address, because arrays refer to it
  std::optional<mapped_file> mapping_;
  detail::gguf_contents contents_;
  std::uint64_t byte_count_ = 0;
};

}  // namespace tenon::io
