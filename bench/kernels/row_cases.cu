// What works on rows of hidden values: embedding, norm, rotation.
#include <memory>

#include "inputs.hpp"
#include "kernel_case.hpp"
#include "tenon/backend/cuda/kernel/embed.cuh"
#include "tenon/backend/cuda/kernel/norm.cuh"
#include "tenon/backend/cuda/kernel/rope.cuh"
#include "tenon/cache/contiguous.hpp"

namespace tenon::bench {

namespace {

constexpr cuda::activation_forms half_rows{.as_f16 = true};

kernel_case norm_case(std::size_t tokens, std::size_t width) {
  struct memory {
    cuda::device_buffer<float> hidden, weight;
    cuda::activations out;
  };
  kernel_case made{.name = "norm b" + std::to_string(tokens) + " d" + std::to_string(width), .kind = "rows"};
  made.read_bytes = (tokens + 1) * width * sizeof(float);
  made.write_bytes = tokens * cuda::activations::bytes_per_token(width, half_rows);
  made.make = [tokens, width](const cuda::stream& on) {
    const auto own =
        std::make_shared<memory>(memory{cuda::device_buffer<float>(normal_values(tokens * width, 1, 1), on),
                                        cuda::device_buffer<float>(normal_values(width, 1, 2), on),
                                        cuda::activations(tokens, width, half_rows, on)});
    return [own, tokens, width](const cuda::stream& stream) {
      cuda::norm(
          stream,
          {own->hidden.data(), nullptr, own->weight.data(), own->out.view(), static_cast<int>(width), 1e-5f},
          tokens);
    };
  };
  return made;
}

kernel_case embed_case(std::size_t tokens, std::size_t vocabulary, std::size_t width) {
  struct memory {
    cuda::device_buffer<std::byte> table;
    cuda::device_buffer<token_id> ids;
    cuda::device_buffer<float> hidden;
  };
  kernel_case made{.name = "embed f16 b" + std::to_string(tokens) + " d" + std::to_string(width),
                   .kind = "gather"};
  made.read_bytes = tokens * (width * 2 + sizeof(token_id));
  made.write_bytes = tokens * width * sizeof(float);
  made.make = [tokens, vocabulary, width](const cuda::stream& on) {
    std::vector<token_id> ids;
    for (std::size_t i = 0; i < tokens; ++i) ids.push_back(static_cast<token_id>(i * 1009 % vocabulary));
    const auto own = std::make_shared<memory>(
        memory{cuda::device_buffer<std::byte>(packed_weights<f16>(vocabulary, width, 1), on),
               cuda::device_buffer<token_id>(ids, on), cuda::device_buffer<float>(tokens * width)});
    return [own, tokens, width](const cuda::stream& stream) {
      cuda::embed<f16>(stream, own->table.data(), own->ids.data(), tokens, width, own->hidden.data());
    };
  };
  return made;
}

/// Tokens that each are the last of a sequence of their own.
struct rope_shape {
  std::size_t tokens, context;
  int heads, kv_heads, head_dim;
  std::size_t pairs() const { return static_cast<std::size_t>(head_dim / 2); }
  std::size_t width() const { return static_cast<std::size_t>((heads + 2 * kv_heads) * head_dim); }
  std::string text() const {
    return " D" + std::to_string(head_dim) + " " + std::to_string(heads) + "/" + std::to_string(kv_heads) +
           " b" + std::to_string(tokens);
  }
};

struct rope_memory {
  using view = cache::contiguous::view;
  cuda::device_buffer<float> query_key_value;
  cuda::device_buffer<int> positions, span_of;
  cuda::device_buffer<view> views;
  cuda::device_buffer<std::byte> keys, values;
  cuda::device_buffer<float2> angles;

  rope_memory(const rope_shape& s, const cuda::stream& on)
      : query_key_value(normal_values(s.tokens * s.width(), 1, 1), on), angles(s.tokens * s.pairs()) {
    std::vector<int> last(s.tokens, static_cast<int>(s.context) - 1), own;
    std::vector<view> all;
    for (std::size_t i = 0; i < s.tokens; ++i)
      own.push_back(static_cast<int>(i)), all.push_back({i * s.context, s.context});
    positions = {last, on}, span_of = {own, on}, views = {all, on};
    const std::size_t bytes = s.tokens * s.context * static_cast<std::size_t>(s.kv_heads * s.head_dim) * 2;
    keys = cuda::device_buffer<std::byte>(bytes), values = cuda::device_buffer<std::byte>(bytes);
    take_angles(s, on);
  }
  void take_angles(const rope_shape& s, const cuda::stream& on) {
    cuda::rope_angles(on, {positions.data(), angles.data(), s.head_dim / 2, 10000.0}, s.tokens);
  }
  void append(const rope_shape& s, const cuda::stream& on) {
    cuda::rope_append<f16, f16, view>(
        on,
        {query_key_value.data(), angles.data(), positions.data(), span_of.data(), views.data(),
         cuda::make_cache_view<f16, f16>(keys.data(), values.data(), s.tokens * s.context, s.head_dim),
         s.heads, s.kv_heads, s.head_dim, s.head_dim, 1.0f},
        s.tokens);
  }
};

kernel_case rope_case(const rope_shape& s, bool appends) {
  kernel_case made{.name = (appends ? "rope and append" : "rope angles") + s.text(),
                   .kind = appends ? "rows" : "small"};
  const std::size_t angles = s.tokens * s.pairs() * sizeof(float2),
                    heads = static_cast<std::size_t>(s.heads * s.head_dim),
                    kv_heads = static_cast<std::size_t>(s.kv_heads * s.head_dim);
  made.read_bytes = s.tokens * sizeof(int);
  made.write_bytes = angles;
  if (appends) {
    made.read_bytes =
        s.tokens * (s.width() * sizeof(float) + 2 * sizeof(int) + sizeof(rope_memory::view)) + angles;
    made.write_bytes = s.tokens * (heads * sizeof(float) + 2 * kv_heads * 2);
  }
  made.make = [s, appends](const cuda::stream& on) {
    const auto own = std::make_shared<rope_memory>(s, on);
    return [s, own, appends](const cuda::stream& stream) {
      appends ? own->append(s, stream) : own->take_angles(s, stream);
    };
  };
  return made;
}

}  // namespace

std::vector<kernel_case> row_cases() {
  std::vector<kernel_case> cases{norm_case(16, 4096), rope_case({16, 1024, 32, 8, 128}, true)};
  using m = seven_billion;
  for (const int batch : m::batches) {
    const auto tokens = static_cast<std::size_t>(batch);
    const rope_shape rope{tokens, m::context, m::heads, m::heads, m::head_dim};
    const auto add = [&](kernel_case made, int times) {
      cases.push_back(m::part(batch, std::move(made), times));
    };
    add(embed_case(tokens, m::vocabulary, m::hidden), 1);
    add(rope_case(rope, false), 1);
    add(rope_case(rope, true), m::layers);
    add(norm_case(tokens, m::hidden), 2 * m::layers + 1);
  }
  return cases;
}

}  // namespace tenon::bench
