// The GGUF reader on well-formed files, and on faults that the generated files do not hold.
#include "tenon/io/gguf.hpp"

#include "io/gguf_writer.hpp"
#include "io/largest_allocation.hpp"
#include "io/refused.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using tenon::io::gguf_file;
using tenon::test::gguf_writer;
using tenon::test::parsing;
using tenon::test::refused;

constexpr std::uint32_t u32 = 4, boolean = 7, string = 8, array = 9, i64 = 11;  // numbers of value types

gguf_file generated(const std::string& name) {
  return gguf_file::open(TENON_TEST_GENERATED "/gguf_bad/" + name);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(gguf)

BOOST_AUTO_TEST_CASE(a_file_of_version_2_reads_like_one_of_version_3) {
  for (const std::uint32_t version : {2u, 3u}) {
    auto writer = gguf_writer::llama(version);
    writer.tensor("a", 0, {3}, 0).pad().zeros(12);
    const auto bytes = writer.bytes();
    const auto file = gguf_file::parse(bytes, "name");
    BOOST_TEST(file.version() == version);
    BOOST_TEST(file.name() == "name");
    BOOST_TEST(file.tensors().size() == 1u);
    BOOST_TEST(file.get<std::string_view>("general.architecture") == "llama");
  }
}

BOOST_AUTO_TEST_CASE(tensors_are_found_by_name_with_shape_type_and_data) {
  const gguf_file file = generated("ok_base.gguf");
  BOOST_TEST(file.tensors().size() == 11u);
  const auto* tensor = file.find_tensor("blk.0.ffn_down.weight");
  BOOST_REQUIRE(tensor != nullptr);
  BOOST_TEST(tensor->dimensions() == (std::vector<std::uint64_t>{64, 32}), boost::test_tools::per_element());
  BOOST_TEST(tenon::io::shape_text(tensor->dimensions()) == "[64, 32]");
  BOOST_TEST(tensor->element_count() == 64u * 32u);
  BOOST_TEST(tensor->data.size() == 4u * 64u * 32u);
  BOOST_TEST(tensor->offset % file.alignment() == 0u);
  BOOST_TEST(tenon::io::gguf_type_name(tensor->type) == "F32");
  BOOST_TEST(file.find_tensor("blk.1.ffn_down.weight") == nullptr);
  for (const auto& each : file.tensors()) BOOST_TEST(file.find_tensor(each.name) == &each);
}

BOOST_AUTO_TEST_CASE(data_lies_where_the_writer_put_it_whatever_the_alignment) {
  for (const std::uint32_t alignment : {8u, 32u, 256u}) {
    auto writer = gguf_writer::llama();
    writer.key("general.alignment", u32).number(alignment);
    writer.tensor("first", 24, {2}, 0).tensor("second", 24, {3}, alignment).pad(alignment);
    writer.raw("ab", 2).pad(alignment).raw("cde", 3);
    const auto bytes = writer.bytes();
    const auto file = gguf_file::parse(bytes);
    BOOST_TEST((file.find_tensor("first")->data[1] == std::byte{'b'}));
    BOOST_TEST((file.find_tensor("second")->data[2] == std::byte{'e'}));
    BOOST_TEST(&file.find_tensor("second")->data[0] == bytes.data() + file.find_tensor("second")->offset);
  }
}

BOOST_AUTO_TEST_CASE(a_bool_that_is_neither_0_nor_1_is_refused_at_its_byte) {
  auto single = gguf_writer::llama();
  single.key("flag", boolean).number(std::uint8_t{2});
  BOOST_TEST(refused(parsing(single),
                     {"'flag'", "bool that is 2", "(byte " + std::to_string(single.size() - 1) + ")"}));
  auto several = gguf_writer::llama();
  several.key("flags", array)
      .array(boolean, 3)
      .number(std::uint8_t{1})
      .number(std::uint8_t{255})
      .number(std::uint8_t{3});
  BOOST_TEST(refused(parsing(several),
                     {"'flags'", "bool that is 255", "(byte " + std::to_string(several.size() - 2) + ")"}));
}

BOOST_AUTO_TEST_CASE(an_offset_that_wraps_when_the_size_is_added_is_refused) {
  for (const std::uint64_t offset : {~std::uint64_t{31}, ~std::uint64_t{0} - 63, std::uint64_t{64}}) {
    auto writer = gguf_writer::llama();
    writer.tensor("w", 0, {16}, offset).pad().zeros(64);
    BOOST_TEST(
        refused(parsing(writer), {"'w'", "64 bytes at offset " + std::to_string(offset), "ends after 64"}));
  }
}

BOOST_AUTO_TEST_CASE(a_file_that_ends_before_its_padding_holds_no_tensor_data) {
  auto writer = gguf_writer::llama();
  writer.tensor("w", 24, {1}, 0);
  BOOST_REQUIRE(writer.size() % 32 != 0);
  BOOST_TEST(refused(parsing(writer), {"'w'", "ends after 0"}));
}

BOOST_AUTO_TEST_CASE(an_alignment_that_is_no_power_of_two_from_8_is_refused) {
  for (const std::uint32_t alignment : {0u, 1u, 4u, 24u, 33u, 0x80000000u}) {
    auto writer = gguf_writer::llama();
    writer.key("general.alignment", u32).number(alignment).zeros(100);
    BOOST_TEST(
        refused(parsing(writer), {"'general.alignment' is " + std::to_string(alignment), "power of two"}));
  }
}

BOOST_AUTO_TEST_CASE(a_file_cut_anywhere_before_its_end_is_refused) {
  auto writer = gguf_writer::llama();
  writer.key("list", array).array(string, 2).text("x").text("yz").key("n", i64).number(std::int64_t{1});
  writer.tensor("w", 8, {32, 2}, 0).pad().zeros(68);
  const auto bytes = writer.bytes();
  BOOST_CHECK_NO_THROW(gguf_file::parse(bytes));
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    // A buffer of exactly this size, so that a read past its end shows under a sanitizer.
    const std::vector<std::byte> cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    BOOST_TEST(refused([&] { gguf_file::parse(cut); }, {}), "a file of " << size << " bytes");
  }
}

