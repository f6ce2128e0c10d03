// An engine on a GPU that is not there: how many users a card could serve, before it is bought. The scheduler, the cache
// and the requests are real; the time is computed.
#include <cstdio>
#include <tenon/tenon.hpp>
#include <vector>

// A card that tenon does not know, by its data sheet, and by what one expects of kernels on it.
struct l40s {
  static constexpr auto name = tenon::fixed_string("L40S");
  static constexpr tenon::device::description describe() {
    tenon::device::description made;
    made.memory = 48e9;
    made.bandwidth = 864e9;
    made.flops_16 = 362e12;
    made.flops_8 = 733e12;
    made.flops_32 = 91.6e12;
    made.multiprocessors = 142;
    made.bandwidth_efficiency = 0.85;
    made.product_efficiency = 0.7;
    made.attention_efficiency = 0.5;
    made.graph_launch = 2e-6;
    made.eager_launch = 5e-6;
    return made;
  }
};

// Llama 3 8B, in 16 bits.
constexpr tenon::model::shape llama_3_8b{.layers = 32,
                                         .hidden = 4096,
                                         .heads = 32,
                                         .kv_heads = 8,
                                         .head_dim = 128,
                                         .rotated = 128,
                                         .feed_forward = 14336,
                                         .vocabulary = 128256,
                                         .context = 8192,
                                         .tied_output = false};
using engine = tenon::engine<
    tenon::model::llama, tenon::backend::simulated<l40s>, tenon::precision::mixed<tenon::weights<tenon::f16>>,
    tenon::cache::paged<16>,
    tenon::batching::continuous<tenon::batching::queue::fcfs, tenon::batching::prefill::chunked<512>,
                                tenon::batching::preemption::recompute<>, 64>>;

/// The time of one of `users` requests that are there at once, each of 1000 tokens and 200 more.
tenon::measure::request_times time_for(std::size_t users) {
  auto e = engine::simulate(llama_3_8b, {.context = 2048, .cache_tokens = 100000});
  const std::vector<tenon::token_id> prompt(1000, 'a');
  tenon::request_id last = 0;
  for (std::size_t i = 0; i < users; ++i) last = e.submit(prompt, {.max_tokens = 200, .ignore_eos = true});
  while (e.step()) continue;
  return e.take(last)->times;
}

int main() {
  std::printf("users   TTFT s   TPOT ms   tok/s\n");
  for (const std::size_t users : {1u, 4u, 16u, 64u}) {
    const auto times = time_for(users);
    std::printf("%5zu %8.2f %9.1f %7.0f\n", users, times.ttft(), 1e3 * times.tpot(),
                200.0 * static_cast<double>(users) / times.e2e());
  }
}
