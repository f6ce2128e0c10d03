// The checks that stand between a GGUF file and everything else. The file is taken as hostile: no count,
// length, type or offset is used before it has been held against the bytes that are there, no product or sum
// can wrap, nothing is reserved by a number from the file, and recursion is bounded. What passes can be read
// without further checks. Format: version 2 and 3 of the GGUF specification (the two differ in byte orders
// only).
#pragma once

#include "tenon/core/concat.hpp"
#include "tenon/core/error.hpp"
#include "tenon/io/gguf_contents.hpp"
#include "tenon/io/gguf_cursor.hpp"
#include "tenon/io/gguf_type.hpp"
#include "tenon/io/gguf_value.hpp"
#include "tenon/io/printable.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tenon::io::detail {

static_assert(std::endian::native == std::endian::little,
              "tenon reads files in place: the machine must be little-endian");

class gguf_parser {
 public:
  gguf_parser(std::span<const std::byte> bytes, const std::string& file) : bytes_(bytes), in_(bytes, file) {}

  [[gnu::cold]] gguf_contents parse() {
    const auto [tensor_count, key_count] = header();
    for (std::uint64_t i = 0; i < key_count; ++i) metadata();
    contents_.entry_order = sorted(contents_.entries, [](const gguf_entry& e) { return e.key; });
    refuse_twice(contents_.entries, contents_.entry_order, "key", [](const gguf_entry& e) { return e.key; });
    architecture();
    alignment();
    for (std::uint64_t i = 0; i < tensor_count; ++i) tensor_info();
    place_tensors();
    contents_.tensor_order = sorted(contents_.tensors, [](const gguf_tensor& t) { return t.name; });
    refuse_twice(contents_.tensors, contents_.tensor_order, "tensor",
                 [](const gguf_tensor& t) { return t.name; });
    return std::move(contents_);
  }

 private:
  static constexpr unsigned deepest_array = 4;              // arrays in arrays; no known file has any
  static constexpr std::size_t longest_name = 64;           // bytes of a tensor name, by the specification
  static constexpr std::uint64_t smallest_key = 8 + 4 + 1;  // an empty key, a type, one byte
  static constexpr std::uint64_t smallest_info =
      8 + 4 + 8 + 4 + 8;  // an empty name, a count, 1 dimension, type, offset

  [[gnu::cold]] std::pair<std::uint64_t, std::uint64_t> header() {
    if (bytes_.empty()) in_.fail("is empty; fetch the file again");
    const std::string_view magic(reinterpret_cast<const char*>(bytes_.data()),
                                 (std::min)(bytes_.size(), std::size_t{4}));
    if (magic != "GGUF") {
      const bool older = magic == "GGML" || magic == "lmgg" || magic == "tjgg" || magic == "fmgg";
      in_.fail(concat("is no GGUF file: it begins with '", printable(magic), "' instead of 'GGUF'; ",
                      older ? "it is in a format older than GGUF, convert the original model again"
                            : "give the path of a .gguf file"));
    }
    in_.skip(4, 1, {"the magic"});
    contents_.version = in_.read<std::uint32_t>({"the version"});
    if (contents_.version != 0 && (contents_.version & 0xffff) == 0) {
      in_.fail_at(4, "was written in big-endian byte order; convert the model for little-endian machines");
    }
    if (contents_.version != 2 && contents_.version != 3) {
      in_.fail_at(4, concat("is GGUF of version ", contents_.version,
                            "; versions 2 and 3 can be read: convert the model again, or use a newer tenon"));
    }
    const auto tensors = in_.read<std::uint64_t>({"the tensor count"});
    const auto keys = in_.read<std::uint64_t>({"the key count"});
    count_fits(keys, smallest_key, "keys", 16);
    count_fits(tensors, smallest_info, "tensors", 8);
    return {tensors, keys};
  }

  [[gnu::cold]] void count_fits(std::uint64_t count, std::uint64_t smallest, const char* what,
                                std::uint64_t offset) {
    if (count <= in_.left() / smallest) return;
    in_.fail_at(offset, concat("says that it holds ", count, " ", what, ", more than its ", bytes_.size(),
                               " bytes have room for; the file was cut short or is damaged, fetch it again"));
  }

  [[gnu::cold]] void metadata() {
    const std::string_view key = in_.read_string({"the name of a key"});
    const auto type = static_cast<gguf_value_type>(in_.read<std::uint32_t>({"the type of key", key}));
    contents_.entries.push_back({key, type, in_.position(), in_.here()});
    value(type, key, 0);
  }

  /// Checks one value and moves over it.
  [[gnu::cold]] void value(gguf_value_type type, std::string_view key, unsigned depth) {
    if (type == gguf_value_type::string) {
      in_.read_string({"the value of key", key});
    } else if (type == gguf_value_type::array) {
      array(key, depth + 1);
    } else {
      known(type, key);
      in_.skip(1, gguf_value_bytes(type), {"the value of key", key});
      if (type == gguf_value_type::boolean) booleans(key, 1);
    }
  }

