#include "backend/cuda/sample_ops.hpp"

#include "tenon/backend/cuda/kernel/sample.cuh"

namespace tenon::test {

static_assert(cuda::device_stage<sampling::temperature> && cuda::device_stage<sampling::top_k> &&
              cuda::device_stage<sampling::top_p> && cuda::device_stage<sampling::min_p>);
static_assert(cuda::device_stage<top_n_sigma> && cuda::device_stage<biased_even>);

struct for_the_host {
  static constexpr auto name = fixed_string("for_the_host");
  static void apply(sampling::candidates& c) { c.keep_best(); }
};
static_assert(sampling::sampling_stage<for_the_host> && !cuda::device_stage<for_the_host>);

template <class Policy>
std::vector<cuda_choice> cuda_sample(std::span<const float> logits, std::size_t stride,
                                     std::size_t vocabulary, std::span<const sample_row<Policy>> rows,
                                     bool replayed) {
  const cuda::stream on;
  const cuda::device_buffer<float> x(logits, on);
  std::vector<token_id> banned;
  for (const auto& row : rows) banned.insert(banned.end(), row.banned.begin(), row.banned.end());
  const cuda::device_buffer<token_id> bans(banned, on);
  std::vector<cuda::row_request<Policy>> requests;
  const token_id* from = bans.data();
  for (const auto& row : rows) {
    requests.push_back(cuda::make_row_request<Policy>(row.request, row.seed, row.token_index, from,
                                                      static_cast<std::int32_t>(row.banned.size())));
    from += row.banned.size();
  }
  const cuda::device_buffer<cuda::row_request<Policy>> asked(requests, on);
  cuda::sampler<Policy> sampler(rows.size(), vocabulary, on);
  cuda::device_buffer<cuda::chosen_token> chosen(rows.size());
  const auto run = [&] {
    sampler.run(on, x.data(), stride, rows.size(), vocabulary, asked.data(), chosen.data());
  };
  if (!replayed) {
    run();
  } else {
    cudaGraph_t graph = nullptr;
    cuda::check(cudaStreamBeginCapture(on.get(), cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    run();
    cuda::check(cudaStreamEndCapture(on.get(), &graph), "cudaStreamEndCapture");
    cudaGraphExec_t step = nullptr;
    cuda::check(cudaGraphInstantiate(&step, graph, 0), "cudaGraphInstantiate");
    for (int i = 0; i < 3; ++i) cuda::check(cudaGraphLaunch(step, on.get()), "cudaGraphLaunch");
    on.synchronize();
    cudaGraphExecDestroy(step);
    cudaGraphDestroy(graph);
  }
  std::vector<cuda_choice> made;
  for (const cuda::chosen_token& each : chosen.read(on)) made.push_back({each.token, each.fault});
  return made;
}

#define INSTANTIATE(policy)                                                                               \
  template std::vector<cuda_choice> cuda_sample<policy>(std::span<const float>, std::size_t, std::size_t, \
                                                        std::span<const sample_row<policy>>, bool)
INSTANTIATE(sampling::like_vllm);
INSTANTIATE(sampling::like_llama_cpp);
INSTANTIATE(cuda_own_chain);
INSTANTIATE(sampling::greedy);
#undef INSTANTIATE

}  // namespace tenon::test
