// The tokenizer on a small vocabulary: against the ids of the `tokenizers` package, and properties that hold
// for any bytes.
#include "tenon/text/tokenizer.hpp"

#include "text/small_vocabulary.hpp"

#include <rapidcheck.h>
#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

using tenon::token_id;
using tenon::test::json;
using tenon::test::shared_vocabulary;
using tenon::text::special_tokens;

using ids = std::vector<token_id>;
const std::string bytes_without_token = "\x13\xf5\xff";

const tenon::text::tokenizer& tokenizer_of(const std::string& pre) {
  static const std::map<std::string, tenon::text::tokenizer> all = [] {
    std::map<std::string, tenon::text::tokenizer> made;
    for (const auto& rules : tenon::text::known_pre_tokenizers)
      made.emplace(std::string(rules.name), shared_vocabulary().make(rules.name));
    return made;
  }();
  return all.at(pre);
}

std::string without_tokenless_bytes(const std::string& bytes) {
  std::string kept;
  for (const char byte : bytes)
    if (bytes_without_token.find(byte) == std::string::npos) kept += byte;
  return kept;
}

// Bytes that look like text: pieces of whatever a pattern tells apart, and raw bytes between them.
rc::Gen<std::string> awkward_bytes() {
  const std::vector<std::string> parts = {
      "a",    "The",  " the",     "'s",   "'LL",  " ",          "  ",    "\n",     "\r\n",
      "\t",   "1",    "234",      "é",    "東",   "\u00a0",     "😀",     "...",    "!?\n",
      "\xe6", "\x80", "\xf0\x9f", "\xff", "\x13", "<|im_end|>", "<tool", "_call>", "    "};
  return rc::gen::map(
      rc::gen::container<std::vector<std::string>>(rc::gen::oneOf(
          rc::gen::elementOf(parts), rc::gen::container<std::string>(rc::gen::arbitrary<char>()))),
      [](const std::vector<std::string>& chosen) {
        std::string joined;
        for (const std::string& part : chosen) joined += part;
        return joined;
      });
}

}  // namespace

BOOST_AUTO_TEST_SUITE(tokenizer)

BOOST_AUTO_TEST_CASE(ids_are_those_of_the_original_tokenizers_for_every_pre_tokenizer) {
  for (const json& c : shared_vocabulary().data().at("cases")) {
    const std::string pre = c.at("pre"), text = c.at("text");
    const ids special = c.at("ids"), plain = c.value("ids_as_text", special);
    BOOST_TEST_CONTEXT(pre << ": " << c.at("text").dump()) {
      BOOST_TEST(tokenizer_of(pre).encode(text, special_tokens::recognise) == special,
                 boost::test_tools::per_element());
      BOOST_TEST(tokenizer_of(pre).encode(text) == plain, boost::test_tools::per_element());
    }
  }
}

BOOST_AUTO_TEST_CASE(any_bytes_come_back_but_those_without_a_token) {
  for (const auto& rules : tenon::text::known_pre_tokenizers) {
    const tenon::text::tokenizer& t = tokenizer_of(std::string(rules.name));
    BOOST_TEST(rc::check(std::string(rules.name), [&] {
      const std::string bytes = *awkward_bytes();
      RC_ASSERT(t.decode(t.encode(bytes)) == without_tokenless_bytes(bytes));
      RC_ASSERT(t.decode(t.encode(bytes, special_tokens::recognise), true) == without_tokenless_bytes(bytes));
    }));
  }
}

BOOST_AUTO_TEST_CASE(text_given_as_text_never_becomes_a_control_token) {
  const tenon::text::tokenizer& t = tokenizer_of("llama-bpe");
  BOOST_TEST(rc::check([&] {
    const std::string bytes = *awkward_bytes();
    for (const token_id id : t.encode(bytes)) RC_ASSERT(!t.is_control(id));
  }));
}

