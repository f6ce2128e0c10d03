#include <cmath>
#include <memory>

#include "inputs.hpp"
#include "kernel_case.hpp"
#include "tenon/backend/cuda/device.hpp"
#include "tenon/backend/cuda/kernel/attention.cuh"
#include "tenon/cache/contiguous.hpp"

namespace tenon::bench {

namespace {

/// Sequences of one length whose last `count` tokens are attended for, over a cache in f16.
struct attention_shape {
  int head_dim, heads, kv_heads;
  std::size_t sequences, context, count;

  std::size_t tokens() const { return sequences * count; }
  std::size_t width() const { return static_cast<std::size_t>(heads * head_dim); }
  std::size_t row_bytes() const { return static_cast<std::size_t>(kv_heads * head_dim) * 2; }
  std::size_t chunks() const {
    const auto chunk = static_cast<std::size_t>(cuda::attention_chunk(cuda::attention_head_size(head_dim)));
    return (context + chunk - 1) / chunk;
  }
  int splits(int multiprocessors) const {
    return cuda::attention_split_blocks(static_cast<int>(sequences), kv_heads, multiprocessors);
  }
};

struct attention_memory {
  using view = cache::contiguous::view;
  static constexpr cuda::activation_forms forms{.as_f16 = true};

  cuda::device_buffer<float> query_key_value;
  cuda::device_buffer<std::byte> keys, values;
  cuda::device_buffer<view> views;
  cuda::device_buffer<cuda::attention_span> spans;
  cuda::attention_memory workspace;
  cuda::activations out;
  cuda::attention_extent extent;

  attention_memory(const attention_shape& s, const cuda::stream& on)
      : query_key_value(
            normal_values(s.tokens() * static_cast<std::size_t>((s.heads + 2 * s.kv_heads) * s.head_dim),
                          1 / std::sqrt(s.head_dim), 1),
            on),
        keys(small_halves(s.sequences * s.context * s.row_bytes() / 2, 2), on),
        values(small_halves(s.sequences * s.context * s.row_bytes() / 2, 3), on),
        spans(s.sequences),
        workspace(cuda::attention_sizes::of(s.tokens(), s.sequences, s.sequences * s.context, s.heads,
                                            s.kv_heads, s.head_dim),
                  on),
        out(s.tokens(), s.width(), forms, on) {
    std::vector<view> all;
    std::vector<sequence_span> plan;
    for (std::size_t i = 0; i < s.sequences; ++i) {
      all.push_back({i * s.context, s.context});
      plan.push_back({.first_row = i * s.count, .first_position = s.context - s.count, .count = s.count});
    }
    std::vector<cuda::attention_span> made(s.sequences);
    extent = cuda::plan_attention({.tokens = {}, .positions = {}, .spans = plan, .sampled_rows = {}}, s.heads,
                                  s.kv_heads, s.head_dim, made);
    int device = 0;
    cuda::check(cudaGetDevice(&device), "cudaGetDevice");
    extent.splits = s.splits(cuda::device_info::of(device).multiprocessors);
    views = cuda::device_buffer<view>(all, on);
    spans = cuda::device_buffer<cuda::attention_span>(made, on);
  }

  template <int HeadSize>
  void launch(const attention_shape& s, const cuda::stream& on) {
    cuda::attention<HeadSize, f16, f16, cuda::full_attention>(
        on,
        cuda::attention_parameters<view>{
            query_key_value.data(), spans.data(), views.data(),
            cuda::make_cache_view<f16, f16>(keys.data(), values.data(), s.sequences * s.context, s.head_dim),
            workspace.view(), out.view(), s.heads, s.kv_heads, s.head_dim},
        extent);
  }
};

template <int HeadSize>
kernel_case make(const attention_shape& s) {
  const bool decodes = s.count == 1;
  kernel_case made{.name = std::string(decodes ? "decode" : "prefill") + " attention D" +
                           std::to_string(s.head_dim) + " " + std::to_string(s.heads) + "/" +
                           std::to_string(s.kv_heads) + (decodes ? " kv" : " n") + std::to_string(s.context) +
                           " b" + std::to_string(s.sequences),
                   .kind = decodes ? "decode attention" : "prefill attention"};
  made.read_bytes = s.sequences * s.context * s.row_bytes() * 2 + s.tokens() * s.width() * sizeof(float);
  made.write_bytes = s.tokens() * cuda::activations::bytes_per_token(s.width(), attention_memory::forms);
  const double seen = static_cast<double>(s.count) *
                      (static_cast<double>(s.context) - (static_cast<double>(s.count) - 1) / 2);
  made.useful_flops = 4 * static_cast<double>(s.width() * s.sequences) * seen;
  if (decodes) {
    // of the splits that are launched for 108 multiprocessors, each needs a chunk of the positions
    const std::size_t splits = std::min(static_cast<std::size_t>(s.splits(108)), s.chunks());
    made.working_blocks =
        s.sequences * splits *
        static_cast<std::size_t>(s.kv_heads * cuda::attention_split_tiles(s.heads / s.kv_heads));
  }
  made.make = [s](const cuda::stream& on) {
    const auto own = std::make_shared<attention_memory>(s, on);
    return [s, own](const cuda::stream& stream) { own->launch<HeadSize>(s, stream); };
  };
  return made;
}

}  // namespace

std::vector<kernel_case> attention_cases() {
  std::vector<kernel_case> cases;
  for (const std::size_t context : {1024u, 4096u}) {
    cases.push_back(make<128>({128, 32, 8, 1, context, 1}));
    cases.push_back(make<64>({64, 9, 3, 1, context, 1}));
  }
  cases.push_back(make<128>({128, 32, 8, 16, 1024, 1}));
  cases.push_back(make<64>({64, 9, 3, 16, 1024, 1}));
  cases.push_back(make<128>({128, 32, 8, 1, 512, 512}));
  cases.push_back(make<64>({64, 9, 3, 1, 512, 512}));
  using m = seven_billion;
  for (const int batch : m::batches) {
    const auto sequences = static_cast<std::size_t>(batch);
    cases.push_back(
        m::part(batch, make<128>({m::head_dim, m::heads, m::heads, sequences, m::context, 1}), m::layers));
  }
  return cases;
}

}  // namespace tenon::bench
