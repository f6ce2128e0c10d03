// Strings with their length in their type.
#include "tenon/core/fixed_string.hpp"

#include <boost/test/unit_test.hpp>
#include <type_traits>

using namespace tenon;

namespace {

template <fixed_string Name>
struct named {
  static constexpr std::string_view name = Name;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(fixed_string)

BOOST_AUTO_TEST_CASE(a_literal_keeps_its_characters_without_the_terminating_zero) {
  constexpr tenon::fixed_string text("paged");
  static_assert(text.size() == 5);
  static_assert(text.view() == "paged");
  BOOST_TEST(text.text[5] == '\0');
  BOOST_TEST(tenon::fixed_string("").view().empty());
  BOOST_TEST((tenon::fixed_string("a\0b").view() == std::string_view("a\0b", 3)));
}

BOOST_AUTO_TEST_CASE(strings_and_literals_join_on_either_side_at_compile_time) {
  constexpr auto joined = "kv " + tenon::fixed_string("f16") + "/" + tenon::fixed_string("bf16");
  static_assert(joined.view() == "kv f16/bf16");
  static_assert(std::is_same_v<decltype(joined), const tenon::fixed_string<11>>);
  BOOST_TEST(joined.view() == std::string_view(joined.text));
}

BOOST_AUTO_TEST_CASE(numbers_are_written_in_decimal) {
  static_assert(decimal<0>().view() == "0");
  static_assert(decimal<9>().view() == "9");
  static_assert(decimal<10>().view() == "10");
  static_assert(decimal<4096>().view() == "4096");
  static_assert(decimal<18446744073709551615ull>().view() == "18446744073709551615");
  BOOST_TEST(("paged<" + decimal<16>() + ">").view() == "paged<16>");
}

BOOST_AUTO_TEST_CASE(equal_strings_name_one_type) {
  static_assert(std::is_same_v<named<"a">, named<tenon::fixed_string("a")>>);
  static_assert(!std::is_same_v<named<"a">, named<"b">>);
  BOOST_TEST(named<"greedy">::name == "greedy");
}

BOOST_AUTO_TEST_SUITE_END()
