#include <tenon/cache/paged.hpp>
#include <tenon/measure/prometheus.hpp>
#include <tenon/schedule/scheduler.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <map>
#include <set>
#include <sstream>
#include <string>

using namespace tenon::measure;

namespace {

bool has_line(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(prometheus)

BOOST_AUTO_TEST_CASE(values_come_out_under_the_names_of_the_field) {
  tenon::measure::serving_metrics m(100);
  request_times t;
  t.arrival = t.queued = t.scheduled = clock::time_point(std::chrono::seconds(10));
  t.prompt_tokens = 12;
  m.deliver(t, t.arrival + std::chrono::milliseconds(50));
  m.deliver(t, t.arrival + std::chrono::milliseconds(90));
  m.finish(t, ending::length, {2, 64});
  m.step(12);
  tenon::schedule::counters work;
  work.preemptions = 3;
  work.prefix_queries = 12;
  work.prefix_hits = 11;
  const serving_state now{4, 9, 1.5, 16, 200, 150};
  const std::string text = prometheus_text(m, work, now, {"vllm:", "tiny", "1"});
  const std::string labels = "{engine=\"1\",model_name=\"tiny\"";
  for (const std::string& line : {
           "vllm:num_requests_running" + labels + "} 4",
           "vllm:num_requests_waiting" + labels + "} 9",
           "vllm:oldest_wait_seconds" + labels + "} 1.5",
           "vllm:kv_cache_usage_perc" + labels + "} 0.25",
           "vllm:cache_config_info" + labels + ",block_size=\"16\",num_gpu_blocks=\"200\"} 1",
           "vllm:num_preemptions_total" + labels + "} 3",
           "vllm:prefix_cache_hits_total" + labels + "} 11",
           "vllm:prompt_tokens_total" + labels + "} 12",
           "vllm:generation_tokens_total" + labels + "} 2",
           "vllm:request_success_total" + labels + ",finished_reason=\"length\"} 1",
           "vllm:request_success_total" + labels + ",finished_reason=\"abort\"} 0",
           "vllm:time_to_first_token_seconds_bucket" + labels + ",le=\"0.04\"} 0",
           "vllm:time_to_first_token_seconds_bucket" + labels + ",le=\"0.06\"} 1",
           "vllm:time_to_first_token_seconds_bucket" + labels + ",le=\"+Inf\"} 1",
           "vllm:time_to_first_token_seconds_sum" + labels + "} 0.05",
           "vllm:inter_token_latency_seconds_count" + labels + "} 1",
           "vllm:request_params_n_bucket" + labels + ",le=\"1\"} 0",
           "vllm:request_params_n_bucket" + labels + ",le=\"2\"} 1",
           "vllm:iteration_tokens_total_sum" + labels + "} 12",
           std::string("# TYPE vllm:e2e_request_latency_seconds histogram"),
       }) {
    BOOST_TEST(has_line(text, line), line);
  }
}

BOOST_AUTO_TEST_CASE(the_text_is_well_formed) {
  tenon::measure::serving_metrics m(1000);
  const std::string text = prometheus_text(m, {}, {}, {"tenon:", "a \"name\"\\\n", "0"});
  BOOST_TEST(
      has_line(text, "tenon:num_requests_running{engine=\"0\",model_name=\"a \\\"name\\\"\\\\\\n\"} 0"));
  BOOST_TEST(text.find("kv_cache_usage_perc") == std::string::npos);  // there are no blocks
  std::istringstream lines(text);
  std::set<std::string> families, samples;
  std::string line, family;
  while (std::getline(lines, line)) {
    BOOST_TEST(!line.empty());
    if (line.rfind("# HELP ", 0) == 0) {
      family = line.substr(7, line.find(' ', 7) - 7);
      BOOST_TEST(families.insert(family).second, family + " once");
    } else if (line[0] != '#') {
      BOOST_TEST(line.rfind(family, 0) == 0, line + " is of " + family);
      BOOST_TEST(samples.insert(line.substr(0, line.rfind(' '))).second, line + " once");
    }
  }
  BOOST_TEST(families.size() > 20u);
}

BOOST_AUTO_TEST_CASE(the_state_of_a_scheduler_can_be_written) {
  using manager = tenon::cache::paged<4>::manager;
  tenon::schedule::scheduler<tenon::batching::continuous<>, manager> scheduler({2, 8, 10},
                                                                               manager({2, 40, 64}));
  tenon::schedule::sequence a, b, c;
  for (auto* s : {&a, &b, &c}) {
    s->tokens = {1, 2, 3, 4, 5};
    s->limit = 9;
    BOOST_TEST((scheduler.submit(*s, clock::time_point(std::chrono::seconds(100))) ==
                tenon::schedule::admission::accepted));
  }
  scheduler.plan(clock::time_point(std::chrono::seconds(103)));
  const serving_state state = state_of(scheduler, clock::time_point(std::chrono::seconds(104)));
  BOOST_TEST(state.running == 2u);
  BOOST_TEST(state.waiting == 1u);
  BOOST_TEST(state.oldest_wait == 4.0);
  BOOST_TEST(state.blocks == 16u);
  BOOST_TEST(state.free_blocks == 12u);
  BOOST_TEST(state.block_size == 4u);
}

BOOST_AUTO_TEST_SUITE_END()
