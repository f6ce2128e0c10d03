// What a composition of policies is: one type for the same choices, its name, and the engine with one slot
// replaced. Nothing here loads a model or runs anything.
#include "support/smollm_shape.hpp"

#include <tenon/engine.hpp>

#include <boost/test/unit_test.hpp>

#include <concepts>
#include <string_view>

namespace {

using namespace tenon;

using fast = precision::mixed<weights<q4_1, q8_0>, activations<int8>, kv<f16>>;

using named =
    engine<model::llama, backend::host, fast, cache::contiguous, sampling::greedy, batching::static_batch<4>,
           reduction::fixed, execution::eager, speculation::none, parallelism::single, instrumentation::none>;

constexpr model::shape smollm = test::smollm_shape;

// The shape of Llama 2 7B.
constexpr model::shape llama_7b = {.layers = 32,
                                   .hidden = 4096,
                                   .heads = 32,
                                   .kv_heads = 32,
                                   .head_dim = 128,
                                   .rotated = 128,
                                   .feed_forward = 11008,
                                   .vocabulary = 32000,
                                   .context = 4096};

using fixed_7b = model::fixed_shape<model::llama, llama_7b>;

}  // namespace

BOOST_AUTO_TEST_SUITE(compose)

BOOST_AUTO_TEST_CASE(the_order_of_policies_makes_no_other_type) {
  using forwards = engine<model::llama, fast, sampling::greedy, batching::static_batch<4>>;
  using backwards = engine<batching::static_batch<4>, sampling::greedy, fast, model::llama>;
  BOOST_TEST((std::same_as<forwards, backwards>));
  BOOST_TEST((std::same_as<forwards, named>));
}

BOOST_AUTO_TEST_CASE(a_slot_left_out_takes_its_default) {
  using plain = engine<model::llama>;
  BOOST_TEST((std::same_as<plain::backend_policy, backend::host>));
  BOOST_TEST((std::same_as<plain::precision_policy, precision::from_file>));
  BOOST_TEST((std::same_as<plain::cache_policy, cache::contiguous>));
  BOOST_TEST((std::same_as<plain::sampling_policy, sampling::chain<sampling::temperature, sampling::top_p>>));
  BOOST_TEST((std::same_as<plain::batching_policy, batching::static_batch<8>>));
  BOOST_TEST((std::same_as<plain, engine<cache::contiguous, model::llama, execution::eager>>));
  BOOST_TEST(!(std::same_as<plain, engine<model::llama, sampling::greedy>>));
}

BOOST_AUTO_TEST_CASE(with_replaces_one_slot_and_keeps_the_others) {
  using wider = named::with<batching::static_batch<9>>;
  BOOST_TEST((std::same_as<wider::batching_policy, batching::static_batch<9>>));
  BOOST_TEST((std::same_as<wider::with<batching::static_batch<4>>, named>));
  BOOST_TEST((std::same_as<named::with<sampling::greedy>, named>));
  BOOST_TEST((std::same_as<named::with<backend::basic_host<isa::portable>>::backend_policy,
                           backend::basic_host<isa::portable>>));
  BOOST_TEST((std::same_as<named::with<precision::fp32>::precision_policy, precision::fp32>));
  BOOST_TEST((std::same_as<named::with<fixed_7b>::model_policy, fixed_7b>));
}

BOOST_AUTO_TEST_CASE(the_description_names_every_choice_and_is_a_constant) {
  constexpr std::string_view text = engine<model::llama, backend::basic_host<isa::portable>, fast,
                                           sampling::like_vllm, batching::static_batch<16>>::description();
  static_assert(text.starts_with("model llama; "));
  BOOST_TEST(text ==
             "model llama; backend host (portable); precision weights q4_1/q8_0, activations int8, kv "
             "f16/f16; cache contiguous; sampling chain<temperature, min_p, top_k, top_p>; batching "
             "static_batch<16>; reduction fixed; execution eager; speculation none; parallelism single; "
             "instrumentation none");
  constexpr std::string_view fixed = engine<fixed_7b>::description();
  BOOST_TEST(fixed.starts_with("model llama (32 layers of 4096, 32/32 heads of 128); "));
}

