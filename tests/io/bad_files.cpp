// Every file of the manifest through the reader: what the container can decide, it decides with a clear
// error.
#include "io/bad_files.hpp"

#include "io/largest_allocation.hpp"
#include "tenon/io/gguf.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <ctime>
#include <optional>
#include <string>
#include <vector>

namespace {

/// The words that the error about a file must hold, by the beginning of the file's name; the first row that
/// fits counts.
struct wording {
  const char* prefix;
  std::vector<std::string> words;
};

const std::vector<wording>& wordings() {
  static const std::vector<wording> rows = {
      {"hdr_empty", {"empty"}},
      {"hdr_3_bytes", {"no GGUF file", "'GGU'"}},
      {"hdr_only_magic", {"ends inside the version", "cut short"}},
      {"hdr_23_bytes", {"ends inside the key count", "cut short"}},
      {"hdr_magic_ggml", {"no GGUF file", "'GGML'", "older than GGUF"}},
      {"hdr_version_", {"version", "2 and 3"}},
      {"hdr_big_endian", {"big-endian byte order"}},
      {"cnt_kv_one_too_many", {}},  // the first tensor is read as a key: where that fails is chance
      {"cnt_kv_", {"keys", "more than", "byte 16"}},
      {"cnt_tensor_one_too_many", {}},  // the data is read as a tensor
      {"cnt_tensor_", {"tensors", "more than", "byte 8"}},
      {"str_len_", {"ends inside the value of key 'x'"}},
      {"key_len_", {"ends inside the name of a key"}},
      {"arr_len_", {"ends inside the array of key 'x'"}},
      {"val_type_", {"key 'x'", "unknown type"}},
      {"arr_elem_type_99", {"key 'x'", "unknown type 99"}},
      {"arr_nested_50000", {"key 'x'", "arrays inside arrays"}},
      {"key_twice", {"key 'general.architecture' twice"}},
      {"key_wrong_type", {"'general.architecture'", "u32", "string"}},
      {"key_no_architecture", {"no key 'general.architecture'"}},
      {"dim_count_", {"'blk.0.attn_q.weight'", "dimensions", "1 to 4"}},
      {"dim_2_32_x_2_32", {"'blk.0.attn_q.weight'", "[4294967296, 4294967296]", "64 bits"}},
      {"dim_wrap_pad", {"'blk.0.attn_q.weight'", "18446744073709551600 bytes", "the file ends"}},
      {"dim_zero", {"'blk.0.attn_q.weight'", "[0, 32]", "no values"}},
      {"dim_2_42_plus_1", {"'blk.0.attn_q.weight'", "562949953421440 bytes", "the file ends"}},
      {"dim_", {"'blk.0.attn_q.weight'", "shape [", "64 bits"}},
      {"ttype_4.", {"'blk.0.attn_q.weight'", "Q4_2", "withdrawn"}},
      {"ttype_5", {"'blk.0.attn_q.weight'", "Q4_3", "withdrawn"}},
      {"ttype_", {"'blk.0.attn_q.weight'", "unknown type"}},
      {"row_not_whole_blocks", {"'blk.0.attn_q.weight'", "[33, 32]", "Q8_0", "blocks of 32"}},
      {"off_misaligned_7", {"'blk.0.attn_q.weight'", "offset 7", "alignment 32"}},
      {"off_", {"'blk.0.attn_q.weight'", "offset", "the file ends"}},
      {"tensor_twice", {"tensor 'blk.0.ffn_down.weight' twice"}},
      {"tensor_name_5000", {"'nnnnnnnn", "name of 5000 bytes", "64"}},
      {"tensor_name_len_2_62", {"ends inside the name of a tensor"}},
      {"cut_at_50.", {"21 keys", "more than", "cut short"}},
      {"cut_at_", {"the file ends inside", "cut short"}},
      {"cut_", {"tensor '", "the file ends after", "cut short"}},
      {"align_is_string", {"'general.alignment'", "string", "u32"}},
      {"align_", {"'general.alignment'", "power of two"}},
  };
  return rows;
}

const wording* wording_of(const tenon::test::bad_file& file) {
  const auto row = std::find_if(wordings().begin(), wordings().end(),
                                [&](const wording& each) { return file.starts_with(each.prefix); });
  return row != wordings().end() ? &*row : nullptr;
}

/// The error that opening gives, if any.
std::optional<tenon::load_error> error_of(const tenon::test::bad_file& file) {
  try {
    tenon::io::gguf_file::open(file.path);
  } catch (const tenon::load_error& error) {
    return error;
  }
  return std::nullopt;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(bad_files)

BOOST_AUTO_TEST_CASE(a_broken_container_is_refused_with_words_that_name_the_fault) {
  int refused = 0;
  for (const tenon::test::bad_file& file : tenon::test::bad_files()) {
    if (file.expect != "error" || file.needs_the_model()) continue;
    BOOST_TEST_CONTEXT(file.name << ": " << file.why) {
      const auto error = error_of(file);
      BOOST_TEST(error.has_value());
      if (!error) continue;
      ++refused;
      const std::string message = error->what();
      BOOST_TEST_MESSAGE(message);
      BOOST_TEST(error->file() == file.path.string());
      BOOST_TEST(message.find(file.name) != std::string::npos);
      BOOST_TEST(message.find(';') != std::string::npos);  // what was wrong; what to do
      BOOST_TEST(message.size() < 700u);
      const wording* expected = wording_of(file);
      BOOST_REQUIRE(expected != nullptr);
      for (const std::string& words : expected->words) {
        BOOST_TEST(message.find(words) != std::string::npos, "\"" << words << "\" is not in: " << message);
      }
    }
  }
  BOOST_TEST(refused >= 60);
}

BOOST_AUTO_TEST_CASE(a_valid_or_doubtful_file_is_opened) {
  int opened = 0;
  for (const tenon::test::bad_file& file : tenon::test::bad_files()) {
    if (file.expect == "error" && !file.needs_the_model()) continue;
    BOOST_TEST_CONTEXT(file.name << ": " << file.why) {
      const auto error = error_of(file);
      BOOST_TEST(!error, (error ? error->what() : ""));
      ++opened;
    }
  }
  BOOST_TEST(opened >= 30);
}

BOOST_AUTO_TEST_CASE(no_file_makes_the_reader_allocate_by_its_word_or_take_long) {
  for (const tenon::test::bad_file& file : tenon::test::bad_files()) {
    BOOST_TEST_CONTEXT(file.name << ": " << file.why) {
      const std::clock_t start =
          std::clock();  // of this process: what else the machine does is not the reader's fault
      std::size_t largest = 0;
      {
        const tenon::test::allocation_watch watch;
        error_of(file);
        largest = watch.largest();
      }
      BOOST_TEST(largest < 100000u);
      BOOST_TEST(std::clock() - start < CLOCKS_PER_SEC);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
