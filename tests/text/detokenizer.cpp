// The streaming detokenizer: valid UTF-8 in every chunk, the same text however the bytes are cut.
#include "tenon/text/detokenizer.hpp"

#include "support/json.hpp"
#include "text/small_vocabulary.hpp"

#include <rapidcheck.h>
#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace {

using tenon::test::from_hex;
using tenon::test::json;

// Feeds the pieces and joins what comes out; each chunk must be valid by itself.
std::string streamed(const std::vector<std::string>& pieces) {
  tenon::text::detokenizer stream;
  std::string text;
  const auto take = [&](std::string_view chunk) {
    if (tenon::text::valid_utf8_prefix(chunk) != chunk.size())
      throw std::runtime_error("a chunk is not valid UTF-8");
    text += chunk;
  };
  for (const std::string& piece : pieces) take(stream.push(piece));
  take(stream.finish());
  return text;
}

// UTF-8 decoding by the book, for the property: the state machine of the WHATWG Encoding Standard, byte by
// byte.
std::string whatwg_decode(std::string_view bytes) {
  std::string text, pending;
  unsigned needed = 0, low = 0x80, high = 0xbf;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const unsigned byte = static_cast<unsigned char>(bytes[i]);
    if (needed == 0) {
      if (byte < 0x80) text += bytes[i];
      else if (byte >= 0xc2 && byte <= 0xf4) {
        needed = byte < 0xe0 ? 1 : byte < 0xf0 ? 2 : 3;
        if (byte == 0xe0) low = 0xa0;
        if (byte == 0xed) high = 0x9f;
        if (byte == 0xf0) low = 0x90;
        if (byte == 0xf4) high = 0x8f;
        pending = bytes[i];
      } else text += "\ufffd";
      continue;
    }
    if (byte < low || byte > high) {
      needed = 0, low = 0x80, high = 0xbf;
      text += "\ufffd";
      --i;
      continue;
    }
    low = 0x80, high = 0xbf;
    pending += bytes[i];
    if (--needed == 0) text += pending;
  }
  return needed != 0 ? text + "\ufffd" : text;
}

rc::Gen<std::string> nearly_text() {
  const std::vector<std::string> parts = {"a",    "é",    "歪",       "😀",        "\xe6",     "\xf0\x9f",
                                          "\x98", "\xc0", "\xed\xa0", "\xf4\x90", "\xe0\x80", "\xff"};
  return rc::gen::map(rc::gen::container<std::vector<std::string>>(rc::gen::elementOf(parts)),
                      [](const std::vector<std::string>& chosen) {
                        std::string joined;
                        for (const std::string& part : chosen) joined += part;
                        return joined;
                      });
}

}  // namespace

BOOST_AUTO_TEST_SUITE(detokenizer)

BOOST_AUTO_TEST_CASE(streams_of_pieces_give_the_right_text) {
  for (const json& c : tenon::test::load_cases("vectors/stream.json")) {
    std::vector<std::string> pieces;
    for (const std::string digits : c.at("pieces_hex")) pieces.push_back(from_hex(digits));
    BOOST_TEST(streamed(pieces) == c.at("text").get<std::string>(), c.at("name"));
  }
}

BOOST_AUTO_TEST_CASE(a_character_goes_out_with_its_last_byte_and_not_before) {
  tenon::text::detokenizer stream;
  BOOST_TEST(stream.push("\x20\xe6") == " ");
  BOOST_TEST(stream.held() == 1u);
  BOOST_TEST(stream.push("\xad") == "");
  BOOST_TEST(stream.push("\xaa!") == "歪!");
  BOOST_TEST(stream.held() == 0u);
}

BOOST_AUTO_TEST_CASE(bytes_that_begin_nothing_go_out_at_once) {
  tenon::text::detokenizer stream;
  BOOST_TEST(stream.push("\xc0") == "\ufffd");
  BOOST_TEST(stream.push("\xe6") == "");
  BOOST_TEST(stream.push("a") == "\ufffda");
}

BOOST_AUTO_TEST_CASE(a_finished_stream_can_begin_anew) {
  tenon::text::detokenizer stream;
  stream.push("\xf0\x9f");
  BOOST_TEST(stream.finish() == "\ufffd");
  BOOST_TEST(stream.finish() == "");
  BOOST_TEST(stream.push("é") == "é");
}

BOOST_AUTO_TEST_CASE(however_the_bytes_are_cut_the_text_is_the_same) {
  BOOST_TEST(rc::check([] {
    const std::string bytes = *nearly_text();
    std::vector<std::string> pieces;
    for (std::size_t begin = 0; begin < bytes.size();) {
      pieces.push_back(bytes.substr(begin, *rc::gen::inRange<std::size_t>(1, 5)));
      begin += pieces.back().size();
    }
    const std::string expected = whatwg_decode(bytes);
    RC_ASSERT(streamed(pieces) == expected);
    RC_ASSERT(tenon::text::to_utf8(bytes) == expected);
  }));
}

BOOST_AUTO_TEST_CASE(tokens_of_a_text_stream_as_the_text) {
  const tenon::text::tokenizer t = tenon::test::shared_vocabulary().make("qwen2");
  BOOST_TEST(rc::check([&] {
    const std::string text = tenon::text::to_utf8(*nearly_text());
    std::vector<std::string> pieces;
    for (const tenon::token_id id : t.encode(text)) pieces.emplace_back(t.bytes(id));
    RC_ASSERT(streamed(pieces) == text);
  }));
}

BOOST_AUTO_TEST_SUITE_END()
