#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/policy/sampling.hpp>
#include <tenon/sample/fields.hpp>
#include <tenon/sample/params.hpp>
#include <tenon/sample/validate.hpp>

namespace sampling = tenon::sampling;

namespace {

using all = sampling::like_vllm;
using two = sampling::chain<sampling::temperature, sampling::top_p>;

template <class Policy>
std::string names_of() {
  std::string names;
  sampling::params<Policy> p;
  sampling::for_each_field(p, [&](std::string_view name, auto&) { names += std::string(name) + " "; });
  return names;
}

// What a function of the engine looks like to its callers.
float temperature_given(std::string_view, const sampling::params<two>& request) {
  return request.temperature;
}

// The message of the request_error, or "" when there is none.
template <class F>
std::string refusal(F f) {
  try {
    f();
  } catch (const tenon::request_error& e) {
    return e.what();
  }
  return "";
}

std::string refusal_of(const sampling::params<all>& request) {
  return refusal([&] { sampling::validate(request); });
}

bool says(const std::string& message, std::string_view part) {
  return message.find(part) != std::string::npos;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(params)

static_assert(std::is_aggregate_v<sampling::params<all>>);
static_assert(std::is_aggregate_v<sampling::params<sampling::greedy>>);
static_assert(std::is_same_v<decltype(sampling::params<two>::top_p), float>);
static_assert(std::is_empty_v<decltype(sampling::params<two>::top_k)>);
static_assert(std::is_empty_v<decltype(sampling::params<sampling::greedy>::temperature)>);
// What is missing takes no room: beside the four numbers there are two more differences of alignment at most.
static_assert(sizeof(sampling::params<sampling::greedy>) + 4 * sizeof(float) <=
              sizeof(sampling::params<all>));

BOOST_AUTO_TEST_CASE(defaults_are_vllms) {
  const sampling::params<all> p;
  BOOST_TEST(p.temperature == 1.0f);
  BOOST_TEST(p.top_k == 0);
  BOOST_TEST(p.top_p == 1.0f);
  BOOST_TEST(p.min_p == 0.0f);
  BOOST_TEST(!p.seed.has_value());
  BOOST_TEST(p.max_tokens == 16);
  BOOST_TEST(p.min_tokens == 0);
  BOOST_TEST(p.stop.empty());
  BOOST_TEST(p.stop_token_ids.empty());
  BOOST_TEST(p.n == 1);
  BOOST_TEST(p.priority == 0);
  BOOST_TEST(p.client == 0u);
  BOOST_TEST(p.timeout == 0.0);
  BOOST_TEST(!p.ignore_eos);
  BOOST_TEST(refusal_of(p) == "");
}

BOOST_AUTO_TEST_CASE(fields_are_given_by_name_in_order) {
  const sampling::params<all> p{.temperature = 0.8f,
                                .top_k = 40,
                                .top_p = 0.95f,
                                .min_p = 0.05f,
                                .seed = 7,
                                .custom = {},
                                .max_tokens = 64,
                                .min_tokens = 0,
                                .stop = {"\n"},
                                .stop_token_ids = {},
                                .ignore_eos = false};
  BOOST_TEST(p.top_k == 40);
  BOOST_TEST(*p.seed == 7u);
  BOOST_TEST(p.stop == std::vector<std::string>{"\n"}, boost::test_tools::per_element());
  BOOST_TEST(temperature_given("x", {.temperature = 0.8f, .max_tokens = 8}) == 0.8f);
  BOOST_TEST(temperature_given("x", {}) == 1.0f);
}

BOOST_AUTO_TEST_CASE(the_list_of_fields_is_what_the_stages_read) {
  BOOST_TEST(names_of<all>() ==
             "temperature top_k top_p min_p seed max_tokens min_tokens stop stop_token_ids n priority client "
             "timeout ignore_eos ");
  BOOST_TEST(names_of<two>() ==
             "temperature top_p seed max_tokens min_tokens stop stop_token_ids n priority client timeout "
             "ignore_eos ");
  BOOST_TEST(names_of<sampling::greedy>() ==
             "seed max_tokens min_tokens stop stop_token_ids n priority client timeout ignore_eos ");
}

BOOST_AUTO_TEST_CASE(fields_are_set_by_name_at_run_time) {
  sampling::params<all> p;
  sampling::set_field(p, "temperature", 0.5);
  sampling::set_field(p, "top_p", 1);
  sampling::set_field(p, "top_k", 40.0);
  sampling::set_field(p, "seed", (std::numeric_limits<std::uint64_t>::max)());
  sampling::set_field(p, "max_tokens", std::int64_t{77});
  sampling::set_field(p, "stop", std::vector<std::string>{"a", "b"});
  sampling::set_field(p, "stop_token_ids", std::vector<std::int64_t>{1, 2});
  sampling::set_field(p, "ignore_eos", true);
  BOOST_TEST(p.temperature == 0.5f);
  BOOST_TEST(p.top_k == 40);
  BOOST_TEST(*p.seed == (std::numeric_limits<std::uint64_t>::max)());
  BOOST_TEST(p.max_tokens == 77);
  BOOST_TEST(p.stop.size() == 2u);
  BOOST_TEST(p.stop_token_ids.back() == 2);
  BOOST_TEST(p.ignore_eos);
  sampling::set_field(p, "seed", nullptr);
  BOOST_TEST(!p.seed.has_value());
  sampling::set_field(p, "stop", "END");
  BOOST_TEST(p.stop == std::vector<std::string>{"END"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(an_unknown_field_is_refused_with_the_list_of_fields) {
  sampling::params<two> p;
  BOOST_TEST(refusal([&] { sampling::set_field(p, "top_x", 1); }) ==
             "no parameter 'top_x'; this engine has: temperature, top_p, seed, max_tokens, min_tokens, stop, "
             "stop_token_ids, n, priority, client, timeout, ignore_eos");
  BOOST_TEST(says(refusal([&] { sampling::set_field(p, "top_k", 1); }), "no parameter 'top_k'"));
  BOOST_TEST(says(refusal([&] { sampling::set_field(p, "", 1); }), "no parameter ''"));
}

BOOST_AUTO_TEST_CASE(a_value_of_the_wrong_kind_is_refused) {
  sampling::params<all> p;
  const auto refused = [&](std::string_view name, const auto& value) {
    return refusal([&] { sampling::set_field(p, name, value); });
  };
  BOOST_TEST(says(refused("top_k", "40"), "parameter 'top_k' wants a whole number"));
  BOOST_TEST(says(refused("top_k", 0.5), "not 0.5"));
  BOOST_TEST(says(refused("top_k", 3e9), "wants a whole number from -2147483648 to 2147483647"));
  BOOST_TEST(says(refused("top_k", std::int64_t{1} << 40), "not 1099511627776"));
  BOOST_TEST(says(refused("top_k", std::nan("")), "whole number"));
  BOOST_TEST(says(refused("top_k", true), "whole number"));
  BOOST_TEST(says(refused("top_k", nullptr), "whole number"));
  BOOST_TEST(says(refused("seed", -1), "parameter 'seed' wants a whole number from 0"));
  BOOST_TEST(says(refused("seed", 0x1p64), "whole number from 0"));
  BOOST_TEST(says(refused("temperature", "hot"), "parameter 'temperature' wants a number"));
  BOOST_TEST(says(refused("temperature", false), "wants a number"));
  BOOST_TEST(says(refused("ignore_eos", 1), "parameter 'ignore_eos' wants true or false"));
  BOOST_TEST(says(refused("stop", 1), "parameter 'stop' wants a string or a list of strings"));
  BOOST_TEST(says(refused("stop", std::vector<int>{1}), "parameter 'stop' wants a string"));
  BOOST_TEST(says(refused("stop_token_ids", "x"), "wants a list of whole numbers"));
  BOOST_TEST(p.top_k == 0);
  BOOST_TEST(p.stop.empty());
}

BOOST_AUTO_TEST_CASE(values_out_of_range_are_refused_with_field_value_and_range) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  BOOST_TEST(says(refusal_of({.temperature = -0.5f}), "temperature is -0.5: it must be a number from 0 up"));
  BOOST_TEST(says(refusal_of({.temperature = nan}), "temperature is nan"));
  BOOST_TEST(says(refusal_of({.temperature = infinity}), "temperature is inf"));
  BOOST_TEST(says(refusal_of({.top_k = -2}), "top_k is -2: it must be 1 or more, or 0 or -1"));
  BOOST_TEST(says(refusal_of({.top_p = 0}), "top_p is 0: it must be above 0 and at most 1"));
  BOOST_TEST(says(refusal_of({.top_p = 0}), "for the best token alone use temperature 0"));
  BOOST_TEST(says(refusal_of({.top_p = 1.5f}), "top_p is 1.5"));
  BOOST_TEST(says(refusal_of({.top_p = nan}), "top_p is nan"));
  BOOST_TEST(says(refusal_of({.min_p = -0.1f}), "min_p is -0.1: it must be from 0 to 1"));
  BOOST_TEST(says(refusal_of({.min_p = 1.1f}), "min_p is 1.1"));
  BOOST_TEST(says(refusal_of({.min_p = nan}), "min_p is nan"));
  BOOST_TEST(says(refusal_of({.max_tokens = 0}), "max_tokens is 0: it must be 1 or more"));
  BOOST_TEST(says(refusal_of({.max_tokens = -5}), "max_tokens is -5"));
  BOOST_TEST(says(refusal_of({.min_tokens = -1}), "min_tokens is -1: it must be 0 or more"));
  BOOST_TEST(says(refusal_of({.max_tokens = 4, .min_tokens = 5}),
                  "min_tokens is 5: it must be at most max_tokens, which is 4"));
  BOOST_TEST(says(refusal_of({.n = 0}), "n is 0: it must be from 1 to 1024"));
  BOOST_TEST(says(refusal_of({.n = 1025}), "n is 1025"));
  BOOST_TEST(says(refusal_of({.timeout = -1}), "timeout is -1.0"));
  BOOST_TEST(says(refusal_of({.timeout = static_cast<double>(nan)}), "timeout is nan"));
  BOOST_TEST(says(refusal_of({.stop = {"a", ""}}), "stop has an empty string"));
  BOOST_TEST(says(refusal_of({.stop_token_ids = {3, -4}}), "stop_token_ids is -4"));
}

BOOST_AUTO_TEST_CASE(values_at_the_ends_of_their_ranges_pass) {
  BOOST_TEST(
      refusal_of({.temperature = 0, .top_k = -1, .top_p = 1, .min_p = 1, .max_tokens = 1, .min_tokens = 1}) ==
      "");
  BOOST_TEST(refusal_of({.temperature = 1e30f, .top_k = 2147483647, .top_p = 1e-30f, .min_p = 0}) == "");
}

BOOST_AUTO_TEST_SUITE_END()
