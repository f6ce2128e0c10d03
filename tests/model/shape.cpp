#include "support/smollm_shape.hpp"

#include <tenon/format/all.hpp>
#include <tenon/model/llama.hpp>
#include <tenon/model/shape.hpp>

#include <boost/test/unit_test.hpp>

#include <string>

namespace {

using tenon::bf16, tenon::e4m3, tenon::f16, tenon::f32, tenon::q8_0;
using tenon::model::difference;

constexpr tenon::model::shape smollm = tenon::test::smollm_shape;

}  // namespace

BOOST_AUTO_TEST_SUITE(shape)

BOOST_AUTO_TEST_CASE(parameters_are_those_of_the_published_models) {
  BOOST_TEST(smollm.parameters() == 134'515'008u);
  // Llama 3 8B: grouped queries, an output matrix of its own.
  constexpr tenon::model::shape llama_3_8b = {.layers = 32,
                                              .hidden = 4096,
                                              .heads = 32,
                                              .kv_heads = 8,
                                              .head_dim = 128,
                                              .rotated = 128,
                                              .feed_forward = 14336,
                                              .vocabulary = 128256,
                                              .context = 8192};
  BOOST_TEST(llama_3_8b.parameters() == 8'030'261'248u);
  BOOST_TEST((llama_3_8b.kv_bytes_per_token<f16, f16>()) == 128u * 1024);
}

BOOST_AUTO_TEST_CASE(keys_and_values_of_a_token_count_key_value_heads) {
  BOOST_TEST((smollm.kv_bytes_per_token<f16, bf16>()) == 23040u);  // 2 x 30 x 3 x 64 values of 2 bytes
  BOOST_TEST((smollm.kv_bytes_per_token<f32, f32>()) == 46080u);
  BOOST_TEST((smollm.kv_bytes_per_token<f32, f16>()) == 34560u);
  BOOST_TEST((smollm.kv_bytes_per_token<e4m3, q8_0>()) == 30u * 3 * (64 + 2 * 34));
  constexpr tenon::model::shape odd = {.layers = 1, .kv_heads = 1, .head_dim = 80};
  BOOST_TEST((odd.kv_bytes_per_token<f16, q8_0>()) == 160u + 3 * 34);  // the last block is half full
}

BOOST_AUTO_TEST_CASE(difference_tells_the_first_size_that_differs) {
  BOOST_TEST(difference(smollm, smollm) == "");
  auto other = smollm;
  other.vocabulary = 49153;
  BOOST_TEST(difference(other, smollm) == "vocabulary is 49153 in the file and 49152 in the engine's type");
  other.layers = 2;
  BOOST_TEST(difference(other, smollm) == "layers is 2 in the file and 30 in the engine's type");
}

BOOST_AUTO_TEST_CASE(difference_sees_every_size_but_the_context) {
  using shape_type = tenon::model::shape;
  for (std::size_t shape_type::*size :
       {&shape_type::layers, &shape_type::hidden, &shape_type::heads, &shape_type::kv_heads,
        &shape_type::head_dim, &shape_type::rotated, &shape_type::feed_forward, &shape_type::vocabulary}) {
    auto other = smollm;
    ++(other.*size);
    BOOST_TEST(difference(other, smollm) != "");
  }
  auto other = smollm;
  other.tied_output = false;
  BOOST_TEST(difference(other, smollm) != "");
  other = smollm;
  other.context = 100;  // limits requests, not code
  BOOST_TEST(difference(other, smollm) == "");
}

BOOST_AUTO_TEST_SUITE_END()