BOOST_AUTO_TEST_CASE(a_merge_that_the_file_has_for_a_control_token_is_not_made) {
  // ">>" is one piece, and the file has a merge that makes the control token of that text.
  tenon::text::vocabulary parts = shared_vocabulary().parts();
  parts.tokens.push_back(">>");
  parts.token_type->push_back(3);
  parts.merges.insert(parts.merges.begin(), "> >");
  const tenon::text::tokenizer t(parts);
  const token_id half = *t.find(">"), whole = *t.find(">>");
  BOOST_TEST(t.encode(">>") == (ids{half, half}), boost::test_tools::per_element());
  BOOST_TEST(t.encode(">>", special_tokens::recognise) == ids{whole}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_piece_is_cut_where_the_bytes_stop_being_text) {
  const tenon::text::tokenizer& t = tokenizer_of("gpt-2");
  // "The" is one token; a stray byte inside must not be skipped as if it was not there.
  BOOST_TEST(t.encode("The").size() == 1u);
  BOOST_TEST(t.encode("T\x80he").size() == 3u);
  BOOST_TEST(t.decode(t.encode("T\x80he")) == "T\x80he");
  // A character cut short at the end of the text, an overlong form, a surrogate.
  for (const std::string bytes : {"a\xf0\x9f\x98", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80"})
    BOOST_TEST(t.decode(t.encode(bytes)) == bytes);
}

BOOST_AUTO_TEST_CASE(the_longest_of_several_special_tokens_at_one_place_wins) {
  const tenon::text::tokenizer& t = tokenizer_of("gpt-2");
  const token_id whole = *t.find("<tool_call>"), begin = *t.find("<tool");
  BOOST_TEST(t.encode("<tool_call>") == ids{whole}, boost::test_tools::per_element());
  BOOST_TEST(t.encode("<tool_cal").front() == begin);
  BOOST_TEST(t.encode("<tool<tool_call>") == (ids{begin, whole}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(control_tokens_are_told_apart_and_left_out_of_decoded_text) {
  const tenon::text::tokenizer& t = tokenizer_of("gpt-2");
  BOOST_TEST(t.is_control(0));
  BOOST_TEST(!t.is_control(*t.find("<tool")));
  BOOST_TEST(!t.is_control(*t.find("a")));
  const ids with_control = t.encode("a<|im_end|>b", special_tokens::recognise);
  BOOST_TEST(with_control.size() == 3u);
  BOOST_TEST(t.decode(with_control) == "ab");
  BOOST_TEST(t.decode(with_control, true) == "a<|im_end|>b");
  BOOST_TEST(t.bytes(2) == "<|im_end|>");
}

BOOST_AUTO_TEST_CASE(a_token_has_its_text_in_the_file_and_its_bytes) {
  const tenon::text::tokenizer& t = tokenizer_of("gpt-2");
  const token_id the = *t.find("\u0120the");
  BOOST_TEST(t.text(the) == "\u0120the");
  BOOST_TEST(t.bytes(the) == " the");
  BOOST_TEST(!t.find(" the").has_value());
  BOOST_TEST(!t.find("").has_value());
}

BOOST_AUTO_TEST_CASE(an_id_outside_the_vocabulary_is_a_request_error) {
  const tenon::text::tokenizer& t = tokenizer_of("gpt-2");
  const auto past = static_cast<token_id>(t.size());
  for (const token_id id : {token_id{-1}, past}) {
    BOOST_CHECK_THROW(t.bytes(id), tenon::request_error);
    BOOST_CHECK_THROW(t.decode(ids{id}), tenon::request_error);
    BOOST_CHECK_THROW(t.is_control(id), tenon::request_error);
  }
  BOOST_CHECK_EXCEPTION(t.bytes(past), tenon::request_error, [&](const tenon::request_error& e) {
    return std::string_view(e.what()).find(std::to_string(past)) != std::string_view::npos;
  });
}

BOOST_AUTO_TEST_CASE(generation_ends_at_the_ids_of_the_file_and_at_control_tokens_known_for_it) {
  tenon::text::vocabulary parts = shared_vocabulary().parts();
  const auto ends = [](const tenon::text::vocabulary& from) {
    const tenon::text::tokenizer t(from);
    return ids(t.end_of_generation().begin(), t.end_of_generation().end());
  };
  BOOST_TEST(ends(parts) == (ids{0, 2}),
             boost::test_tools::per_element());  // <|endoftext|>, and eos = <|im_end|>
  parts.eos_token_id.reset();
  parts.eot_token_id = 40;
  parts.eom_token_id = 30;
  BOOST_TEST(ends(parts) == (ids{0, 2, 30, 40}), boost::test_tools::per_element());
  (*parts.token_type)[0] = 1;  // the text alone does not make a token one that ends
  BOOST_TEST(ends(parts) == (ids{2, 30, 40}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_prompt_begins_with_bos_if_the_file_or_the_family_says_so) {
  tenon::text::vocabulary parts = shared_vocabulary().parts("llama-bpe");
  BOOST_TEST(tenon::text::tokenizer(parts).adds_bos());
  BOOST_TEST((tenon::text::tokenizer(parts).bos() == token_id{3}));
  parts.add_bos_token = false;
  BOOST_TEST(!tenon::text::tokenizer(parts).adds_bos());
  parts = shared_vocabulary().parts("gpt-2");
  BOOST_TEST(!tenon::text::tokenizer(parts).adds_bos());
  parts.add_bos_token = true;
  BOOST_TEST(tenon::text::tokenizer(parts).adds_bos());
}

BOOST_AUTO_TEST_CASE(several_threads_encode_at_the_same_time) {
  const tenon::text::tokenizer& t = tokenizer_of("qwen2");
  const std::string text = "The quick brown fox, it's 12 times <|im_end|> 東京\n\n";
  const ids expected = t.encode(text, special_tokens::recognise);
  std::vector<int> wrong(4, 0);
  std::vector<std::thread> threads;
  for (int& mine : wrong)
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) mine += t.encode(text, special_tokens::recognise) != expected;
    });
  for (std::thread& one : threads) one.join();
  BOOST_TEST(wrong == std::vector<int>(4, 0), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(long_runs_are_encoded_whole) {
  // Far more than PCRE2's default limits (ten million steps back) and a machine stack would bear.
  for (const auto& rules : tenon::text::known_pre_tokenizers) {
    const tenon::text::tokenizer& t = tokenizer_of(std::string(rules.name));
    for (const std::string run : {"a", " ", "\n", "!", "7", "é"}) {
      std::string text;
      for (int i = 0; i < 200'000; ++i) text += run;
      BOOST_TEST(t.decode(t.encode(text)) == text);
    }
    const std::string blanks(11'000'000, ' ');
    BOOST_TEST((t.decode(t.encode(blanks + "x")) == blanks + "x"));
  }
}

BOOST_AUTO_TEST_CASE(the_unicode_version_is_known) {
  const std::string version = tenon::text::unicode_version();
  BOOST_TEST(version.find('.') != std::string::npos);
  BOOST_TEST(std::stoi(version) >= 10);
}

BOOST_AUTO_TEST_SUITE_END()
