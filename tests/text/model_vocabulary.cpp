// The tokenizer of a real model, SmolLM2-135M-Instruct: every id that two independent tokenizers agree on.
#include "support/json.hpp"
#include "support/sha256.hpp"
#include "tenon/text/tokenizer_gguf.hpp"
#include "text/small_vocabulary.hpp"

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace {

using tenon::test::json;
using tenon::text::special_tokens;
using ids = std::vector<tenon::token_id>;

bool no_model() {
  if (!std::string(TENON_TEST_MODEL).empty()) return false;
  BOOST_TEST_MESSAGE("skipped: TENON_TEST_MODEL names no model file");
  return true;
}

const tenon::io::gguf_file& model_file() {
  static const auto file = tenon::io::gguf_file::open(TENON_TEST_MODEL);
  return file;
}

const tenon::text::tokenizer& model_tokenizer() {
  static const auto made = tenon::text::tokenizer::from_gguf(model_file());
  return made;
}

std::string repeated(const std::string& text, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) all += text;
  return all;
}

// splitmix64, as in the script that wrote the digests.
std::string random_letters(std::size_t count) {
  std::string letters;
  std::uint64_t state = 1;
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    letters += static_cast<char>('a' + (z ^ (z >> 31)) % 26);
  }
  return letters;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(model_vocabulary)

BOOST_AUTO_TEST_CASE(every_id_is_that_of_the_reference_tokenizers) {
  if (no_model()) return;
  const auto& t = model_tokenizer();
  for (const json& c : tenon::test::load_cases("tokenizer_cases.json")) {
    const std::string bytes = tenon::test::from_hex(c.at("utf8_hex"));
    const ids special = c.at("ids"), plain = c.value("ids_no_special", special);
    const std::string decoded =
        tenon::test::from_hex(c.value("decoded_hex", c.at("utf8_hex").get<std::string>()));
    BOOST_TEST_CONTEXT(c.at("id") << " " << c.at("text").dump()) {
      BOOST_TEST(t.encode(bytes, special_tokens::recognise) == special, boost::test_tools::per_element());
      BOOST_TEST(t.encode(bytes) == plain, boost::test_tools::per_element());
      BOOST_TEST(t.decode(special, true) == decoded);
      BOOST_TEST(t.decode(plain) == decoded);
    }
  }
}

BOOST_AUTO_TEST_CASE(bytes_without_a_token_are_left_out_and_all_others_have_one) {
  if (no_model()) return;
  const auto& t = model_tokenizer();
  std::string without;
  const json file = tenon::test::load_json("tokenizer_cases.json");
  for (const json& digits : file.at("bytes_without_a_token")) without += tenon::test::from_hex(digits);
  BOOST_TEST(without.size() == 21u);
  for (int byte = 0; byte < 256; ++byte) {
    const std::string one(1, static_cast<char>(byte));
    BOOST_TEST(t.encode(one).size() == (without.find(one) == std::string::npos ? 1u : 0u));
  }
}

BOOST_AUTO_TEST_CASE(long_texts_have_the_right_ids) {
  if (no_model()) return;
  const std::map<std::string, std::function<std::string()>> texts = {
      {"a x 100000", [] { return repeated("a", 100'000); }},
      {"a x 400000", [] { return repeated("a", 400'000); }},
      {"space x 100000", [] { return repeated(" ", 100'000); }},
      {"digit x 100000", [] { return repeated("1", 100'000); }},
      {"ab_ x 33333", [] { return repeated("ab ", 33'333); }},
      {"emoji x 25000", [] { return repeated("😀", 25'000); }},
      {"random letters 100000", [] { return random_letters(100'000); }},
  };
  const json cases = tenon::test::load_cases("tokenizer_long.json");
  BOOST_TEST(cases.size() == texts.size());
  for (const json& c : cases) {
    const std::string name = c.at("name");
    BOOST_TEST_CONTEXT(name) {
      const ids found = model_tokenizer().encode(texts.at(name)());
      BOOST_TEST(found.size() == c.at("tokens").get<std::size_t>());
      std::string decimal;
      for (const tenon::token_id id : found) (decimal += decimal.empty() ? "" : ",") += std::to_string(id);
      BOOST_TEST(tenon::test::sha256(decimal) == c.at("ids_sha256").get<std::string>());
    }
  }
}

BOOST_AUTO_TEST_CASE(the_models_special_tokens_are_known) {
  if (no_model()) return;
  const auto& t = model_tokenizer();
  BOOST_TEST(t.size() == 49152u);
  BOOST_TEST((t.bos() == 1 && t.eos() == 2 && !t.adds_bos()));
  BOOST_TEST(ids(t.end_of_generation().begin(), t.end_of_generation().end()) == (ids{0, 2}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(the_models_chat_template_puts_its_system_prompt_in_front) {
  if (no_model()) return;
  const auto chat = tenon::text::chat_template::from_gguf(model_file());
  const tenon::text::message hello{"user", "Hello"};
  const auto& t = model_tokenizer();
  const ids found = chat.encode(t, {&hello, 1});
  BOOST_TEST(
      t.decode(found, true) ==
      "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n"
      "<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n");
  BOOST_TEST(found == t.encode(t.decode(found, true), special_tokens::recognise),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
