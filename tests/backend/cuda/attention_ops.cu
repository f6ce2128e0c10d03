#include "backend/cuda/attention_ops.hpp"

#include "backend/cuda/device_ops.cuh"
#include "tenon/backend/cuda/kernel/attention.cuh"

namespace tenon::test {

namespace {

/// What the spans see together, those that see the same rows of the cache each for itself.
std::size_t positions_of(std::span<const sequence_span> spans) {
  std::size_t sum = 0;
  for (const sequence_span& each : spans) sum += each.first_position + each.count;
  return sum;
}

/// How a layer's options and the cache's view come about for the options of a test.
template <class Options>
struct seen_through {
  using policy = Options;
  using view = scattered_view;
};
template <>
struct seen_through<windowed_cache> {
  using policy = cuda::full_attention;
  using view = windowed_view;
};

/// A case's memory on the device.
template <class Key, class Value, class View>
struct attention_setup {
  cuda::stream on;
  const attention_case& c;
  cuda::device_buffer<float> qkv;
  cuda::device_buffer<std::byte> keys, values;
  cuda::device_buffer<View> views;
  cuda::device_buffer<cuda::attention_span> spans;
  cuda::attention_memory memory;
  cuda::activations out;

  attention_setup(const attention_case& of, std::span<const float> query_key_value,
                  std::span<const std::byte> key_bytes, std::span<const std::byte> value_bytes)
      : c(of),
        qkv(query_key_value, on),
        keys(key_bytes, on),
        values(value_bytes, on),
        views(of_view(c.views), on),
        spans(c.spans.size()),
        memory(cuda::attention_sizes::of(c.tokens, c.spans.size(), positions_of(c.spans), c.heads, c.kv_heads,
                                         c.head_dim),
               on),
        out(c.tokens, static_cast<std::size_t>(c.heads * c.head_dim), {true, true, true}, on) {}

  static std::vector<View> of_view(const std::vector<scattered_view>& all) {
    std::vector<View> views;
    for (const scattered_view& each : all) views.push_back(View{each});
    return views;
  }

  cuda::attention_extent plan(std::span<const sequence_span> step) {
    std::vector<cuda::attention_span> made(c.spans.size());
    const step_plan whole{.tokens = {}, .positions = {}, .spans = step, .sampled_rows = {}};
    cuda::attention_extent extent = cuda::plan_attention(whole, c.heads, c.kv_heads, c.head_dim, made);
    cuda::check(cudaMemcpyAsync(spans.data(), made.data(), spans.bytes(), cudaMemcpyHostToDevice, on.get()),
                "cudaMemcpyAsync");
    on.synchronize();
    extent.splits = c.splits;
    return extent;
  }

  template <int HeadSize, class Policy>
  void run(const cuda::attention_extent& extent) {
    cuda::attention<HeadSize, Key, Value, Policy>(
        on,
        cuda::attention_parameters<View>{
            qkv.data(), spans.data(), views.data(),
            cuda::make_cache_view<Key, Value>(keys.data(), values.data(), c.cache_rows, c.head_dim),
            memory.view(), out.view(), c.heads, c.kv_heads, c.head_dim},
        extent);
  }

  cuda_activations read() { return read_back(out, on); }
};

}  // namespace

template <int HeadSize, class Key, class Value, class Policy>
cuda_activations cuda_attention(const attention_case& c, std::span<const float> query_key_value,
                                std::span<const std::byte> keys, std::span<const std::byte> values) {
  using through = seen_through<Policy>;
  attention_setup<Key, Value, typename through::view> setup(c, query_key_value, keys, values);
  const cuda::attention_extent extent = setup.plan(c.spans);
  for (int i = 0; i < c.times; ++i) setup.template run<HeadSize, typename through::policy>(extent);
  return setup.read();
}

template <int HeadSize, class Key, class Value, class Policy>
cuda_activations cuda_attention_graph(const attention_case& c, std::span<const sequence_span> first,
                                      std::span<const float> query_key_value, std::span<const std::byte> keys,
                                      std::span<const std::byte> values) {
  attention_setup<Key, Value, scattered_view> setup(c, query_key_value, keys, values);
  const cuda::attention_extent extent = setup.plan(first);
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t ready = nullptr;
  cuda::check(cudaStreamBeginCapture(setup.on.get(), cudaStreamCaptureModeThreadLocal),
              "cudaStreamBeginCapture");
  setup.template run<HeadSize, Policy>(extent);
  cuda::check(cudaStreamEndCapture(setup.on.get(), &graph), "cudaStreamEndCapture");
  cuda::check(cudaGraphInstantiate(&ready, graph, 0), "cudaGraphInstantiate");
  cuda::check(cudaGraphLaunch(ready, setup.on.get()), "cudaGraphLaunch");
  setup.plan(c.spans);
  cuda::check(cudaGraphLaunch(ready, setup.on.get()), "cudaGraphLaunch");
  cuda_activations result = setup.read();
  cudaGraphExecDestroy(ready);
  cudaGraphDestroy(graph);
  return result;
}

#define INSTANTIATE(size, key, value, policy)                         \
  template cuda_activations cuda_attention<size, key, value, policy>( \
      const attention_case&, std::span<const float>, std::span<const std::byte>, std::span<const std::byte>)
INSTANTIATE(64, f16, f16, cuda::full_attention);
INSTANTIATE(80, f16, f16, cuda::full_attention);
INSTANTIATE(96, f16, f16, cuda::full_attention);
INSTANTIATE(128, f16, f16, cuda::full_attention);
INSTANTIATE(256, f16, f16, cuda::full_attention);
INSTANTIATE(64, bf16, f16, cuda::full_attention);
INSTANTIATE(128, bf16, bf16, cuda::full_attention);
INSTANTIATE(80, e4m3, e4m3, cuda::full_attention);
INSTANTIATE(128, e4m3, f16, cuda::full_attention);
INSTANTIATE(64, q8_0, q8_0, cuda::full_attention);
INSTANTIATE(80, q8_0, q8_0, cuda::full_attention);
INSTANTIATE(96, f16, q8_0, cuda::full_attention);
INSTANTIATE(128, q8_0, q8_0, cuda::full_attention);
INSTANTIATE(256, f32, f32, cuda::full_attention);
INSTANTIATE(64, f32, f32, cuda::full_attention);
INSTANTIATE(64, f16, f16, capped_attention);
INSTANTIATE(64, f16, f16, windowed_attention);
INSTANTIATE(64, f16, f16, capped_window_attention);
INSTANTIATE(64, f32, f32, capped_window_attention);
INSTANTIATE(64, f16, f16, windowed_cache);
#undef INSTANTIATE
template cuda_activations cuda_attention_graph<64, f16, f16, cuda::full_attention>(
    const attention_case&, std::span<const sequence_span>, std::span<const float>, std::span<const std::byte>,
    std::span<const std::byte>);

}  // namespace tenon::test
