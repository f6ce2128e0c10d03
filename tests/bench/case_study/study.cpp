// What the case study says of a textbook's figures, and of policies under load.
#include "case_study/study.hpp"

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <cstddef>
#include <string>

namespace {

using namespace case_study;

const settings few{.requests = 400};

/// The row of a list with this label.
const ordered_json& row(const ordered_json& rows, const std::string& label) {
  for (const ordered_json& each : rows)
    if (each["label"] == label) return each;
  throw std::runtime_error("no row " + label);
}

BOOST_AUTO_TEST_SUITE(study)

BOOST_AUTO_TEST_CASE(the_gaps_are_what_the_reported_steps_leave_at_half_of_the_longest_context) {
  BOOST_TEST(reported_static.tpot_ms - 1e3 * decode_step_of(8, max_length / 2).seconds == static_gap_us / 1e3,
             boost::test_tools::tolerance(0.005));
  BOOST_TEST(reported_continuous.tpot_ms - 1e3 * decode_step_of(16, max_length / 2).seconds ==
                 continuous_gap_us / 1e3,
             boost::test_tools::tolerance(0.005));
}

BOOST_AUTO_TEST_CASE(reported_rates_are_those_of_full_batches_but_use_a_quarter_of_the_bandwidth) {
  const ordered_json rows = reconciliation();
  BOOST_TEST(row(rows, "batch of 8, context 2048")["throughput_of_full_batch"].get<double>() ==
                 reported_static.output_throughput,
             boost::test_tools::tolerance(0.02));
  BOOST_TEST(row(rows, "batch of 16, context 2048")["throughput_of_full_batch"].get<double>() ==
                 reported_continuous.output_throughput,
             boost::test_tools::tolerance(0.01));
  // The bytes that it names are those of 8 sequences of the longest kind, within the embedding matrix; not 90 %.
  BOOST_TEST(1e9 * row(rows, "batch of 8, context 2048")["step_gb"].get<double>() == reported_bytes,
             boost::test_tools::tolerance(0.04));
  BOOST_TEST(row(rows, "batch of 8, context 2048")["bandwidth_percent"].get<double>() < 25.0);
}

BOOST_AUTO_TEST_CASE(slow_hosts_explain_the_reported_throughput_where_requests_are_alike) {
  const ordered_json rows = full_batches(few);
  const auto throughput = [&](const std::string& label) {
    return row(rows, label)["output_throughput"].get<double>();
  };
  BOOST_TEST(throughput("static batch of 8, slow host, requests alike") == reported_static.output_throughput,
             boost::test_tools::tolerance(0.1));
  BOOST_TEST(throughput("continuous batch of 16, slow host, requests alike") ==
                 reported_continuous.output_throughput,
             boost::test_tools::tolerance(0.1));
  // Uneven requests leave places of a static batch empty.
  BOOST_TEST(throughput("static batch of 8, fast host, uneven") <
             0.7 * throughput("static batch of 8, fast host, requests alike"));
  BOOST_TEST(throughput("continuous batch of 16, fast host, uneven") >
             2.3 * throughput("static batch of 8, fast host, uneven"));
}

BOOST_AUTO_TEST_CASE(every_study_is_the_same) {
  BOOST_TEST(under_load(2, few).dump() == under_load(2, few).dump());
}

BOOST_AUTO_TEST_CASE(a_continuous_batch_carries_what_starves_a_static_one) {
  const ordered_json rows = under_load(2, few);
  BOOST_TEST(row(rows, "static batch of 8")["starved_percent"].get<double>() > 50.0);
  BOOST_TEST(row(rows, "continuous batch of 16")["starved_percent"].get<double>() == 0.0);
  for (const ordered_json& each : rows) {
    BOOST_TEST(each["completed"] == few.requests);
    BOOST_TEST(each["failed"] == 0);
  }
}

BOOST_AUTO_TEST_CASE(prompts_in_chunks_shorten_the_longest_gaps_between_tokens) {
  const ordered_json rows = under_load(3, few);
  BOOST_TEST(row(rows, "... and prompts in chunks of 512")["p99_itl_ms"].get<double>() <
             0.6 * row(rows, "continuous batch of 16")["p99_itl_ms"].get<double>());
}

BOOST_AUTO_TEST_CASE(capacity_is_the_last_rate_that_is_carried) {
  const candidate& continuous = good_engines()[1];
  const double rate = capacity(continuous, few)["rate"].get<double>();
  const auto good = [&](double at) {
    return row_of(continuous, uneven_requests(at, few), 0)["good_percent"].get<double>();
  };
  BOOST_TEST(good(rate) >= 90.0);
  BOOST_TEST(good(1.03 * rate) < 90.0);
  BOOST_TEST(capacity(good_engines()[3], few)["rate"].get<double>() > rate);  // over a paged cache
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
