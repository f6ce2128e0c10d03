// Every rule about which policies go together, as a value. The same sentences as build errors are in
// tests/must_fail.
#include <tenon/cache/paged.hpp>
#include <tenon/engine.hpp>

#include <boost/test/unit_test.hpp>

#include <set>
#include <string>
#include <string_view>

namespace {

using namespace tenon;
using policy::rule;

struct number {};  // no policy at all
struct flavour {};
struct in_unknown_slot {
  using slot = flavour;
  static constexpr auto name = fixed_string("vanilla");
};

/// A policy that has its slot and its name, and nothing that the slot asks for.
template <class Slot>
struct bare {
  using slot = Slot;
  static constexpr auto name = fixed_string("bare");
};

constexpr model::shape sized(std::size_t heads, std::size_t kv_heads, std::size_t head_dim) {
  return {.layers = 2,
          .hidden = 64,
          .heads = heads,
          .kv_heads = kv_heads,
          .head_dim = head_dim,
          .rotated = head_dim,
          .feed_forward = 96,
          .vocabulary = 300,
          .context = 128};
}
template <model::shape Shape>
using fixed = model::fixed_shape<model::llama, Shape>;

template <rule Expected, class... Ps>
void breaks() {
  static_assert(policy::broken_rule<Ps...> == Expected);
  BOOST_TEST(why_not<Ps...> == policy::sentence(Expected));
  BOOST_TEST(why_not<Ps...>.starts_with("tenon: "));
}

template <class... Ps>
void works() {
  static_assert(policy::broken_rule<Ps...> == rule::none);
  BOOST_TEST(why_not<Ps...>.empty());
}

constexpr int rules = static_cast<int>(rule::none);

}  // namespace

BOOST_AUTO_TEST_SUITE(check)

BOOST_AUTO_TEST_CASE(what_works_has_no_reason_against_it) {
  works<model::llama>();
  works<sampling::greedy, model::llama, cache::contiguous>();
  works<fixed<sized(4, 2, 16)>, precision::mixed<weights<q4_1>>>();
  works<fixed<sized(4, 4, 18)>, precision::mixed<weights<q4_1, f16>>>();  // rows of 72, in F16
}

BOOST_AUTO_TEST_CASE(what_is_no_policy_is_refused) {
  breaks<rule::not_a_policy, model::llama, number>();
  breaks<rule::not_a_policy, int>();
  breaks<rule::unknown_slot, model::llama, in_unknown_slot>();
}

BOOST_AUTO_TEST_CASE(two_policies_for_one_slot_are_refused) {
  using m = model::llama;
  breaks<rule::two_models, m, m>();
  breaks<rule::two_models, m, fixed<sized(4, 2, 16)>>();
  breaks<rule::two_backends, backend::host, m, backend::basic_host<isa::portable>>();
  breaks<rule::two_precisions, precision::fp32, m, precision::from_file>();
  breaks<rule::two_caches, m, cache::contiguous, cache::contiguous>();
  breaks<rule::two_samplings, m, sampling::greedy, sampling::chain<>>();
  breaks<rule::two_batchings, m, batching::static_batch<1>, batching::static_batch<2>>();
  breaks<rule::two_reductions, m, reduction::fixed, reduction::fixed>();
  breaks<rule::two_executions, m, execution::eager, execution::eager>();
  breaks<rule::two_speculations, m, speculation::none, speculation::none>();
  breaks<rule::two_parallelisms, m, parallelism::single, parallelism::single>();
  breaks<rule::two_instrumentations, m, instrumentation::none, instrumentation::none>();
}

BOOST_AUTO_TEST_CASE(a_policy_that_lacks_a_member_is_refused) {
  using m = model::llama;
  breaks<rule::no_model>();
  breaks<rule::no_model, sampling::greedy>();
  breaks<rule::model_lacks, bare<slot::model>>();
  breaks<rule::backend_lacks, m, bare<slot::backend>>();
  breaks<rule::precision_lacks, m, bare<slot::precision>>();
  breaks<rule::cache_lacks, m, bare<slot::cache>>();
  breaks<rule::sampling_lacks, m, bare<slot::sampling>>();
  breaks<rule::batching_lacks, m, bare<slot::batching>>();
}

BOOST_AUTO_TEST_CASE(formats_that_have_no_kernels_are_refused) {
  using m = model::llama;
  breaks<rule::no_weights, m, precision::mixed<weights<>>>();
  breaks<rule::activation_format, m, precision::mixed<activations<q8_0>>>();
  breaks<rule::kv_format, m, precision::mixed<kv<q4_1>>>();
  breaks<rule::kv_format, m, precision::mixed<kv<f16, q4_0>>>();
}

BOOST_AUTO_TEST_CASE(a_batch_of_none_is_refused) {
  breaks<rule::empty_batch, model::llama, batching::static_batch<0>>();
  using swapping =
      batching::continuous<batching::queue::fcfs, batching::prefill::chunked<>, batching::preemption::swap<>>;
  breaks<rule::nowhere_to_swap, model::llama, swapping>();
  breaks<rule::nowhere_to_swap, model::llama, swapping, cache::contiguous>();
  works<model::llama, swapping, cache::paged<16>>();
}

BOOST_AUTO_TEST_CASE(shapes_that_cannot_be_computed_are_refused) {
  breaks<rule::shape_heads, fixed<sized(4, 3, 16)>>();
  breaks<rule::shape_heads, fixed<sized(4, 0, 16)>>();
  breaks<rule::shape_heads, fixed<sized(2, 4, 16)>>();
  breaks<rule::shape_blocks, fixed<sized(4, 4, 18)>, precision::mixed<weights<q4_1, q8_0>>>();
}

BOOST_AUTO_TEST_CASE(the_first_broken_rule_is_the_one_that_is_told) {
  breaks<rule::not_a_policy, number, model::llama, model::llama, in_unknown_slot>();
  breaks<rule::two_models, model::llama, model::llama, bare<slot::cache>>();
  breaks<rule::no_model, bare<slot::cache>>();
}

BOOST_AUTO_TEST_CASE(every_rule_has_a_sentence_of_its_own_that_says_what_to_do) {
  std::set<std::string_view> sentences;
  for (int i = 0; i < rules; ++i) {
    const std::string_view text = policy::sentence(static_cast<rule>(i));
    BOOST_TEST(text.starts_with("tenon: "));
    BOOST_TEST(text.find('`') == std::string_view::npos);  // some compilers print it as a question mark
    BOOST_TEST(sentences.insert(text).second);
  }
  BOOST_TEST(policy::sentence(rule::none).empty());
}

BOOST_AUTO_TEST_SUITE_END()
