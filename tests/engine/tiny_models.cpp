// Eight small models with the head sizes, head ratios and vocabularies that break kernels, through whole
// engines: logits and greedy tokens against an independent fp32 forward pass.
#include "engine/tiny_check.hpp"
#include "support/json.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

TENON_INSTANTIATE(tenon::test::fp32_engine);

namespace {

using namespace tenon;
using namespace tenon::test;

using portable_engine = fp32_engine::with<backend::basic_host<isa::portable>>;
using kv16_engine = fp32_engine::with<precision::mixed<activations<f32>, kv<f16, bf16>>>;

/// Rounding to bf16 moves values by up to 2^-9 of themselves, and a layer's contribution by no more than that
/// share of the largest value; logits here are below 16, and 16 x 2^-9 = 2^-5 is what arrives there from each of
/// at most three layers. Keys in f16 move the softmax's weights besides: scores of some 16 by 2^-12 of their terms,
/// weights by 2^-7 at worst, were all terms of one sign and all errors at their limit. They are not (the products of
/// a head have both signs and errors are independent), so that stays inside the same bound: what is seen is 0.04.
/// The worst case of each head, keys included, is held by conformance/attention.
constexpr double kv16_bound = fp32_bound + 3 * 0x1p-5;

}  // namespace

BOOST_AUTO_TEST_SUITE(tiny_models)

BOOST_AUTO_TEST_CASE(fp32_gives_the_listed_logits_and_tokens) { check_models<fp32_engine>(fp32_bound); }

BOOST_AUTO_TEST_CASE(the_portable_kernels_give_them_too) { check_models<portable_engine>(fp32_bound); }

BOOST_AUTO_TEST_CASE(keys_and_values_in_16_bits_give_them_within_their_rounding) {
  check_models<kv16_engine>(kv16_bound);
}

BOOST_AUTO_TEST_CASE(every_listed_token_leads_by_more_than_fp32_can_move) {
  const json models = load_json("tiny_expected.json").at("models");
  for (const auto& [name, expected] : models.items()) {
    for (const double gap : numbers<double>(expected.at("gaps8"))) BOOST_TEST(gap > 2 * fp32_bound, name);
  }
}

BOOST_AUTO_TEST_SUITE_END()
