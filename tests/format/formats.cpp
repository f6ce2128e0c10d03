// The weight formats against values that the Python package gguf decoded, bit for bit.
#include "reference/inputs.hpp"
#include "support/json.hpp"
#include "tenon/format/all.hpp"
#include "tenon/io/gguf_type.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace {

using all_formats = std::tuple<tenon::f32, tenon::f16, tenon::bf16, tenon::q8_0, tenon::q4_0, tenon::q4_1>;

std::vector<std::byte> from_hex(const std::string& hex) {
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes.push_back(static_cast<std::byte>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

template <class F>
std::vector<float> decode(const std::vector<std::byte>& row) {
  BOOST_REQUIRE(row.size() % F::block_bytes == 0);
  std::vector<float> values(row.size() / F::block_bytes * F::block_size);
  BOOST_REQUIRE(tenon::row_bytes<F>(values.size()) == row.size());
  tenon::decode_row<F>(row.data(), values.data(), values.size());
  return values;
}

/// Decodes in the format called `name`, whatever the case of its letters.
std::vector<float> decode(std::string name, const std::vector<std::byte>& row) {
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  std::vector<float> values;
  const auto attempt = [&]<class F>(F) {
    if (F::name.view() == name) values = decode<F>(row);
  };
  std::apply([&](auto... each) { (attempt(each), ...); }, all_formats{});
  BOOST_REQUIRE_MESSAGE(!values.empty(), "no format " << name);
  return values;
}

template <class F>
constexpr float first_value(std::array<std::byte, F::block_bytes> block) {
  float values[F::block_size] = {};
  F::decode(block.data(), values);
  return values[0];
}

}  // namespace

BOOST_AUTO_TEST_SUITE(formats)

BOOST_AUTO_TEST_CASE(every_format_decodes_bit_for_bit_as_the_python_package_gguf) {
  std::set<std::string> seen;
  for (const auto& row : tenon::test::load_json("format/block_vectors.json")) {
    BOOST_TEST_CONTEXT(row["format"] << " " << row["name"]) {
      const std::vector<float> values = decode(row["format"].get<std::string>(), from_hex(row["row"]));
      const std::vector<std::byte> wanted = from_hex(row["values"]);
      BOOST_REQUIRE(wanted.size() == 4 * values.size());
      for (std::size_t i = 0; i < values.size(); ++i) {
        const float exact = decode("f32", {wanted.begin() + 4 * static_cast<std::ptrdiff_t>(i),
                                           wanted.begin() + 4 * static_cast<std::ptrdiff_t>(i) + 4})[0];
        BOOST_TEST(std::bit_cast<std::uint32_t>(values[i]) == std::bit_cast<std::uint32_t>(exact));
      }
      seen.insert(row["format"].get<std::string>());
    }
  }
  BOOST_TEST(seen.size() == std::tuple_size_v<all_formats>);
}

BOOST_AUTO_TEST_CASE(blocks_with_extreme_scales_and_quants_have_the_values_of_the_definition) {
  for (const auto& block : tenon::test::load_cases("vectors/quant_blocks.json")) {
    BOOST_TEST_CONTEXT(block["type"] << " " << block["name"] << ": " << block["why"]) {
      const std::vector<float> values = decode(block["type"].get<std::string>(), from_hex(block["hex"]));
      const auto wanted = block["out"].get<std::vector<double>>();
      BOOST_TEST(values == std::vector<float>(wanted.begin(), wanted.end()),
                 boost::test_tools::per_element());
    }
  }
}

BOOST_AUTO_TEST_CASE(sizes_and_numbers_are_those_of_the_files) {
  const auto compare = []<class F>(F) {
    const tenon::io::gguf_type* type = tenon::io::find_gguf_type(F::gguf_type);
    BOOST_REQUIRE(type != nullptr);
    std::string name(type->name);
    for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    BOOST_TEST(name == std::string(F::name.view()));
    BOOST_TEST(type->block_size == F::block_size);
    BOOST_TEST(type->block_bytes == F::block_bytes);
  };
  std::apply([&](auto... each) { (compare(each), ...); }, all_formats{});
  BOOST_TEST(tenon::row_bytes<tenon::q4_1>(576) == 360u);
  BOOST_TEST(tenon::row_bytes<tenon::bf16>(33) == 66u);
}

BOOST_AUTO_TEST_CASE(q8_0_takes_each_value_to_the_nearest_of_127_steps) {
  tenon::reference::random_source random(3);
  for (int turn = 0; turn < 300; ++turn) {
    const float size = std::ldexp(1.0f, static_cast<int>(random.below(30)) - 15);
    std::vector<float> x = tenon::reference::uniform_values(32, -size, size, random.next());
    std::array<std::byte, tenon::q8_0::block_bytes> block;
    tenon::q8_0::encode(x.data(), block.data());
    float seen[32];
    tenon::q8_0::decode(block.data(), seen);
    double largest = 0;
    for (const float value : x) largest = (std::max)(largest, std::fabs(static_cast<double>(value)));
    // half a step, and the scale's rounding to a half, which for the smallest is subnormal
    const double bound = largest / 254 + 127 * (largest / 127 * 0x1p-11 + 0x1p-25);
    for (std::size_t i = 0; i < 32; ++i)
      BOOST_TEST_REQUIRE(std::fabs(static_cast<double>(seen[i]) - static_cast<double>(x[i])) <= bound);
  }
}

BOOST_AUTO_TEST_CASE(q8_0_keeps_zeros_and_lets_no_broken_value_pass_for_a_number) {
  const auto round_trip = [](float odd_one) {
    std::vector<float> x(32, 1.0f);
    x[5] = odd_one;
    std::array<std::byte, tenon::q8_0::block_bytes> block;
    tenon::q8_0::encode(x.data(), block.data());
    tenon::q8_0::decode(block.data(), x.data());
    return x;
  };
  const auto all = [](const std::vector<float>& x, auto&& is_so) {
    return std::all_of(x.begin(), x.end(), is_so);
  };
  BOOST_TEST(round_trip(0.0f)[5] == 0.0f);
  BOOST_TEST(all(round_trip(std::nanf("")), [](float value) { return std::isnan(value); }));
  for (const float huge : {std::numeric_limits<float>::infinity(), -1e30f})
    BOOST_TEST(all(round_trip(huge), [](float value) { return std::isinf(value); }));
  std::array<std::byte, tenon::q8_0::block_bytes> block;
  for (const float tiny : {0.0f, 1e-30f}) {
    std::vector<float> x(32, tiny);
    tenon::q8_0::encode(x.data(), block.data());
    tenon::q8_0::decode(block.data(), x.data());
    BOOST_TEST(all(x, [](float value) { return value == 0.0f; }));
  }
}

BOOST_AUTO_TEST_CASE(decoding_is_a_constant_expression) {
  static_assert(first_value<tenon::f32>({std::byte{0}, std::byte{0}, std::byte{0x80}, std::byte{0x3f}}) ==
                1.0f);
  static_assert(first_value<tenon::f16>({std::byte{0}, std::byte{0x3c}}) == 1.0f);
  static_assert(first_value<tenon::bf16>({std::byte{0x80}, std::byte{0x3f}}) == 1.0f);
  static_assert(first_value<tenon::q4_0>({std::byte{0}, std::byte{0x3c}}) == -8.0f);
  BOOST_TEST((first_value<tenon::q4_0>({std::byte{0}, std::byte{0x3c}}) == -8.0f));  // and at run time
}

BOOST_AUTO_TEST_SUITE_END()
