// Our declarations of PCRE2 against its own header. That both can be included in one file is part of the
// test: where a type differs, this does not compile.
#define PCRE2_CODE_UNIT_WIDTH 8
#include "tenon/text/pcre2.hpp"

#include <pcre2.h>
#include <boost/test/unit_test.hpp>

#include <string>

BOOST_AUTO_TEST_SUITE(pcre2)

BOOST_AUTO_TEST_CASE(options_are_numbered_as_in_the_librarys_header) {
  namespace ours = tenon::text::detail::pcre2;
  BOOST_TEST(ours::anchored == PCRE2_ANCHORED);
  BOOST_TEST(ours::no_utf_check == PCRE2_NO_UTF_CHECK);
  BOOST_TEST(ours::utf == PCRE2_UTF);
  BOOST_TEST(ours::jit_complete == PCRE2_JIT_COMPLETE);
  BOOST_TEST(ours::config_unicode_version == static_cast<unsigned>(PCRE2_CONFIG_UNICODE_VERSION));
}

BOOST_AUTO_TEST_CASE(a_match_begins_where_it_is_asked_for_or_is_none) {
  const tenon::text::regex_pattern pattern("\\p{L}+");
  tenon::text::regex_pattern::workspace room;
  BOOST_TEST(pattern.match("1été2", 1, room) == 6u);
  BOOST_TEST(pattern.match("1été2", 0, room) == 0u);
}

BOOST_AUTO_TEST_CASE(a_pattern_with_a_fault_is_an_error_that_says_where) {
  BOOST_CHECK_EXCEPTION(tenon::text::regex_pattern("ab(c"), tenon::error, [](const tenon::error& e) {
    return std::string(e.what()).find("character 4") != std::string::npos;
  });
}

BOOST_AUTO_TEST_SUITE_END()
