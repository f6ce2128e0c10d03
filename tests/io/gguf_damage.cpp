// Random damage to good files: the reader either opens what is left, or throws load_error. Run under the
// sanitizers, which see a read past the end.
#include "tenon/io/gguf.hpp"

#include <rapidcheck.h>
#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

using tenon::io::gguf_file;
using tenon::io::gguf_value_type;

std::vector<std::byte> generated(const std::string& name) {
  std::ifstream stream(TENON_TEST_GENERATED "/gguf_bad/" + name, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  const auto* first = reinterpret_cast<const std::byte*>(text.data());
  return {first, first + text.size()};
}

std::uint64_t touch(const tenon::io::gguf_array& array) {
  std::uint64_t sum = array.size();
  if (array.element_type() == gguf_value_type::string) {
    for (const auto text : array.strings())
      sum += text.empty() ? 0u : static_cast<unsigned char>(text.back());
  } else if (array.element_type() == gguf_value_type::array) {
    for (const auto& row : array.arrays()) sum += touch(row);
  }
  return sum;
}

/// Uses everything that a file offers, so that a bad view is seen.
std::uint64_t touch(const gguf_file& file) {
  std::uint64_t sum = 0;
  for (const auto& entry : file.entries()) {
    sum += value_text(entry, 1000000).size();
    if (entry.type == gguf_value_type::array) sum += touch(file.get_array(entry.key));
    if (file.find_tensor(entry.key) != nullptr) ++sum;
  }
  for (const auto& tensor : file.tensors()) {
    sum += std::to_integer<unsigned>(tensor.data.front()) + std::to_integer<unsigned>(tensor.data.back());
    if (file.find_tensor(tensor.name) != &tensor) throw std::logic_error("a tensor is not found by its name");
  }
  return sum;
}

/// True when the bytes open and can be used, false when they are refused with a sound error; others get out.
bool opens(const std::vector<std::byte>& bytes) {
  try {
    touch(gguf_file::parse(bytes));
    return true;
  } catch (const tenon::load_error& error) {
    if (error.file() != "<memory>" || error.offset() > bytes.size()) throw std::logic_error(error.what());
    return false;
  }
}

/// Numbers that wrap, overflow or change a sign.
std::uint64_t nasty_number(unsigned choice) {
  constexpr std::uint64_t numbers[] = {0,
                                       1,
                                       4,
                                       5,
                                       9,
                                       13,
                                       31,
                                       1u << 31,
                                       ~std::uint64_t{0},
                                       std::uint64_t{1} << 63,
                                       (std::uint64_t{1} << 61) + 1,
                                       (std::uint64_t{1} << 32) - 1,
                                       ~std::uint64_t{31}};
  return numbers[choice % std::size(numbers)];
}

}  // namespace

BOOST_AUTO_TEST_SUITE(gguf_damage)

BOOST_AUTO_TEST_CASE(changed_bytes_and_cut_ends_give_load_error_or_a_usable_file) {
  const std::vector<std::byte> whole = generated("ok_all_value_types.gguf");
  BOOST_REQUIRE(opens(whole));
  std::size_t header = 0;  // where the tensor data begins: most damage goes before it
  {
    const auto file = gguf_file::parse(whole);
    header = static_cast<std::size_t>(file.tensors().front().offset);
  }
  int refused = 0;
  const auto damage = [&](const std::vector<std::pair<std::uint32_t, std::uint8_t>>& flips,
                          std::uint32_t number_at, unsigned number, std::uint32_t cut, bool cuts) {
    std::vector<std::byte> bytes = whole;
    for (const auto& [at, value] : flips) bytes[at * 2654435761u % header] ^= static_cast<std::byte>(value);
    if (number % 3 == 0) {
      const std::uint64_t replacement = nasty_number(number / 3);
      std::memcpy(bytes.data() + number_at * 2654435761u % (header - 8), &replacement,
                  number % 2 == 0 ? 8 : 4);
    }
    if (cuts) bytes.resize(cut * 2654435761u % whole.size());
    bytes.shrink_to_fit();
    if (!opens(bytes)) ++refused;
  };
  BOOST_TEST(rc::check("damage all over the header", [&] {
    const auto flips = *rc::gen::arbitrary<std::vector<std::pair<std::uint32_t, std::uint8_t>>>();
    const auto seed = *rc::gen::arbitrary<std::uint32_t>();
    const bool cuts = *rc::gen::weightedElement<bool>({{1, true}, {4, false}});
    for (std::uint32_t i = 0; i < 20; ++i) damage(flips, seed + i, seed / 7 + i, seed + 3 * i, cuts);
  }));
  BOOST_TEST(refused > 10);  // the damage does hit something
}

BOOST_AUTO_TEST_CASE(every_byte_of_the_structure_survives_extreme_values) {
  const std::vector<std::byte> whole = generated("ok_base.gguf");
  const auto file = gguf_file::parse(whole);
  const auto tokens = file.get_array("tokenizer.ggml.tokens");
  const auto types = file.offset_of("tokenizer.ggml.token_type");
  const auto data = file.tensors().front().offset;
  int refused = 0;
  int tried = 0;
  for (std::uint64_t at = 0; at < data; ++at) {
    if (at > tokens.offset() + 200 && at < types + 12) continue;  // the vocabulary: more of the same
    for (const unsigned value : {0u, 1u, 0x80u, 0xffu}) {
      std::vector<std::byte> bytes = whole;
      bytes[static_cast<std::size_t>(at)] = static_cast<std::byte>(value);
      ++tried;
      if (!opens(bytes)) ++refused;
    }
  }
  BOOST_TEST(tried > 5000);
  BOOST_TEST(refused > tried / 10);
}

BOOST_AUTO_TEST_SUITE_END()
