// Finds the tokens that are recognised in text as a whole, before it is cut into pieces.
#pragma once

#include "tenon/core/types.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace tenon::text {

/// A set of strings to look for, each with the id it stands for.
class special_finder {
 public:
  struct hit {
    std::size_t begin;  ///< the size of the text if there is none
    std::size_t length = 0;
    token_id id = -1;
  };

  special_finder() = default;

  void add(std::string_view text, token_id id) {
    if (!text.empty()) entries_.push_back({std::string(text), id});
  }

  /// To be called after the last add().
  [[gnu::cold]] void prepare() {
    // By first byte, and the longest first within it.
    std::sort(entries_.begin(), entries_.end(), [](const entry& a, const entry& b) {
      return std::tuple(first(a.text), b.text.size()) < std::tuple(first(b.text), a.text.size());
    });
    for (std::size_t byte = 0, i = 0; byte < 256; ++byte) {
      while (i < entries_.size() && first(entries_[i].text) == byte) ++i;
      end_[byte] = i;
    }
  }

  bool empty() const { return entries_.empty(); }

  /// The first place at or after `begin` where one of the strings is; the longest of those that are there.
  hit find(std::string_view text, std::size_t begin) const {
    for (std::size_t place = begin; place < text.size() && !empty(); ++place) {
      const std::size_t byte = static_cast<unsigned char>(text[place]);
      for (std::size_t i = byte == 0 ? 0 : end_[byte - 1]; i < end_[byte]; ++i)
        if (text.substr(place, entries_[i].text.size()) == entries_[i].text)
          return {place, entries_[i].text.size(), entries_[i].id};
    }
    return {text.size()};
  }

 private:
  struct entry {
    std::string text;
    token_id id;
  };
  static std::size_t first(const std::string& text) { return static_cast<unsigned char>(text[0]); }

  std::vector<entry> entries_;
  std::array<std::size_t, 256> end_{};  // where in entries_ those end that begin with this byte
};

}  // namespace tenon::text