BOOST_AUTO_TEST_CASE(a_mixed_precision_is_one_type_whatever_the_order_of_its_parts) {
  using precision::mixed;
  BOOST_TEST((std::same_as<mixed<weights<q4_1, q8_0>, activations<int8>, kv<f16>>,
                           mixed<kv<f16, f16>, weights<q8_0, q4_1>, activations<int8>>>));
  BOOST_TEST((std::same_as<mixed<weights<q8_0, q4_1, q8_0>>, mixed<weights<q4_1, q8_0>>>));
  BOOST_TEST((std::same_as<mixed<>, precision::from_file>));
  BOOST_TEST((std::same_as<mixed<weights<q4_1, q4_0, q8_0, bf16, f16, f32>, activations<f32>, kv<f32>>,
                           precision::fp32>));
  BOOST_TEST(!(std::same_as<mixed<kv<f16, bf16>>, mixed<kv<bf16, f16>>>));
}

BOOST_AUTO_TEST_CASE(a_mixed_precision_takes_defaults_for_what_is_left_out) {
  using bare = precision::mixed<weights<q4_1>>;
  BOOST_TEST((std::same_as<bare::activation, int8>));
  BOOST_TEST((std::same_as<bare::key, f16>));
  BOOST_TEST((std::same_as<bare::value, f16>));
  BOOST_TEST(precision::from_file::weight_formats::count == 6u);
  BOOST_TEST((precision::mixed<weights<q8_0>, activations<bf16>, kv<f32, bf16>>::name.view()) ==
             "weights q8_0, activations bf16, kv f32/bf16");
}

BOOST_AUTO_TEST_CASE(sampling_presets_are_the_orders_of_their_engines) {
  BOOST_TEST(sampling::like_vllm::name.view() == "chain<temperature, min_p, top_k, top_p>");
  BOOST_TEST(sampling::like_hf::name.view() == "chain<temperature, top_k, top_p, min_p>");
  BOOST_TEST(sampling::like_sglang::name.view() == "chain<temperature, top_k, top_p, min_p>");
  BOOST_TEST(sampling::like_llama_cpp::name.view() == "chain<top_k, top_p, min_p, temperature>");
  BOOST_TEST(sampling::like_openvino::name.view() == "chain<top_k, temperature, min_p, top_p>");
}

BOOST_AUTO_TEST_CASE(key_value_bytes_are_a_constant_of_a_fixed_shape) {
  using fp16 = engine<fixed_7b, precision::mixed<weights<f16>, kv<f16>>>;
  static_assert(fp16::kv_bytes_per_token() == 512 * 1024);  // 2 x 32 layers x 32 heads x 128 x 2 bytes
  static_assert(engine<fixed_7b, precision::fp32>::kv_bytes_per_token() == 1024 * 1024);
  static_assert(engine<fixed_7b, precision::mixed<kv<f32, f16>>>::kv_bytes_per_token() == 768 * 1024);
  // Grouped queries: 3 of 9 heads are kept, 22.5 KiB a token.
  static_assert(engine<model::llama>::kv_bytes_per_token(smollm) == 23040);
  BOOST_TEST(fp16::kv_bytes_per_token() == fp16::kv_bytes_per_token(llama_7b));
}

BOOST_AUTO_TEST_CASE(parameters_count_every_weight_once) {
  static_assert(smollm.parameters() == 134'515'008);
  static_assert(llama_7b.parameters() == 6'738'415'616);
  model::shape untied = smollm;
  untied.tied_output = false;
  BOOST_TEST(untied.parameters() == smollm.parameters() + 49152u * 576u);
}

BOOST_AUTO_TEST_SUITE_END()
