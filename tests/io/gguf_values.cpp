// The metadata of GGUF files: every type of value, and what it may be read as.
#include "tenon/io/gguf.hpp"

#include "io/gguf_writer.hpp"
#include "io/refused.hpp"

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace {

using tenon::io::gguf_file;
using tenon::io::gguf_value_type;
using tenon::test::gguf_writer;
using tenon::test::parsing;
using tenon::test::refused;

// Numbers of value types in a file.
constexpr std::uint32_t u8 = 0, i16 = 3, u32 = 4, i32 = 5, f32 = 6, boolean = 7, string = 8, array = 9,
                        u64 = 10, i64 = 11, f64 = 12;

gguf_file generated(const std::string& name) {
  return gguf_file::open(TENON_TEST_GENERATED "/gguf_bad/" + name);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(gguf_values)

BOOST_AUTO_TEST_CASE(every_value_type_is_read_as_it_was_written) {
  const gguf_file file = generated("ok_all_value_types.gguf");
  BOOST_TEST(file.get<std::uint8_t>("x.k0") == 1);
  BOOST_TEST(file.get<std::int8_t>("x.k1") == -1);
  BOOST_TEST(file.get<std::uint16_t>("x.k2") == 1);
  BOOST_TEST(file.get<std::int16_t>("x.k3") == -1);
  BOOST_TEST(file.get<std::uint32_t>("x.k4") == 1u);
  BOOST_TEST(file.get<std::int32_t>("x.k5") == -1);
  BOOST_TEST(file.get<float>("x.k6") == 1.5f);
  BOOST_TEST(file.get<bool>("x.k7"));
  BOOST_TEST(file.get<std::string_view>("x.k8") == "");
  BOOST_TEST(file.get<std::uint64_t>("x.k9") == (std::numeric_limits<std::uint64_t>::max)());
  BOOST_TEST(file.get<std::int64_t>("x.k10") == (std::numeric_limits<std::int64_t>::min)());
  BOOST_TEST(file.get<double>("x.k11") == 1.5);
  BOOST_TEST(file.get_array("x.empty_u8").empty());
  BOOST_TEST(file.get_array("x.empty_str").strings().empty());
  BOOST_TEST(file.get_array("x.f64").values<double>() == (std::vector<double>{1.0, 2.0}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(integers_convert_between_widths_only_when_the_value_fits) {
  auto writer = gguf_writer::llama();
  writer.key("big", u64).number(std::uint64_t{1} << 40).key("minus", i16).number(std::int16_t{-5});
  writer.key("small", u8).number(std::uint8_t{200});
  const auto bytes = writer.bytes();
  const auto file = gguf_file::parse(bytes);
  BOOST_TEST(file.get<std::int64_t>("big") == std::int64_t{1} << 40);
  BOOST_TEST(file.get<std::int32_t>("minus") == -5);
  BOOST_TEST(file.get<std::size_t>("small") == 200u);
  BOOST_TEST(refused([&] { file.get<std::uint32_t>("big"); },
                     {"'big'", "1099511627776", "does not fit u32", "(byte "}));
  BOOST_TEST(refused([&] { file.get<std::uint32_t>("minus"); }, {"'minus'", "-5", "u32"}));
  BOOST_TEST(refused([&] { file.get<std::int8_t>("small"); }, {"'small'", "200", "i8"}));
}

BOOST_AUTO_TEST_CASE(nothing_but_integers_and_wider_floats_converts) {
  auto writer = gguf_writer::llama();
  writer.key("number", u32)
      .number(1u)
      .key("real", f32)
      .number(0.1f)
      .key("flag", boolean)
      .number(std::uint8_t{1});
  writer.key("wide", f64).number(0.1);
  const auto bytes = writer.bytes();
  const auto file = gguf_file::parse(bytes);
  BOOST_TEST(file.get<double>("real") == static_cast<double>(0.1f));
  BOOST_TEST(refused([&] { file.get<float>("wide"); }, {"'wide'", "f64", "f32 is needed"}));
  BOOST_TEST(refused([&] { file.get<float>("number"); }, {"'number'", "u32", "f32 is needed"}));
  BOOST_TEST(refused([&] { file.get<std::uint32_t>("real"); }, {"'real'", "f32", "u32 is needed"}));
  BOOST_TEST(refused([&] { file.get<std::uint32_t>("flag"); }, {"'flag'", "bool", "u32 is needed"}));
  BOOST_TEST(refused([&] { file.get<bool>("number"); }, {"'number'", "u32", "bool is needed"}));
  BOOST_TEST(refused([&] { file.get<std::string_view>("number"); }, {"'number'", "u32", "string is needed"}));
  BOOST_TEST(refused([&] { file.get_array("number"); }, {"'number'", "u32", "array is needed"}));
}

BOOST_AUTO_TEST_CASE(a_missing_key_is_nothing_to_find_and_an_error_to_get) {
  const auto bytes = gguf_writer::llama().bytes();
  const auto file = gguf_file::parse(bytes);
  BOOST_TEST(!file.contains("llama.block_count"));
  BOOST_TEST(!file.find<std::uint32_t>("llama.block_count").has_value());
  BOOST_TEST(file.offset_of("llama.block_count") == 0u);
  BOOST_TEST(file.offset_of("general.architecture") == 24u + 8u + 20u + 4u);
  BOOST_TEST(refused([&] { file.get<std::uint32_t>("llama.block_count"); },
                     {"<memory>", "no key 'llama.block_count'"}));
}

BOOST_AUTO_TEST_CASE(array_elements_are_read_by_index_and_only_as_what_they_are) {
  auto writer = gguf_writer::llama();
  writer.key("ids", array).array(i32, 3).number(7).number(-1).number(9);
  writer.key("bytes", array).array(u8, 2).number(std::uint8_t{1}).number(std::uint8_t{2});
  writer.key("names", array).array(string, 3).text("one").text("").text("three");
  writer.key("flags", array).array(boolean, 2).number(std::uint8_t{0}).number(std::uint8_t{1});
  const auto bytes = writer.bytes();
  const auto file = gguf_file::parse(bytes);
  const auto ids = file.get_array("ids");
  BOOST_TEST((ids.element_type() == gguf_value_type::i32));
  BOOST_TEST(ids.size() == 3u);
  BOOST_TEST(ids.at<std::int32_t>(1) == -1);
  BOOST_TEST(ids.at<std::uint32_t>(2) == 9u);
  BOOST_TEST(refused([&] { ids.at<std::uint32_t>(1); }, {"element 1", "does not fit u32"}));
  BOOST_TEST(refused([&] { ids.at<std::int32_t>(3); }, {"has 3 elements", "element 3"}));
  BOOST_TEST(refused([&] { ids.at<float>(0); }, {"i32", "f32 is needed"}));
  BOOST_TEST(refused([&] { ids.strings(); }, {"i32", "string is needed"}));
  BOOST_TEST(refused([&] { file.get_array("bytes").at<std::int32_t>(0); }, {"u8", "i32 is needed"}));
  BOOST_TEST(file.get_array("flags").at<bool>(1));
  const auto names = file.get_array("names").strings();
  BOOST_TEST(names == (std::vector<std::string_view>{"one", "", "three"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(arrays_of_arrays_are_read_and_bounded) {
  auto writer = gguf_writer::llama();
  writer.key("table", array).array(array, 3);
  writer.array(string, 2).text("a").text("bc").array(u8, 0).array(array, 1).array(i32, 1).number(42);
  writer.key("after", u32).number(5u);
  const auto bytes = writer.bytes();
  const auto file = gguf_file::parse(bytes);
  const auto rows = file.get_array("table").arrays();
  BOOST_REQUIRE(rows.size() == 3u);
  BOOST_TEST(rows[0].strings()[1] == "bc");
  BOOST_TEST(rows[1].empty());
  BOOST_TEST(rows[2].arrays()[0].at<std::int32_t>(0) == 42);
  BOOST_TEST(file.get<std::uint32_t>("after") == 5u);
  for (const bool allowed : {true, false}) {
    auto nested = gguf_writer::llama();
    nested.key("deep", array);
    for (int depth = 0; depth < (allowed ? 3 : 4); ++depth) nested.array(array, 1);
    nested.array(u8, 0);
    if (allowed) BOOST_CHECK_NO_THROW(parsing(nested)());
    else BOOST_TEST(refused(parsing(nested), {"'deep'", "arrays inside arrays"}));
  }
}

BOOST_AUTO_TEST_CASE(entries_have_a_text_for_people) {
  auto writer = gguf_writer::llama();
  writer.key("real", f32)
      .number(1e-5f)
      .key("flag", boolean)
      .number(std::uint8_t{0})
      .key("byte", u8)
      .number(std::uint8_t{65});
  writer.key("list", array).array(i32, 40);
  for (int i = 0; i < 40; ++i) writer.number(i);
  writer.key("names", array).array(string, 2).text("a\n").text("b");
  const auto bytes = writer.bytes();
  const auto file = gguf_file::parse(bytes);
  std::vector<std::string> texts;
  for (const auto& entry : file.entries())
    texts.push_back(std::string(entry.key) + " " + value_text(entry, 20));
  const std::vector<std::string> wanted = {
      "general.architecture llama", "real 1e-05", "flag false", "byte 65", "list i32[40] 0, 1, 2, 3, 4, ...",
      "names string[2] a\\x0a, b"};
  BOOST_TEST(texts == wanted, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
