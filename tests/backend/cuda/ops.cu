#include "backend/cuda/ops.hpp"

#include <cmath>

#include "tenon/backend/cuda/kernel/argmax.cuh"
#include "tenon/backend/cuda/kernel/embed.cuh"
#include "tenon/backend/cuda/kernel/matmul_int8.cuh"
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

namespace {

cuda_activations read(const cuda::activations& x, const cuda::stream& on) {
  return {x.stride(),          x.values().read(on),    x.halves().read(on),
          x.quanta().read(on), x.residuals().read(on), x.refined().read(on),
          x.scales().read(on), x.sums().read(on)};
}

cuda::activations prepared(std::span<const float> x, std::size_t tokens, const cuda::stream& on) {
  const std::size_t width = x.size() / tokens;
  const cuda::device_buffer<float> values(x, on);
  cuda::activations made(tokens, width, {true, true, true}, on);
  cuda::prepare(on, {values.data(), made.view(), static_cast<int>(width)}, tokens);
  on.synchronize();
  return made;
}

template <class Format>
cuda::matrix_view matrix(const cuda::device_buffer<std::byte>& packed, std::size_t rows,
                         std::size_t columns) {
  return {packed.data(), static_cast<int>(rows), static_cast<int>(cuda::records_of<Format>(columns))};
}

}  // namespace

cuda_activations cuda_norm(std::span<const float> hidden, std::span<const int> rows, std::size_t tokens,
                           std::span<const float> weight, float epsilon) {
  const cuda::stream on;
  const cuda::device_buffer<float> x(hidden, on), w(weight, on);
  const cuda::device_buffer<int> picked(rows, on);
  cuda::activations out(tokens, weight.size(), {true, true, true}, on);
  cuda::norm(on, {x.data(), picked.data(), w.data(), out.view(), static_cast<int>(weight.size()), epsilon},
             tokens);
  return read(out, on);
}

cuda_activations cuda_prepare(std::span<const float> x, std::size_t tokens) {
  const cuda::stream on;
  return read(prepared(x, tokens, on), on);
}

template <class Format>
std::vector<float> cuda_matmul_int8(std::span<const std::byte> packed, std::size_t rows, std::size_t columns,
                                    std::span<const float> x, std::size_t tokens) {
  const cuda::stream on;
  const cuda::device_buffer<std::byte> weights(packed, on);
  cuda::activations left = prepared(x, tokens, on);
  cuda::device_buffer<float> out(tokens * rows);
  cuda::matmul_int8<Format, cuda::store_product>(on, {{matrix<Format>(weights, rows, columns)},
                                                      left.view(),
                                                      static_cast<int>(tokens),
                                                      {out.data(), static_cast<int>(rows)}});
  return out.read(on);
}

template <class Format>
std::vector<float> cuda_add_matmul_int8(std::span<const std::byte> packed, std::size_t rows,
                                        std::size_t columns, std::span<const float> x, std::size_t tokens,
                                        std::span<const float> residual) {
  const cuda::stream on;
  const cuda::device_buffer<std::byte> weights(packed, on);
  cuda::activations left = prepared(x, tokens, on);
  cuda::device_buffer<float> out(residual, on);
  cuda::matmul_int8<Format, cuda::add_product>(on, {{matrix<Format>(weights, rows, columns)},
                                                    left.view(),
                                                    static_cast<int>(tokens),
                                                    {out.data(), static_cast<int>(rows)}});
  return out.read(on);
}

template <class Format>
cuda_activations cuda_gate_matmul_int8(std::span<const std::byte> gate, std::span<const std::byte> up,
                                       std::size_t rows, std::size_t columns, std::span<const float> x,
                                       std::size_t tokens) {
  const cuda::stream on;
  const cuda::device_buffer<std::byte> gates(gate, on), ups(up, on);
  cuda::activations left = prepared(x, tokens, on), out(tokens, rows, {true, true, true}, on);
  cuda::matmul_int8<Format, cuda::gate_product>(
      on, {{matrix<Format>(gates, rows, columns), matrix<Format>(ups, rows, columns)},
           left.view(),
           static_cast<int>(tokens),
           {out.view()}});
  return read(out, on);
}

#define INSTANTIATE(format)                                                                                  \
  template std::vector<float> cuda_matmul_int8<format>(std::span<const std::byte>, std::size_t, std::size_t, \
                                                       std::span<const float>, std::size_t);                 \
  template std::vector<float> cuda_add_matmul_int8<format>(std::span<const std::byte>, std::size_t,          \
                                                           std::size_t, std::span<const float>, std::size_t, \
                                                           std::span<const float>);                          \
  template cuda_activations cuda_gate_matmul_int8<format>(std::span<const std::byte>,                        \
                                                          std::span<const std::byte>, std::size_t,           \
                                                          std::size_t, std::span<const float>, std::size_t)
INSTANTIATE(q8_0);
INSTANTIATE(q4_0);
INSTANTIATE(q4_1);
#undef INSTANTIATE

template <class Key, class Value>
rope_result cuda_rope_append(const rope_case& c, std::span<const float> query_key_value) {
  const cuda::stream on;
  cuda::device_buffer<float> qkv(query_key_value, on);
  const cuda::device_buffer<int> positions(c.positions, on), span_of(c.span_of, on);
  const cuda::device_buffer<scattered_view> views(c.views, on);
  const std::size_t cache_values = static_cast<std::size_t>(c.kv_heads * c.stride) * c.cache_rows;
  cuda::device_buffer<std::byte> keys(cache_values * Key::block_bytes),
      values(cache_values * Value::block_bytes);
  for (auto* cache : {&keys, &values})
    cuda::check(cudaMemsetAsync(cache->data(), 0xff, cache->bytes(), on.get()), "cudaMemsetAsync");
  cuda::device_buffer<float2> angles(c.positions.size() * static_cast<std::size_t>(c.rotated / 2));
  cuda::rope_angles(on, {positions.data(), angles.data(), c.rotated / 2, c.base}, c.positions.size());
  cuda::rope_append<Key, Value, scattered_view>(on,
                                                {qkv.data(),
                                                 angles.data(),
                                                 positions.data(),
                                                 span_of.data(),
                                                 views.data(),
                                                 {keys.data(), values.data(), c.cache_rows, c.stride},
                                                 c.heads,
                                                 c.kv_heads,
                                                 c.head_dim,
                                                 c.rotated,
                                                 1.0f / std::sqrt(static_cast<float>(c.head_dim))},
                                                c.positions.size());
  return {qkv.read(on), keys.read(on), values.read(on)};
}

template rope_result cuda_rope_append<f32, f32>(const rope_case&, std::span<const float>);
template rope_result cuda_rope_append<f16, f16>(const rope_case&, std::span<const float>);
template rope_result cuda_rope_append<f16, bf16>(const rope_case&, std::span<const float>);
template rope_result cuda_rope_append<e4m3, e4m3>(const rope_case&, std::span<const float>);

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
