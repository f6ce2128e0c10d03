#include "backend/cuda/device_ops.cuh"

#include <cmath>

#include "tenon/backend/cuda/kernel/argmax.cuh"
#include "tenon/backend/cuda/kernel/embed.cuh"
#include "tenon/backend/cuda/kernel/norm.cuh"
#include "tenon/backend/cuda/kernel/rope.cuh"

namespace tenon::test {

template <class Format>
std::vector<float> cuda_embed(std::span<const std::byte> packed, std::size_t columns,
                              std::span<const token_id> tokens) {
  const cuda::stream on;
  const cuda::device_buffer<std::byte> table(packed, on);
  const cuda::device_buffer<token_id> ids(tokens, on);
  cuda::device_buffer<float> hidden(tokens.size() * columns);
  cuda::embed<Format>(on, table.data(), ids.data(), tokens.size(), columns, hidden.data());
  return hidden.read(on);
}

template std::vector<float> cuda_embed<f32>(std::span<const std::byte>, std::size_t,
                                            std::span<const token_id>);
template std::vector<float> cuda_embed<f16>(std::span<const std::byte>, std::size_t,
                                            std::span<const token_id>);
template std::vector<float> cuda_embed<bf16>(std::span<const std::byte>, std::size_t,
                                             std::span<const token_id>);
template std::vector<float> cuda_embed<q8_0>(std::span<const std::byte>, std::size_t,
                                             std::span<const token_id>);
template std::vector<float> cuda_embed<q4_0>(std::span<const std::byte>, std::size_t,
                                             std::span<const token_id>);
template std::vector<float> cuda_embed<q4_1>(std::span<const std::byte>, std::size_t,
                                             std::span<const token_id>);

cuda_activations read_back(const cuda::activations& x, const cuda::stream& on) {
  return {x.stride(),          x.values().read(on),    x.halves().read(on),
          x.quanta().read(on), x.residuals().read(on), x.refined().read(on),
          x.scales().read(on), x.sums().read(on),      x.half_sums().read(on)};
}

cuda::activations prepared(std::span<const float> x, std::size_t tokens, cuda::activation_forms forms,
                           const cuda::stream& on) {
  const std::size_t width = x.size() / tokens, padded = (width + 3) / 4 * 4;
  std::vector<float> rows(tokens * padded);
  for (std::size_t i = 0; i < x.size(); ++i) rows[i / width * padded + i % width] = x[i];
  const cuda::device_buffer<float> values(rows, on);
  cuda::activations made(tokens, width, forms, on);
  cuda::prepare(on, {values.data(), made.view(), static_cast<int>(padded)}, tokens);
  on.synchronize();
  return made;
}

cuda_activations cuda_norm(std::span<const float> hidden, std::span<const int> rows, std::size_t tokens,
                           std::span<const float> weight, float epsilon) {
  const cuda::stream on;
  const cuda::device_buffer<float> x(hidden, on), w(weight, on);
  const cuda::device_buffer<int> picked(rows, on);
  cuda::activations out(tokens, weight.size(), every_form, on);
  cuda::norm(on, {x.data(), picked.data(), w.data(), out.view(), static_cast<int>(weight.size()), epsilon},
             tokens);
  return read_back(out, on);
}

cuda_activations cuda_prepare(std::span<const float> x, std::size_t tokens, bool as_f16) {
  const cuda::stream on;
  return read_back(prepared(x, tokens, {true, !as_f16, true, as_f16}, on), on);
}

template <class Key, class Value>
rope_result cuda_rope_append(const rope_case& c, std::span<const float> query_key_value) {
  const cuda::stream on;
  cuda::device_buffer<float> qkv(query_key_value, on);
  const cuda::device_buffer<int> positions(c.positions, on), span_of(c.span_of, on);
  const cuda::device_buffer<scattered_view> views(c.views, on);
  const std::size_t rows = static_cast<std::size_t>(c.kv_heads) * c.cache_rows;
  const auto bytes = [](int of_row) { return static_cast<std::size_t>(of_row); };
  cuda::device_buffer<std::byte> keys(rows * bytes(cuda::cache_row<Key>::bytes(c.head_dim))),
      values(rows * bytes(cuda::cache_row<Value>::bytes(c.head_dim)));
  for (auto* cache : {&keys, &values})
    cuda::check(cudaMemsetAsync(cache->data(), 0xff, cache->bytes(), on.get()), "cudaMemsetAsync");
  cuda::device_buffer<float2> angles(c.positions.size() * static_cast<std::size_t>(c.rotated / 2));
  cuda::rope_angles(on, {positions.data(), angles.data(), c.rotated / 2, c.base}, c.positions.size());
  cuda::rope_append<Key, Value, scattered_view>(
      on,
      {qkv.data(), angles.data(), positions.data(), span_of.data(), views.data(),
       cuda::make_cache_view<Key, Value>(keys.data(), values.data(), c.cache_rows, c.head_dim), c.heads,
       c.kv_heads, c.head_dim, c.rotated, 1.0f / std::sqrt(static_cast<float>(c.head_dim))},
      c.positions.size());
  return {qkv.read(on), keys.read(on), values.read(on)};
}

template rope_result cuda_rope_append<f32, f32>(const rope_case&, std::span<const float>);
template rope_result cuda_rope_append<f16, f16>(const rope_case&, std::span<const float>);
template rope_result cuda_rope_append<f16, bf16>(const rope_case&, std::span<const float>);
template rope_result cuda_rope_append<e4m3, e4m3>(const rope_case&, std::span<const float>);
template rope_result cuda_rope_append<q8_0, q8_0>(const rope_case&, std::span<const float>);
template rope_result cuda_rope_append<f16, q8_0>(const rope_case&, std::span<const float>);

std::vector<cuda_choice> cuda_argmax(std::span<const float> logits, std::size_t rows, std::size_t vocabulary,
                                     int times) {
  const cuda::stream on;
  const cuda::device_buffer<float> x(logits, on);
  cuda::argmax greedy(rows, vocabulary, on);
  cuda::device_buffer<cuda::chosen_token> chosen(rows);
  for (int i = 0; i < times; ++i)
    greedy.run(on, x.data(), logits.size() / rows, rows, vocabulary, chosen.data());
  std::vector<cuda_choice> made;
  for (const cuda::chosen_token& each : chosen.read(on)) made.push_back({each.token, each.fault});
  return made;
}

}  // namespace tenon::test
