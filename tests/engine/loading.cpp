// How engines come to be: from a file or from memory, with the memory that was planned, with progress, with a
// fixed shape, several of them, and moved.
#include "engine/engines.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <utility>
#include <vector>

namespace {

using namespace tenon;
using namespace tenon::test;

const std::vector<token_id> prompt = {107, 104, 111, 35, 50};
const engine_options small = {.max_batch = 2, .context = 64, .max_step_tokens = 32, .threads = 2};

/// The shape of the tiny models base_5e5 and eps_1e-1.
constexpr model::shape tiny_shape = {.layers = 2,
                                     .hidden = 64,
                                     .heads = 4,
                                     .kv_heads = 2,
                                     .head_dim = 16,
                                     .rotated = 16,
                                     .feed_forward = 64,
                                     .vocabulary = 262,
                                     .context = 128};
using fixed_engine = fp32_engine::with<model::fixed_shape<model::llama, tiny_shape>>;

std::string refusal(const std::string& name) {
  try {
    fixed_engine::load(tiny_model(name), small);
  } catch (const load_error& error) {
    return error.what();
  }
  return "it loads";
}

}  // namespace

BOOST_AUTO_TEST_SUITE(loading)

BOOST_AUTO_TEST_CASE(memory_loads_as_a_file_does_and_is_not_needed_afterwards) {
  fp32_engine from_file = fp32_engine::load(tiny_model("base_5e5"), small);
  std::vector<std::byte> bytes = read_bytes(tiny_model("base_5e5"));
  fp32_engine from_memory = fp32_engine::load(bytes, small);
  bytes.assign(bytes.size(), std::byte{0xff});
  BOOST_TEST((all_logits(from_memory, prompt) == all_logits(from_file, prompt)));
  BOOST_TEST(greedy_tokens(from_memory, prompt, 10) == greedy_tokens(from_file, prompt, 10),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(what_is_planned_is_what_is_allocated) {
  using runtime = host::runtime<isa::native, model::llama, precision::fp32, cache::contiguous::view>;
  for (const std::string name : {"hd80_4q2kv_v262", "hd8_4q4kv_ff33_v321", "base_5e5"}) {
    const auto file = io::gguf_file::open(tiny_model(name));
    const memory_plan plan = fp32_engine::plan(file, small);
    const model::description description = model::describe_llama(file);
    runtime loaded({.threads = 1});
    loaded.load(file, description, {.max_batch = 2, .max_tokens = 32, .cache_rows = 2 * 64},
                description.shape.vocabulary, {});
    std::size_t weights = 0;
    const auto count = [&](const host::matrix& m) { weights += m.bytes(); };
    const auto count_vector = [&](const buffer<float>& v) { weights += v.size() * sizeof(float); };
    count(loaded.weights().embedding);
    for (const auto& layer : loaded.weights().layers) {
      for (const auto* m : {&layer.query, &layer.key, &layer.value, &layer.attention_output, &layer.gate,
                            &layer.up, &layer.down}) {
        count(*m);
      }
      count_vector(layer.attention_norm);
      count_vector(layer.feed_forward_norm);
    }
    count_vector(loaded.weights().output_norm);
    count(loaded.weights().separate_output);
    BOOST_TEST(plan.weights == weights, name);
    BOOST_TEST(plan.cache == loaded.cache_bytes(), name);
    BOOST_TEST(plan.total() == plan.weights + plan.cache + plan.workspace);
    // At least the logits and the residual stream.
    BOOST_TEST(plan.workspace >
               sizeof(float) * (2 * description.shape.vocabulary + 32 * description.shape.hidden));
  }
}

BOOST_AUTO_TEST_CASE(a_plan_follows_the_options) {
  const auto file = io::gguf_file::open(tiny_model("base_5e5"));
  const memory_plan one = fp32_engine::plan(file, {.max_batch = 1, .context = 64});
  const memory_plan four = fp32_engine::plan(file, {.max_batch = 4, .context = 64});
  const memory_plan longer = fp32_engine::plan(file, {.max_batch = 1, .context = 128});
  BOOST_TEST(one.cache == 64 * fp32_engine::kv_bytes_per_token(tiny_shape));
  BOOST_TEST(four.cache == 4 * one.cache);
  BOOST_TEST(longer.cache == 2 * one.cache);
  BOOST_TEST(four.weights == one.weights);
  BOOST_TEST(fp32_engine::plan(file, {.max_batch = 1, .context = 5000}).cache ==
             longer.cache);  // the model's 128
}

BOOST_AUTO_TEST_CASE(progress_rises_to_the_total) {
  const auto file = io::gguf_file::open(tiny_model("base_5e5"));
  std::size_t bytes = 0, last = 0, calls = 0, total = 0;
  for (const io::gguf_tensor& tensor : file.tensors()) bytes += tensor.data.size();
  engine_options options = small;
  options.progress = [&](const load_progress& state) {
    BOOST_TEST(state.done > last);
    BOOST_TEST(state.done <= state.total);
    last = state.done;
    total = state.total;
    ++calls;
  };
  fp32_engine::load(tiny_model("base_5e5"), options);
  BOOST_TEST(last == bytes);
  BOOST_TEST(total == bytes);
  BOOST_TEST(calls > 5u);
}

BOOST_AUTO_TEST_CASE(options_out_of_reach_are_brought_into_it) {
  fp32_engine engine = fp32_engine::load(tiny_model("base_5e5"), {.max_batch = 1000, .context = 100000});
  BOOST_TEST(engine.max_batch() == 9u);  // the batching policy's
  BOOST_TEST(engine.context() == 128u);  // the model's
  BOOST_TEST(engine.threads() >= 1);
  BOOST_TEST((engine.shape() == tiny_shape));
}

BOOST_AUTO_TEST_CASE(a_fixed_shape_gives_the_same_bits) {
  fixed_engine fixed = fixed_engine::load(tiny_model("base_5e5"), small);
  fp32_engine plain = fp32_engine::load(tiny_model("base_5e5"), small);
  BOOST_TEST((all_logits(fixed, prompt) == all_logits(plain, prompt)));
  BOOST_TEST(greedy_tokens(fixed, prompt, 10) == greedy_tokens(plain, prompt, 10),
             boost::test_tools::per_element());
  BOOST_TEST(refusal("eps_1e-1") == "it loads");  // of the same shape
}

BOOST_AUTO_TEST_CASE(a_file_of_another_shape_is_refused_by_a_fixed_one) {
  const std::string error = refusal("hd8_4q4kv_ff33_v321");
  BOOST_TEST(
      error.find("fixed shape: layers is 3 in the file and 2 in the engine's type") != std::string::npos,
      error);
  BOOST_TEST(refusal("hd128_key_length_2q1kv").find("heads is 2 in the file and 4") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_format_that_is_not_listed_is_refused_with_the_argument_to_add) {
  // The part of the engine that loads, without all that computes.
  using only_q4_1 = precision::mixed<weights<q4_1>, activations<f32>, kv<f32>>;
  const auto file = io::gguf_file::open(tiny_model("base_5e5"));
  host::runtime<isa::native, model::llama, only_q4_1, cache::contiguous::view> runtime({.threads = 1});
  BOOST_CHECK_THROW(runtime.weight_bytes(file, model::describe_llama(file)), load_error);  // the plan's, too
  try {
    runtime.load(file, model::describe_llama(file), {}, 1, {});
    BOOST_TEST(false, "it loads");
  } catch (const load_error& error) {
    const std::string text = error.what();
    BOOST_TEST(text.find("token_embd.weight") != std::string::npos, text);
    BOOST_TEST(text.find("F32") != std::string::npos, text);
    BOOST_TEST(text.find("add tenon::f32 to tenon::weights<...>") != std::string::npos, text);
  }
}

BOOST_AUTO_TEST_CASE(two_engines_in_one_program_do_not_mix) {
  fp32_engine a = fp32_engine::load(tiny_model("base_5e5"), small);
  fp32_engine b = fp32_engine::load(tiny_model("hd96_3q3kv_v263"), small);
  const auto expected_a = greedy_tokens(a, prompt, 12), expected_b = greedy_tokens(b, prompt, 12);
  const request_id in_a = a.submit(prompt, greedy<fp32_engine>(12));
  const request_id in_b = b.submit(prompt, greedy<fp32_engine>(12));
  for (bool more = true; more;) {
    const bool a_ran = a.step(), b_ran = b.step();
    more = a_ran || b_ran;
  }
  BOOST_TEST(a.take(in_a).value().tokens == expected_a, boost::test_tools::per_element());
  BOOST_TEST(b.take(in_b).value().tokens == expected_b, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_moved_engine_goes_on_with_its_requests) {
  fp32_engine first = fp32_engine::load(tiny_model("base_5e5"), small);
  const auto expected = greedy_tokens(first, prompt, 12);
  const request_id id = first.submit(prompt, greedy<fp32_engine>(12));
  for (int i = 0; i < 4; ++i) first.step();
  fp32_engine second = std::move(first);
  for (int i = 0; i < 4; ++i) second.step();
  fp32_engine third = fp32_engine::load(tiny_model("eps_1e-1"), small);
  third = std::move(second);
  run_to_end(third);
  BOOST_TEST(third.take(id).value().tokens == expected, boost::test_tools::per_element());
  BOOST_TEST(greedy_tokens(third, prompt, 12) == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_model_without_a_chat_template_says_so_when_it_is_asked_to_chat) {
  fp32_engine engine = fp32_engine::load(tiny_model("base_5e5"), small);
  const std::vector<text::message> talk = {{"user", "hello"}};
  BOOST_CHECK_THROW(engine.chat_tokens(talk), load_error);
}

BOOST_AUTO_TEST_SUITE_END()
