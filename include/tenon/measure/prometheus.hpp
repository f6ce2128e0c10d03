// Metrics in the text that Prometheus scrapes: a function from values to a string, with vLLM's names, so that its
// dashboards fit.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "tenon/core/concat.hpp"
#include "tenon/measure/histogram.hpp"
#include "tenon/measure/serving_metrics.hpp"
#include "tenon/schedule/outcome.hpp"

namespace tenon::measure {

/// What is true now.
struct serving_state {
  std::size_t running = 0;  // requests
  std::size_t waiting = 0;
  double oldest_wait = 0;  // seconds
  std::size_t block_size = 0;
  std::size_t blocks = 0;
  std::size_t free_blocks = 0;
};

/// The state of a scheduler.
template <class Scheduler, class TimePoint>
serving_state state_of(const Scheduler& scheduler, TimePoint now) {
  serving_state state{scheduler.running(), scheduler.waiting(), scheduler.oldest_wait(now)};
  if constexpr (requires { scheduler.cache().free_blocks(); }) {
    state.block_size = scheduler.cache().block_size;
    state.blocks = scheduler.cache().blocks();
    state.free_blocks = scheduler.cache().free_blocks();
  }
  return state;
}

struct prometheus_options {
  std::string_view prefix = "tenon:";  // "vllm:" for its dashboards
  std::string_view model_name = "";
  std::string_view engine = "0";
};

namespace detail {

class prometheus_writer {
 public:
  explicit prometheus_writer(const prometheus_options& options)
      : prefix_(options.prefix),
        labels_(concat("engine=\"", escaped(options.engine), "\",model_name=\"", escaped(options.model_name),
                       "\"")) {}

  void head(std::string_view name, std::string_view type, std::string_view help) {
    text_ += concat("# HELP ", prefix_, name, " ", help, "\n# TYPE ", prefix_, name, " ", type, "\n");
  }
  void sample(std::string_view name, double value, std::string_view more_labels = "") {
    text_ += concat(prefix_, name, "{", labels_, more_labels, "} ", number(value), "\n");
  }
  void gauge(std::string_view name, double value, std::string_view help) {
    head(name, "gauge", help);
    sample(name, value);
  }
  void counter(std::string_view name, std::uint64_t value, std::string_view help) {
    head(name, "counter", help);
    sample(name, static_cast<double>(value));
  }
  void distribution(std::string_view name, const histogram& h, std::string_view help) {
    head(name, "histogram", help);
    const std::string bucket = concat(name, "_bucket");
    std::uint64_t below = 0;
    for (std::size_t i = 0; i < h.counts().size(); ++i) {
      below += h.counts()[i];
      const std::string bound = i < h.bounds().size() ? number(h.bounds()[i]) : "+Inf";
      sample(bucket, static_cast<double>(below), concat(",le=\"", bound, "\""));
    }
    sample(concat(name, "_sum"), h.sum());
    sample(concat(name, "_count"), static_cast<double>(h.count()));
  }
  std::string text() && { return std::move(text_); }

 private:
  static std::string number(double value) {
    char digits[32];
    return {digits, std::to_chars(digits, digits + sizeof(digits), value).ptr};
  }
  static std::string escaped(std::string_view value) {
    std::string made;
    for (const char c : value) {
      if (c == '\\' || c == '"') made += '\\';
      made += c == '\n' ? std::string("\\n") : std::string(1, c);
    }
    return made;
  }

  std::string_view prefix_;
  std::string labels_;
  std::string text_;
};

}  // namespace detail

/// The text format, version 0.0.4.
[[gnu::cold]] inline std::string prometheus_text(const serving_metrics& m, const schedule::counters& work,
                                                 const serving_state& now,
                                                 const prometheus_options& options = {}) {
  detail::prometheus_writer out(options);
  out.gauge("num_requests_running", static_cast<double>(now.running), "Requests in the batch.");
  out.gauge("num_requests_waiting", static_cast<double>(now.waiting), "Requests in the queue.");
  out.gauge("oldest_wait_seconds", now.oldest_wait, "How long the oldest of those that wait has waited.");
  if (now.blocks > 0) {
    out.gauge("kv_cache_usage_perc",
              static_cast<double>(now.blocks - now.free_blocks) / static_cast<double>(now.blocks),
              "Share of the cache's blocks that are held; 1 is all.");
    out.head("cache_config_info", "gauge", "The cache's size.");
    out.sample("cache_config_info", 1,
               concat(",block_size=\"", now.block_size, "\",num_gpu_blocks=\"", now.blocks, "\""));
  }
  out.counter("num_preemptions_total", work.preemptions, "Requests that had to leave the batch.");
  out.counter("num_swapped_out_total", work.swaps_out, "Of those, the ones moved to host memory.");
  out.counter("computed_tokens_total", work.computed_tokens, "Tokens that steps have computed.");
  out.counter("recomputed_tokens_total", work.recomputed_tokens,
              "Of those, the ones that had been computed before.");
  out.counter("requests_refused_total", work.refused, "Requests that were not taken into the queue.");
  out.counter("prefix_cache_queries_total", work.prefix_queries, "Tokens that were looked up in the cache.");
  out.counter("prefix_cache_hits_total", work.prefix_hits, "Of those, the ones that were there.");
  out.counter("prompt_tokens_total", m.prompt_tokens, "Tokens of prompts that were answered.");
  out.counter("generation_tokens_total", m.generation_tokens, "Tokens generated.");
  out.head("request_success_total", "counter", "Requests by how they ended.");
  for (std::size_t i = 0; i < m.endings.size(); ++i) {
    out.sample("request_success_total", static_cast<double>(m.endings[i]),
               concat(",finished_reason=\"", ending_names[i], "\""));
  }
  out.distribution("time_to_first_token_seconds", m.ttft, "From arrival to the first token.");
  out.distribution("inter_token_latency_seconds", m.inter_token, "Between deliveries of a request.");
  out.distribution("inter_token_latency_per_token_seconds", m.inter_token_share,
                   "The same, shared among tokens.");
  out.distribution("request_time_per_output_token_seconds", m.tpot,
                   "Mean of a request after its first token.");
  out.distribution("e2e_request_latency_seconds", m.e2e, "From arrival to the last token.");
  out.distribution("request_queue_time_seconds", m.queue, "In the queue.");
  out.distribution("request_inference_time_seconds", m.inference, "From the first step to the last token.");
  out.distribution("request_prefill_time_seconds", m.prefill, "From the first step to the first token.");
  out.distribution("request_decode_time_seconds", m.decode, "From the first token to the last.");
  out.distribution("request_prompt_tokens", m.prompt_length, "Tokens of prompts.");
  out.distribution("request_generation_tokens", m.generation_length, "Tokens of answers.");
  out.distribution("request_params_n", m.samples, "Samples asked for.");
  out.distribution("request_params_max_tokens", m.max_tokens, "Tokens allowed.");
  out.distribution("iteration_tokens_total", m.step_tokens, "Tokens in a step.");
  return std::move(out).text();
}

}  // namespace tenon::measure
