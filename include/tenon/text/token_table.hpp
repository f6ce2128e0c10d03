// The texts of a vocabulary: all in one string, found by id or by text.
#pragma once

#include "tenon/core/types.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::text {

/// Strings numbered from 0, one after the other in one block of memory of less than 4 GiB (for the caller to
/// see to).
class string_arena {
 public:
  void reserve(std::size_t count, std::size_t bytes) {
    ends_.reserve(count);
    data_.reserve(bytes);
  }
  void push_back(std::string_view text) {
    data_ += text;
    ends_.push_back(static_cast<std::uint32_t>(data_.size()));
  }
  /// Adds the string that `append` appends to its argument.
  template <class Append>
  void push_back_with(Append&& append) {
    append(data_);
    ends_.push_back(static_cast<std::uint32_t>(data_.size()));
  }
  std::size_t size() const { return ends_.size(); }
  std::string_view operator[](std::size_t i) const {
    const std::size_t begin = i == 0 ? 0 : ends_[i - 1];
    return std::string_view(data_).substr(begin, ends_[i] - begin);
  }

 private:
  std::string data_;
  std::vector<std::uint32_t> ends_;
};

/// Token texts by id, and ids by text: an open hash table that is at most half full.
class token_table {
 public:
  token_table(std::size_t count, std::size_t bytes)
      : slots_(std::size_t{1} << std::bit_width(2 * count), slot{0, free}) {
    texts_.reserve(count, bytes);
  }

  /// Adds the next token. If another one has this text already (no two may, except the empty one), returns
  /// its id and adds nothing.
  std::optional<token_id> add(std::string_view text) {
    const auto id = static_cast<token_id>(texts_.size());
    if (!text.empty()) {
      const std::uint32_t hash = hash_of(text);
      slot& place = slots_[locate(text, hash)];
      if (place.id != free) return place.id;
      place = {hash, id};
    }
    texts_.push_back(text);
    return std::nullopt;
  }

  std::optional<token_id> find(std::string_view text) const {
    const slot& place = slots_[locate(text, hash_of(text))];
    return place.id == free ? std::nullopt : std::optional(place.id);
  }

  std::string_view operator[](token_id id) const { return texts_[static_cast<std::size_t>(id)]; }
  std::size_t size() const { return texts_.size(); }

 private:
  struct slot {
    std::uint32_t hash;
    token_id id;
  };
  static constexpr token_id free = -1;

  // Eight bytes at a time, multiplied and folded: token texts are short, and loading a vocabulary is one hash
  // after the other.
  static std::uint32_t hash_of(std::string_view text) {
    constexpr std::uint64_t odd = 0x9e3779b97f4a7c15u;
    std::uint64_t hash = text.size();
    while (text.size() >= 8) {
      hash = fold((hash ^ word(text.data(), 8)) * odd);
      text.remove_prefix(8);
    }
    if (text.size() >= 4) {
      hash = fold((hash ^ word(text.data(), 4)) * odd);
      text.remove_prefix(4);
    }
    std::uint64_t rest = 0;
    for (const char byte : text) rest = rest << 8 | static_cast<unsigned char>(byte);
    return static_cast<std::uint32_t>(fold((hash ^ rest) * odd));
  }
  static std::uint64_t fold(std::uint64_t value) { return value ^ (value >> 32); }
  static std::uint64_t word(const char* bytes, std::size_t count) {
    std::uint64_t value = 0;
    std::memcpy(&value, bytes, count);
    return value;
  }
  std::size_t locate(std::string_view text, std::uint32_t hash) const {
    std::size_t i = hash & (slots_.size() - 1);
    while (slots_[i].id != free && (slots_[i].hash != hash || (*this)[slots_[i].id] != text))
      i = (i + 1) & (slots_.size() - 1);
    return i;
  }

  string_arena texts_;
  std::vector<slot> slots_;
};

}  // namespace tenon::text
