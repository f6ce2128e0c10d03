#include "serve/trace.hpp"

#include <boost/test/unit_test.hpp>

#include <sstream>
#include <string>
#include <vector>

namespace {

std::vector<serve::planned_request> read(const std::string& text) {
  std::istringstream stream(text);
  return serve::trace_reader(stream, "t.csv").read();
}

std::string fault(const std::string& text) {
  try {
    read(text);
  } catch (const serve::bad_input& bad) {
    return bad.what();
  }
  return "none";
}

const std::string header = "arrival,input_len,output_len\n";

}  // namespace

BOOST_AUTO_TEST_SUITE(trace)

BOOST_AUTO_TEST_CASE(rows_are_requests) {
  const auto requests = read(header + "0,10,2\n0.25,3,1\n0.25,7,9");
  BOOST_TEST(requests.size() == 3u);
  BOOST_TEST(requests[1].arrival == 0.25);
  BOOST_TEST(requests[1].input_len == 3u);
  BOOST_TEST(requests[1].output_len == 1u);
  BOOST_TEST(requests[2].output_len == 9u);
}

BOOST_AUTO_TEST_CASE(columns_may_be_in_any_order_and_among_others) {
  const auto requests = read("output_len,user,arrival,input_len\r\n5,ann,1e1,6\r\n\r\n7,,11,8\r\n");
  BOOST_TEST(requests.size() == 2u);
  BOOST_TEST(requests[0].arrival == 10);
  BOOST_TEST(requests[0].input_len == 6u);
  BOOST_TEST(requests[1].output_len == 7u);
}

BOOST_AUTO_TEST_CASE(a_bad_value_is_named_by_row_and_column) {
  BOOST_TEST(fault(header + "0,10,2\n1,x,2\n") ==
             "t.csv: row 3, column 2 (input_len): 'x' is no number of tokens from 1 to 16777216");
  BOOST_TEST(fault("output_len,arrival,input_len\n0,1,1\n").find("row 2, column 1 (output_len): '0'") !=
             std::string::npos);
  for (const char* arrival : {"", "one", "-1", "nan", "inf", "1e10", "1 "})
    BOOST_TEST(fault(header + arrival + ",1,1\n").find("row 2, column 1 (arrival)") != std::string::npos);
  for (const char* length : {"", "1.5", "-3", "99999999999999999999", "16777217"})
    BOOST_TEST(fault(header + "0,1," + length + "\n").find("row 2, column 3 (output_len)") !=
               std::string::npos);
  BOOST_TEST(fault(header + "2,1,1\n1,1,1\n").find("row 3, column 1 (arrival): '1' is earlier") !=
             std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_bad_shape_is_named_by_row) {
  BOOST_TEST(fault(header + "0,1\n") == "t.csv: row 2 has 2 columns, the first has 3");
  BOOST_TEST(fault(header + "0,1,1,1\n").find("row 2 has 4 columns") != std::string::npos);
  BOOST_TEST(fault("arrival,input_len\n0,1\n").find("row 1 has no column output_len") != std::string::npos);
  BOOST_TEST(fault("0,1,2\n").find("row 1 has no column arrival") != std::string::npos);
  BOOST_TEST(fault(header).find("no request") != std::string::npos);
  BOOST_TEST(fault("").find("empty") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