  [[gnu::cold]] void array(std::string_view key, unsigned depth) {
    if (depth > deepest_array) {
      in_.fail(concat("key ", quoted(key), " holds arrays inside arrays more than ", deepest_array,
                      " deep; the file is damaged, fetch it again"));
    }
    const auto type = static_cast<gguf_value_type>(in_.read<std::uint32_t>({"the array of key", key}));
    known(type, key);
    const auto count = in_.read<std::uint64_t>({"the array of key", key});
    if (const std::size_t size = gguf_value_bytes(type); size != 0) {
      in_.skip(count, size, {"the array of key", key});
      if (type == gguf_value_type::boolean) booleans(key, count);
      return;
    }
    const std::uint64_t smallest = type == gguf_value_type::string ? 8 : 12;
    if (count > in_.left() / smallest) in_.skip(count, smallest, {"the array of key", key});  // throws
    for (std::uint64_t i = 0; i < count; ++i) value(type, key, depth);
  }

  [[gnu::cold]] void known(gguf_value_type type, std::string_view key) const {
    if (type <= gguf_value_type::f64) return;
    in_.fail(concat("key ", quoted(key), " has a value of unknown type ", static_cast<std::uint32_t>(type),
                    "; the file is damaged or newer than this reader: fetch it again, or use a newer tenon"));
  }

  /// The `count` bytes just passed must be 0 or 1.
  [[gnu::cold]] void booleans(std::string_view key, std::uint64_t count) const {
    const std::byte* first = in_.here() - count;
    const std::byte* bad = std::find_if(first, in_.here(), [](std::byte b) { return b > std::byte{1}; });
    if (bad == in_.here()) return;
    in_.fail_at(in_.position() - static_cast<std::uint64_t>(in_.here() - bad),
                concat("key ", quoted(key), " holds a bool that is ", std::to_integer<unsigned>(*bad),
                       ", neither 0 nor 1; the file is damaged, fetch it again"));
  }

  [[gnu::cold]] const gguf_entry* find(std::string_view key) const {
    const auto& order = contents_.entry_order;
    const auto at = std::lower_bound(
        order.begin(), order.end(), key,
        [&](std::size_t i, std::string_view wanted) { return contents_.entries[i].key < wanted; });
    return at != order.end() && contents_.entries[*at].key == key ? &contents_.entries[*at] : nullptr;
  }

  [[gnu::cold]] void architecture() const {
    const gguf_entry* entry = find("general.architecture");
    if (entry == nullptr) {
      in_.fail_at(
          0,
          "has no key 'general.architecture': it is no model, or a later part of a split one; give the "
          "path of a whole model");
    }
    if (entry->type == gguf_value_type::string) return;
    in_.fail_at(entry->offset,
                concat("key 'general.architecture' is of type ", gguf_value_type_name(entry->type),
                       " where string is needed; convert the model again"));
  }

  [[gnu::cold]] void alignment() {
    const gguf_entry* entry = find("general.alignment");
    if (entry == nullptr) return;  // the specification's default stands
    if (entry->type != gguf_value_type::u32) {
      in_.fail_at(entry->offset,
                  concat("key 'general.alignment' is of type ", gguf_value_type_name(entry->type),
                         " where u32 is needed; convert the model again"));
    }
    contents_.alignment = load<std::uint32_t>(entry->value);
    if (contents_.alignment >= 8 && std::has_single_bit(contents_.alignment) &&
        contents_.alignment <= bytes_.size()) {
      return;
    }
    in_.fail_at(entry->offset, concat("key 'general.alignment' is ", contents_.alignment,
                                      "; it must be a power of two, at least 8 and no more than the file's ",
                                      bytes_.size(), " bytes: convert the model again"));
  }

  [[gnu::cold]] void tensor_info() {
    const std::uint64_t start = in_.position();
    const std::string_view name = in_.read_string({"the name of a tensor"});
    if (name.size() > longest_name) {
      in_.fail_at(start, concat("tensor ", quoted(name), " has a name of ", name.size(), " bytes where ",
                                longest_name, " are allowed; convert the model again"));
    }
    gguf_tensor tensor{
        name, 0, 0, {}, {1, 1, 1, 1}, in_.read<std::uint32_t>({"the dimensions of tensor", name})};
    if (tensor.dimension_count == 0 || tensor.dimension_count > tensor.extent.size()) {
      in_.fail_at(start, concat("tensor ", quoted(name), " has ", tensor.dimension_count,
                                " dimensions where 1 to 4 are allowed; the file is damaged, fetch it again"));
    }
    for (std::uint32_t i = 0; i < tensor.dimension_count; ++i) {
      tensor.extent[i] = in_.read<std::uint64_t>({"the dimensions of tensor", name});
    }
    tensor.type = in_.read<std::uint32_t>({"the type of tensor", name});
    tensor.offset = in_.read<std::uint64_t>({"the offset of tensor", name});  // relative until it is placed
    contents_.tensors.push_back(tensor);
    info_offsets_.push_back(start);
  }

