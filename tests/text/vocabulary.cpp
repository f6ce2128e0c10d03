// Vocabularies that contradict themselves are refused with the key and the numbers that do not fit.
#include "tenon/text/vocabulary.hpp"

#include "io/bad_files.hpp"
#include "tenon/text/tokenizer_gguf.hpp"
#include "text/small_vocabulary.hpp"

#include <boost/test/unit_test.hpp>

#include <initializer_list>
#include <string>
#include <string_view>

namespace {

using tenon::test::shared_vocabulary;
using tenon::text::tokenizer;

// Expects a load_error that names the file and holds all the words.
void expect_refused(const tenon::text::vocabulary& parts, std::initializer_list<std::string_view> words) {
  BOOST_CHECK_EXCEPTION(tokenizer{parts}, tenon::load_error, [&](const tenon::load_error& e) {
    BOOST_TEST_MESSAGE(e.what());
    bool all = e.file() == "small.gguf";
    for (const std::string_view word : words)
      all = all && std::string_view(e.what()).find(word) != std::string_view::npos;
    return all;
  });
}

}  // namespace

BOOST_AUTO_TEST_SUITE(vocabulary)

BOOST_AUTO_TEST_CASE(an_unknown_kind_is_refused_by_name) {
  auto parts = shared_vocabulary().parts();
  parts.model = "llama";
  expect_refused(parts, {"tokenizer.ggml.model", "\"llama\"", "gpt2"});
}

BOOST_AUTO_TEST_CASE(an_unknown_pre_tokenizer_is_refused_by_name_and_not_replaced) {
  auto parts = shared_vocabulary().parts("falcon");
  expect_refused(parts, {"tokenizer.ggml.pre", "\"falcon\"", "gpt-2, smollm, llama-bpe, qwen2"});
  parts.pre = "";
  expect_refused(parts, {"tokenizer.ggml.pre", "\"\""});
}

BOOST_AUTO_TEST_CASE(a_vocabulary_without_tokens_is_refused) {
  auto parts = shared_vocabulary().parts();
  parts.tokens.clear();
  expect_refused(parts, {"tokenizer.ggml.tokens", "empty"});
}

BOOST_AUTO_TEST_CASE(token_types_must_be_as_many_as_tokens_and_known) {
  auto parts = shared_vocabulary().parts();
  parts.token_type = {3, 3, 3};
  expect_refused(parts, {"tokenizer.ggml.token_type", "3 entries", std::to_string(parts.tokens.size())});
  parts.token_type.emplace();
  expect_refused(parts, {"0 entries"});
  for (const int wrong : {0, 6, -1}) {
    parts.token_type.emplace(parts.tokens.size(), 1);
    parts.token_type->at(7) = wrong;
    expect_refused(parts, {"tokenizer.ggml.token_type", "has " + std::to_string(wrong) + " for id 7"});
  }
}

BOOST_AUTO_TEST_CASE(absent_token_types_mean_that_all_tokens_are_normal) {
  auto parts = shared_vocabulary().parts();
  parts.token_type.reset();
  const tokenizer t(parts);
  BOOST_TEST(!t.is_control(0));
  BOOST_TEST(t.encode("<|im_end|>", tenon::text::special_tokens::recognise).size() > 1u);
}

BOOST_AUTO_TEST_CASE(two_tokens_of_one_text_are_refused_with_both_ids) {
  auto parts = shared_vocabulary().parts();
  parts.tokens[50] = parts.tokens[20];
  expect_refused(parts, {"tokenizer.ggml.tokens", "ids 20 and 50"});
}

BOOST_AUTO_TEST_CASE(a_merge_that_is_no_pair_is_refused_with_its_number) {
  auto parts = shared_vocabulary().parts();
  parts.merges[5] = "nospace";
  expect_refused(
      parts, {"tokenizer.ggml.merges", "entry 5 of " + std::to_string(parts.merges.size()), "\"nospace\""});
  parts.merges[5] = "";
  expect_refused(parts, {"tokenizer.ggml.merges", "entry 5"});
}

BOOST_AUTO_TEST_CASE(a_merge_of_tokens_that_are_not_there_is_refused) {
  for (const std::string_view merge : {"a notoken", "notoken a", "Z Q"}) {
    auto parts = shared_vocabulary().parts();
    parts.merges[5] = merge;
    expect_refused(parts, {"tokenizer.ggml.merges", "entry 5", merge});
  }
}

BOOST_AUTO_TEST_CASE(special_ids_outside_the_vocabulary_are_refused_with_both_numbers) {
  const auto count = shared_vocabulary().tokens.size();
  const auto refused = [&](auto member, std::string_view key, std::uint64_t id) {
    auto parts = shared_vocabulary().parts();
    parts.*member = id;
    expect_refused(
        parts, {"tokenizer.ggml." + std::string(key), std::to_string(id), std::to_string(count) + " tokens"});
  };
  using parts = tenon::text::vocabulary;
  refused(&parts::bos_token_id, "bos_token_id", count);
  refused(&parts::eos_token_id, "eos_token_id", 0xffffffffu);
  refused(&parts::eot_token_id, "eot_token_id", count);
  refused(&parts::eom_token_id, "eom_token_id", count + 7);
}

BOOST_AUTO_TEST_CASE(bos_cannot_be_added_where_there_is_none) {
  auto parts = shared_vocabulary().parts();
  parts.bos_token_id.reset();
  parts.add_bos_token = true;
  expect_refused(parts, {"tokenizer.ggml.add_bos_token", "bos_token_id"});
}

BOOST_AUTO_TEST_CASE(an_error_says_where_in_the_file_the_value_is) {
  auto parts = shared_vocabulary().parts();
  parts.eos_token_id = 99999;
  parts.offsets = {{"bos_token_id", 11}, {"eos_token_id", 4711}};
  BOOST_CHECK_EXCEPTION(tokenizer{parts}, tenon::load_error,
                        [](const tenon::load_error& e) { return e.offset() == 4711; });
}

BOOST_AUTO_TEST_CASE(files_with_broken_vocabularies_are_refused_at_the_place_of_the_fault) {
  int seen = 0;
  for (const tenon::test::bad_file& bad : tenon::test::bad_files()) {
    if (!bad.starts_with("voc_")) continue;
    ++seen;
    BOOST_TEST_CONTEXT(bad.name << ": " << bad.why) {
      const auto file = tenon::io::gguf_file::open(bad.path);
      BOOST_CHECK_EXCEPTION(tokenizer::from_gguf(file), tenon::load_error, [&](const tenon::load_error& e) {
        BOOST_TEST_MESSAGE(e.what());
        return e.file() == bad.path.string() && e.offset() != 0;
      });
    }
  }
  BOOST_TEST(seen == 7);
}

BOOST_AUTO_TEST_CASE(a_sound_file_gives_its_tokenizer) {
  const auto file = tenon::io::gguf_file::open(TENON_TEST_GENERATED "/gguf_bad/ok_base.gguf");
  const auto t = tokenizer::from_gguf(file);
  BOOST_TEST(t.size() == 262u);
  BOOST_TEST(t.pre_tokenizer_name() == "gpt-2");
  BOOST_TEST(t.encode(" the") == std::vector<tenon::token_id>{261}, boost::test_tools::per_element());
  std::string all_bytes;
  for (int byte = 0; byte < 256; ++byte) all_bytes += static_cast<char>(byte);
  BOOST_TEST(t.decode(t.encode(all_bytes)) == all_bytes);
}

BOOST_AUTO_TEST_SUITE_END()