BOOST_AUTO_TEST_CASE(names_in_messages_are_printable_and_short) {
  auto writer = gguf_writer::llama();
  const std::string name = "a\n\x1b\xff\xe2\x82\xac" + std::string(200, 'z');
  writer.key(name, 77);
  BOOST_TEST(refused(parsing(writer), {"'a\\x0a\\x1b\\xff\xe2\x82\xaczzz", "zzz...'", "unknown type 77"}));
}

BOOST_AUTO_TEST_CASE(views_stay_valid_when_the_file_is_moved) {
  gguf_file first = generated("ok_base.gguf");
  const auto* data = first.find_tensor("output_norm.weight")->data.data();
  const auto tokens = first.get_array("tokenizer.ggml.tokens");
  const gguf_file second = std::move(first);
  BOOST_TEST(second.find_tensor("output_norm.weight")->data.data() == data);
  BOOST_TEST(tokens.strings()[1] == "<|im_start|>");
  BOOST_TEST(refused([&] { tokens.at<std::int32_t>(0); }, {"ok_base.gguf"}));
}

BOOST_AUTO_TEST_CASE(a_large_vocabulary_is_neither_copied_nor_indexed) {
  auto writer = gguf_writer::llama();
  writer.key("tokens", array).array(string, 49152);
  for (int i = 0; i < 49152; ++i) writer.text("token " + std::to_string(i));
  const auto bytes = writer.bytes();
  const tenon::test::allocation_watch watch;
  const auto file = gguf_file::parse(bytes);
  BOOST_TEST(watch.largest() < 1000u);
  BOOST_TEST(watch.count() < 20u);
  const auto tokens = file.get_array("tokens").strings();
  BOOST_TEST(tokens.size() == 49152u);
  BOOST_TEST(tokens[49151] == "token 49151");
}

BOOST_AUTO_TEST_CASE(the_real_model_opens_and_holds_what_it_is_known_to_hold) {
  if (std::string_view(TENON_TEST_MODEL).empty()) {
    BOOST_TEST_MESSAGE("skipped: no model file; configure with -DTENON_TEST_MODEL=...");
    return;
  }
  const auto file = gguf_file::open(TENON_TEST_MODEL);
  BOOST_TEST(file.get<std::string_view>("general.architecture") == "llama");
  BOOST_TEST(file.get<std::uint32_t>("llama.block_count") == 30u);
  BOOST_TEST(file.get_array("tokenizer.ggml.tokens").strings().size() == 49152u);
  BOOST_TEST(file.tensors().size() == 272u);
  const auto* embedding = file.find_tensor("token_embd.weight");
  BOOST_REQUIRE(embedding != nullptr);
  BOOST_TEST(tenon::io::gguf_type_name(embedding->type) == "Q8_0");
  BOOST_TEST(embedding->data.size() == 49152u * 576u / 32u * 34u);
}

BOOST_AUTO_TEST_SUITE_END()