  /// Bytes of a tensor's data, or a load_error when its type or shape make no sense.
  [[gnu::cold]] std::uint64_t tensor_bytes(const gguf_tensor& tensor, std::uint64_t info) const {
    const auto refuse = [&](const std::string& message) { fail_tensor(tensor, info, message); };
    const gguf_type* type = find_gguf_type(tensor.type);
    if (type == nullptr) {
      refuse(concat("is of unknown type ", tensor.type,
                    "; the file is damaged or newer than this reader: fetch it again, or use a newer tenon"));
    }
    if (type->block_bytes == 0) {
      refuse(concat("is of type ", type->name, " (", tensor.type,
                    "), which has been withdrawn; convert the original model again"));
    }
    const auto shape = [&] { return concat("has shape ", shape_text(tensor.dimensions())); };
    if (tensor.extent[0] % type->block_size != 0) {
      refuse(concat(shape(), ", but rows of type ", type->name, " are whole blocks of ", type->block_size,
                    " values; convert the model again"));
    }
    std::uint64_t bytes = type->block_bytes;
    for (const std::uint64_t extent :
         {tensor.extent[0] / type->block_size, tensor.extent[1], tensor.extent[2], tensor.extent[3]}) {
      if (extent == 0) refuse(concat(shape(), ", which holds no values; convert the model again"));
      if (bytes > (std::numeric_limits<std::uint64_t>::max)() / type->block_size / extent) {
        refuse(concat(shape(), ", whose size does not fit 64 bits; the file is damaged, fetch it again"));
      }
      bytes *= extent;
    }
    return bytes;
  }

  [[noreturn, gnu::cold]] void fail_tensor(const gguf_tensor& tensor, std::uint64_t info,
                                           const std::string& message) const {
    in_.fail_at(info, concat("tensor ", quoted(tensor.name), " ", message));
  }

  /// Turns the relative offsets into places in the file, and makes sure that all data is there.
  [[gnu::cold]] void place_tensors() {
    if (contents_.tensors.empty()) return;  // a vocabulary alone may end without padding
    const std::uint64_t padding =
        (contents_.alignment - in_.position() % contents_.alignment) % contents_.alignment;
    for (std::size_t i = 0; i < contents_.tensors.size(); ++i) {
      gguf_tensor& tensor = contents_.tensors[i];
      const std::uint64_t bytes = tensor_bytes(tensor, info_offsets_[i]);
      if (tensor.offset % contents_.alignment != 0) {
        fail_tensor(tensor, info_offsets_[i],
                    concat("has offset ", tensor.offset, ", which is no multiple of the file's alignment ",
                           contents_.alignment, "; convert the model again"));
      }
      const std::uint64_t room =
          in_.left() > padding ? in_.left() - padding : 0;  // bytes of data in the file
      if (tensor.offset > room || bytes > room - tensor.offset) {
        fail_tensor(tensor, info_offsets_[i],
                    concat("takes ", bytes, " bytes at offset ", tensor.offset,
                           " of the data, and the file ends after ", room,
                           "; the file was cut short or is damaged, fetch it again"));
      }
      tensor.offset += in_.position() + padding;
      tensor.data = bytes_.subspan(static_cast<std::size_t>(tensor.offset), static_cast<std::size_t>(bytes));
    }
  }

  template <class Item, class Name>
  static std::vector<std::size_t> sorted(const std::vector<Item>& items, Name name) {
    std::vector<std::size_t> order(items.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      const int compared = name(items[a]).compare(name(items[b]));
      return compared != 0 ? compared < 0 : a < b;
    });
    return order;
  }

  template <class Item, class Name>
  void refuse_twice(const std::vector<Item>& items, const std::vector<std::size_t>& order, const char* what,
                    Name name) const {
    const auto twice = std::adjacent_find(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return name(items[a]) == name(items[b]);
    });
    if (twice == order.end()) return;
    in_.fail_at(items[twice[1]].offset,
                concat("holds ", what, " ", quoted(name(items[*twice])),
                       " twice, and which one is meant cannot be known; convert the model again"));
  }

  std::span<const std::byte> bytes_;
  gguf_cursor in_;
  gguf_contents contents_;
  std::vector<std::uint64_t> info_offsets_;  // where each tensor's description begins, for messages
};

}  // namespace tenon::io::detail
