#include "serve/report.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cmath>
#include <string>
#include <vector>

using namespace serve;
using std::chrono::milliseconds;

namespace {

/// Sent `sent_ms` after it was due; tokens are delivered at these times after that.
request_record record(int due_ms, int sent_ms, std::vector<int> tokens_ms, std::string error = {}) {
  request_record r;
  r.due = time_point(std::chrono::hours(1)) + milliseconds(due_ms);
  r.times.arrival = r.due + milliseconds(sent_ms);
  r.times.prompt_tokens = 7;
  for (const int ms : tokens_ms) {
    r.deliveries.push_back(r.times.arrival + milliseconds(ms));
    r.times.deliver(r.deliveries.back());
  }
  r.text = "a \"b\"";
  r.error = std::move(error);
  return r;
}

const std::vector<request_record> run = {record(0, 0, {100, 150, 300}), record(500, 100, {400}),
                                         record(600, 0, {100, 200}, "it broke"), record(0, 0, {}, "refused")};

bool near(const nlohmann::ordered_json& a, double b) { return std::abs(a.get<double>() - b) < 1e-9; }

}  // namespace

BOOST_AUTO_TEST_SUITE(report)

// The run is from 0 to 1 s: two requests of 3 and 1 tokens.
BOOST_AUTO_TEST_CASE(metrics_have_the_names_and_definitions_of_vllm) {
  const auto m = metrics_json(run, parse_goodput(std::vector<std::string>{"ttft:200", "tpot:100"}));
  BOOST_TEST(near(m["duration"], 1));
  BOOST_TEST(m["completed"] == 2);
  BOOST_TEST(m["failed"] == 2);
  BOOST_TEST(m["total_input_tokens"] == 14);
  BOOST_TEST(m["total_output_tokens"] == 4);
  BOOST_TEST(near(m["request_throughput"], 2));
  BOOST_TEST(near(m["request_goodput"], 1));
  BOOST_TEST(near(m["output_throughput"], 4));
  BOOST_TEST(near(m["total_token_throughput"], 18));
  BOOST_TEST(m["max_output_tokens_per_s"] == 3);  // the last one is at 1 s exactly, in the next second
  BOOST_TEST(m["max_concurrent_requests"] == 1);
  BOOST_TEST(near(m["mean_ttft_ms"], 250));
  BOOST_TEST(near(m["median_ttft_ms"], 250));
  BOOST_TEST(near(m["std_ttft_ms"], 150));
  BOOST_TEST(near(m["p99_ttft_ms"], 397));  // numpy.percentile([100, 400], 99)
  BOOST_TEST(near(m["mean_tpot_ms"], 100));
  BOOST_TEST(near(m["mean_itl_ms"], 100));
  BOOST_TEST(near(m["p99_itl_ms"], 149));  // of 50 and 150
  BOOST_TEST(near(m["median_e2el_ms"], 350));
}

BOOST_AUTO_TEST_CASE(a_run_without_limits_has_no_goodput_and_one_of_failures_is_zeros) {
  BOOST_TEST(metrics_json(run, parse_goodput({}))["request_goodput"].is_null());
  const auto none = metrics_json(std::span(run).last(1), std::nullopt);
  BOOST_TEST(none["completed"] == 0);
  BOOST_TEST(none["failed"] == 1);
  BOOST_TEST(none["duration"] == 0);
  BOOST_TEST(none["request_throughput"] == 0);
}

BOOST_AUTO_TEST_CASE(details_have_an_entry_for_each_request) {
  const auto d = details_json(run);
  for (const auto& [name, list] : d.items()) BOOST_TEST(list.size() == 4u);
  BOOST_TEST(d["output_lens"] == nlohmann::ordered_json({3, 1, 0, 0}));
  BOOST_TEST(d["input_lens"] == nlohmann::ordered_json({7, 7, 7, 7}));
  BOOST_TEST(near(d["ttfts"][1], 0.4));
  BOOST_TEST(near(d["itls"][0][1], 0.15));
  BOOST_TEST(d["itls"][1].empty());
  BOOST_TEST(near(d["latencies"][0], 0.3));
  BOOST_TEST(near(d["start_times"][1], 0.6));
  BOOST_TEST(near(d["queue_times"][1], 0.1));
  BOOST_TEST(d["errors"][2] == "it broke");
  BOOST_TEST(d["errors"][0] == "");
}

BOOST_AUTO_TEST_CASE(limits_are_milliseconds_and_what_is_none_is_refused) {
  const auto limits = parse_goodput(std::vector<std::string>{"e2el:30000", "tpot:12.5"});
  BOOST_TEST(limits->e2e == 30);
  BOOST_TEST(limits->tpot == 0.0125);
  BOOST_TEST(std::isinf(limits->ttft));
  for (const char* bad :
       {"ttft", "ttft:", "ttft:x", "ttft:0", "ttft:-1", "itl:5", "ttft:5:5", ":5", "ttft:nan"})
    BOOST_CHECK_EXCEPTION(
        parse_goodput(std::vector<std::string>{bad}), bad_input, [&](const bad_input& fault) {
          return std::string(fault.what()).find(std::string("'") + bad + "'") != std::string::npos;
        });
}

BOOST_AUTO_TEST_SUITE_END()
