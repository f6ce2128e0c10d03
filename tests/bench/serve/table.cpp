#include "serve/table.hpp"

#include <boost/test/unit_test.hpp>

#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

namespace {

const std::vector<nlohmann::ordered_json> runs = {
    {{"label", "static_8"}, {"rate", 1.26}, {"good", nullptr}, {"count", 12345}},
    {{"label", "a, \"b\""}, {"rate", 20}, {"good", 0.5}, {"count", 1}}};

}  // namespace

BOOST_AUTO_TEST_SUITE(table)

BOOST_AUTO_TEST_CASE(a_table_has_a_row_for_each_run_and_aligned_columns) {
  const serve::column columns[] = {{"req/s", "rate", 1}, {"goodput", "good", 2}, {"n", "count"}};
  std::ostringstream out;
  serve::print_table(out, "heading", columns, runs);
  BOOST_TEST(out.str() ==
             "heading   req/s  goodput      n\n"
             "static_8    1.3        -  12345\n"
             "a, \"b\"     20.0     0.50      1\n");
}

BOOST_AUTO_TEST_CASE(csv_has_all_fields_and_quotes_what_would_break_it) {
  std::ostringstream out;
  serve::write_csv(out, runs);
  BOOST_TEST(out.str() ==
             "label,rate,good,count\r\n"
             "static_8,1.26,,12345\r\n"
             "\"a, \"\"b\"\"\",20,0.5,1\r\n");
  std::ostringstream none;
  serve::write_csv(none, {});
  BOOST_TEST(none.str().empty());
}

BOOST_AUTO_TEST_SUITE_END()
