// The engine types that these tests share, so that each is compiled once: TENON_DECLARE_ENGINE here,
// TENON_INSTANTIATE in the test file named beside it. And what it takes to run a few requests.
#pragma once

#include <tenon/engine.hpp>

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tenon::test {

using fp32_engine =  // compiled in tiny_models.cpp
    engine<model::llama, precision::fp32, sampling::like_vllm, batching::static_batch<9>>;
using int8_engine =  // compiled in bad_files.cpp
    engine<model::llama, precision::from_file, sampling::greedy, batching::static_batch<9>>;
using bf16_engine =  // compiled in smollm_text.cpp
    engine<model::llama, precision::mixed<activations<bf16>, kv<bf16>>, sampling::greedy,
           batching::static_batch<9>>;

/// One of the models of tests/data/gguf/gen_tiny_models.py: "base_5e5".
inline std::filesystem::path tiny_model(const std::string& name) {
  return std::filesystem::path(TENON_TEST_GENERATED) / "tiny_models" / (name + ".gguf");
}

/// Tests of the real model are skipped where it is not: a precondition for Boost.
inline boost::test_tools::assertion_result smollm_is_here(boost::unit_test::test_unit_id) {
  boost::test_tools::assertion_result there(!std::string_view(TENON_TEST_MODEL).empty());
  if (!there) there.message() << "TENON_TEST_MODEL is not set; tests/run.sh fetches the model";
  return there;
}

inline std::vector<std::byte> read_bytes(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot open " + path.string());
  std::vector<std::byte> bytes(std::filesystem::file_size(path));
  file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  return bytes;
}

/// The first of a row of F32 values in a tensor, inside the bytes of a file: to plant faults and answers.
inline float* row_of(std::vector<std::byte>& file, std::string_view tensor, std::size_t row) {
  const auto gguf = io::gguf_file::parse(file);
  const io::gguf_tensor* found = gguf.find_tensor(tensor);
  if (found == nullptr || found->type != f32::gguf_type)
    throw std::runtime_error("no F32 " + std::string(tensor));
  const auto dimensions = found->dimensions();
  const std::size_t row_bytes = static_cast<std::size_t>(dimensions[0]) * sizeof(float);
  return reinterpret_cast<float*>(file.data() + found->offset + row * row_bytes);
}

/// A request that takes the best token each time, with any sampling policy.
template <class Engine>
typename Engine::params greedy(int max_tokens) {
  typename Engine::params request;
  if constexpr (sampling::contains(Engine::sampling_policy::reads, sampling::field::temperature)) {
    request.temperature = 0.0f;
  }
  request.max_tokens = max_tokens;
  return request;
}

template <class Engine>
void run_to_end(Engine& engine) {
  while (engine.step()) {
  }
}

/// One request by itself.
template <class Engine>
request_result complete(Engine& engine, std::span<const token_id> prompt, typename Engine::params request) {
  const request_id id = engine.submit(prompt, std::move(request));
  run_to_end(engine);
  auto result = engine.take(id);
  if (!result) throw std::runtime_error("the request has no result");
  return *std::move(result);
}

template <class Engine>
std::vector<token_id> greedy_tokens(Engine& engine, std::span<const token_id> prompt, int max_tokens) {
  return complete(engine, prompt, greedy<Engine>(max_tokens)).tokens;
}

/// `count` prompts of differing lengths, up to `longest`, of ids from 3 up to `vocabulary`.
inline std::vector<std::vector<token_id>> some_prompts(std::size_t count, std::size_t longest,
                                                       std::size_t vocabulary = 262) {
  std::vector<std::vector<token_id>> prompts(count);
  std::uint64_t state = 88172645463325252u;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t length = 1 + (i * 37 + longest - 1) % longest;
    for (std::size_t k = 0; k < length; ++k) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      prompts[i].push_back(static_cast<token_id>(3 + (state >> 33) % (vocabulary - 3)));
    }
  }
  return prompts;
}

/// The logits after each token, [tokens, vocabulary].
template <class Engine>
std::vector<std::vector<float>> all_logits(Engine& engine, std::span<const token_id> tokens) {
  std::vector<std::vector<float>> rows;
  engine.score(tokens,
               [&](std::size_t, std::span<const float> row) { rows.emplace_back(row.begin(), row.end()); });
  return rows;
}

}  // namespace tenon::test

TENON_DECLARE_ENGINE(tenon::test::fp32_engine);
TENON_DECLARE_ENGINE(tenon::test::int8_engine);
TENON_DECLARE_ENGINE(tenon::test::bf16_engine);
