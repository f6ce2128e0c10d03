// Stop strings over streamed text, against a search over the whole text.
#include "tenon/text/stop_matcher.hpp"

#include "support/json.hpp"

#include <rapidcheck.h>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace {

using tenon::test::json;
using strings = std::vector<std::string>;

struct outcome {
  std::string text;
  bool matched;
  friend bool operator==(const outcome&, const outcome&) = default;
};

outcome streamed(const strings& stops, const strings& pieces) {
  tenon::text::stop_matcher matcher(stops);
  std::string text;
  for (const std::string& piece : pieces) text += matcher.push(piece);
  text += matcher.finish();
  return {text, matcher.matched()};
}

outcome searched(const strings& stops, const std::string& text) {
  std::size_t first = std::string::npos;
  for (const std::string& stop : stops) first = (std::min)(first, text.find(stop));
  return {text.substr(0, first), first != std::string::npos};
}

// The longest tail of `text` that is the begin of a stop string, but not a whole one.
std::size_t longest_open_tail(const strings& stops, const std::string& text) {
  std::size_t longest = 0;
  for (const std::string& stop : stops)
    for (std::size_t n = 1; n < stop.size() && n <= text.size(); ++n)
      if (text.compare(text.size() - n, n, stop, 0, n) == 0) longest = (std::max)(longest, n);
  return longest;
}

// Few letters, so that stop strings overlap with themselves and each other.
rc::Gen<std::string> word(std::size_t shortest) {
  return rc::gen::suchThat(rc::gen::container<std::string>(rc::gen::elementOf(std::string("aab"))),
                           [=](const std::string& s) { return s.size() >= shortest; });
}

}  // namespace

BOOST_AUTO_TEST_SUITE(stop_matcher)

BOOST_AUTO_TEST_CASE(the_client_gets_the_right_text) {
  for (const json& c : tenon::test::load_cases("vectors/stops.json")) {
    const strings stops = c.at("stop"), pieces = c.at("pieces");
    BOOST_TEST_CONTEXT(c.at("name") << ": " << c.at("why")) {
      if (c.value("may_refuse", false)) {
        BOOST_CHECK_THROW(tenon::text::stop_matcher{stops}, tenon::request_error);
        continue;
      }
      const outcome found = streamed(stops, pieces);
      BOOST_TEST(found.text == c.at("text").get<std::string>());
      BOOST_TEST(found.matched == (c.at("finish") == "stop"));
    }
  }
}

BOOST_AUTO_TEST_CASE(any_chunking_gives_what_a_search_over_the_whole_text_gives) {
  BOOST_TEST(rc::check([] {
    const strings stops = *rc::gen::container<strings>(word(1)),
                  pieces = *rc::gen::container<strings>(word(0));
    std::string whole;
    for (const std::string& piece : pieces) whole += piece;
    RC_ASSERT(streamed(stops, pieces) == searched(stops, whole));
  }));
}

BOOST_AUTO_TEST_CASE(exactly_the_longest_tail_that_may_begin_a_stop_is_held) {
  BOOST_TEST(rc::check([] {
    const strings stops = *rc::gen::container<strings>(word(1)),
                  pieces = *rc::gen::container<strings>(word(0));
    tenon::text::stop_matcher matcher(stops);
    std::string seen, sent;
    for (const std::string& piece : pieces) {
      sent += matcher.push(piece);
      seen += piece;
      if (searched(stops, seen).matched) break;  // what comes then is the other properties' business
      RC_ASSERT(seen.size() - sent.size() == longest_open_tail(stops, seen));
      RC_ASSERT(matcher.held() == seen.size() - sent.size());
    }
  }));
}

BOOST_AUTO_TEST_CASE(an_earlier_place_wins_over_a_match_that_is_complete_first) {
  // "bc" is complete while "abcd" may still come, which begins before it.
  BOOST_TEST((streamed({"bc", "abcd"}, {"xabc", "d"}) == outcome{"x", true}));
  BOOST_TEST((streamed({"bc", "abcd"}, {"xabc", "e"}) == outcome{"xa", true}));
  BOOST_TEST((streamed({"bc", "abcd"}, {"xabc"}) == outcome{"xa", true}));
}

BOOST_AUTO_TEST_CASE(it_tells_which_stop_string_it_was) {
  tenon::text::stop_matcher matcher({"never", "END", "STOP"});
  BOOST_TEST(matcher.push("x END STOP") == "x ");
  BOOST_TEST(matcher.matched());
  BOOST_TEST(matcher.matched_index() == 1u);
}

BOOST_AUTO_TEST_CASE(nothing_comes_out_after_a_match) {
  tenon::text::stop_matcher matcher({"END"});
  BOOST_TEST(matcher.push("aEND") == "a");
  BOOST_TEST(matcher.push("more") == "");
  BOOST_TEST(matcher.finish() == "");
}

BOOST_AUTO_TEST_CASE(an_empty_piece_does_not_release_what_is_held) {
  tenon::text::stop_matcher matcher({"END"});
  BOOST_TEST(matcher.push("aEN") == "a");
  BOOST_TEST(matcher.push("") == "");
  BOOST_TEST(matcher.held() == 2u);
  BOOST_TEST(matcher.push("D") == "");
  BOOST_TEST(matcher.matched());
}

BOOST_AUTO_TEST_CASE(without_stop_strings_all_text_goes_out_at_once) {
  tenon::text::stop_matcher matcher;
  BOOST_TEST(matcher.push("text") == "text");
  BOOST_TEST(matcher.held() == 0u);
  BOOST_TEST(matcher.finish() == "");
}

BOOST_AUTO_TEST_CASE(after_a_reset_it_is_as_new) {
  tenon::text::stop_matcher matcher({"ab"});
  matcher.push("xa");
  matcher.reset();
  BOOST_TEST(matcher.push("b") == "b");
  BOOST_TEST(matcher.push("ab") == "");
  BOOST_TEST(matcher.matched());
  matcher.reset();
  BOOST_TEST(!matcher.matched());
  BOOST_TEST(matcher.push("c") == "c");
}

BOOST_AUTO_TEST_CASE(stop_strings_that_cannot_be_are_a_request_error) {
  BOOST_CHECK_THROW(tenon::text::stop_matcher({"ok", ""}), tenon::request_error);
  BOOST_CHECK_THROW(tenon::text::stop_matcher({"\xa9"}), tenon::request_error);  // would cut "é" in half
}

BOOST_AUTO_TEST_SUITE_END()
