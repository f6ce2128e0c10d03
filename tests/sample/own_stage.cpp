// Stages written as a user writes them, outside the library.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/sample/fields.hpp>
#include <tenon/sample/sampler.hpp>
#include <tenon/sample/validate.hpp>

namespace sampling = tenon::sampling;

namespace {

// Top-n-sigma (Tang et al. 2024): keeps logits within n standard deviations of the best.
struct top_n_sigma {
  static constexpr auto name = tenon::fixed_string("top_n_sigma");
  static constexpr bool keeps_best = true;

  struct params {
    float n = 1.0f;

    template <class Self, class F>
    static void for_each_field(Self& self, F&& f) {
      f("n", self.n);
    }
  };

  static void apply(sampling::candidates& c, const params& p) {
    double sum = 0, squares = 0;
    for (const float logit : c.logits()) sum += static_cast<double>(logit);
    const double mean = sum / static_cast<double>(c.size());
    for (const float logit : c.logits()) squares += std::pow(static_cast<double>(logit) - mean, 2);
    c.keep_within(static_cast<double>(p.n) * std::sqrt(squares / static_cast<double>(c.size())));
  }

  static void validate(const params& p) {
    if (!(p.n >= 0)) throw tenon::request_error("n is " + std::to_string(p.n) + ": it must be 0 or more");
  }
};

// Locally typical sampling (Meister et al. 2022): keeps the tokens whose surprise is nearest to the expected
// one.
struct typical {
  static constexpr auto name = tenon::fixed_string("typical");

  struct params {
    float mass = 1.0f;
  };

  static void apply(sampling::candidates& c, const params& p) {
    double entropy = 0;
    for (std::size_t i = 0; i < c.size(); ++i) entropy -= c.probability(i) * std::log(c.probability(i));
    const auto distance = [&](std::size_t i) { return std::abs(-std::log(c.probability(i)) - entropy); };
    double sum = 0, furthest = 0;
    for (const std::uint32_t i : c.order_by(distance)) {
      if (sum >= static_cast<double>(p.mass)) break;
      sum += c.probability(i);
      furthest = distance(i);
    }
    c.keep_if([&](std::size_t i) { return distance(i) <= furthest; });
  }
};

// A bias on one token; reads nothing from the request and edits logits.
template <tenon::token_id Id, int Bias>
struct biased {
  static constexpr auto name = tenon::fixed_string("biased");
  static void apply(sampling::candidates& c) {
    const auto logits = c.edit_logits();
    for (std::size_t i = 0; i < c.size(); ++i) {
      if (c.ids()[i] == Id) logits[i] += static_cast<float>(Bias);
    }
  }
};

// Reads a field of the request, as built-in stages do.
struct never_best_when_hot {
  static constexpr auto name = tenon::fixed_string("never_best_when_hot");
  static constexpr auto reads = sampling::field::temperature;
  static void apply(sampling::candidates& c, const auto& request) {
    if (request.temperature <= 1) return;
    const float best = c.best_logit();
    const auto logits = c.logits();
    c.keep_if([&](std::size_t i) { return logits[i] < best; });
  }
};

enum class wrong { nan, drop_all, minus_inf };
template <wrong W>
struct broken {
  static constexpr auto name = tenon::fixed_string("broken");
  static void apply(sampling::candidates& c) {
    if (W == wrong::drop_all) return c.keep_if([](std::size_t) { return false; });
    for (float& logit : c.edit_logits()) {
      logit =
          W == wrong::nan ? std::numeric_limits<float>::quiet_NaN() : -std::numeric_limits<float>::infinity();
    }
  }
};

const std::vector<float> row{std::log(0.5f), std::log(0.25f), std::log(0.125f), std::log(0.125f)};

template <class Policy>
std::vector<tenon::token_id> kept(const sampling::params<Policy>& request) {
  sampling::scratch memory(row.size());
  BOOST_REQUIRE((sampling::sampler<Policy>::prepare(row, request, 0, 0, memory) == sampling::fault::none));
  return {memory.ids().begin(), memory.ids().end()};
}

template <class Policy>
sampling::result sampled(const sampling::params<Policy>& request) {
  sampling::scratch memory(row.size());
  return sampling::sampler<Policy>::sample(row, request, 0, 0, memory);
}

using ids = std::vector<tenon::token_id>;

}  // namespace

BOOST_AUTO_TEST_SUITE(own_stage)

BOOST_AUTO_TEST_CASE(its_parameters_are_given_by_name) {
  using policy = sampling::chain<top_n_sigma, sampling::temperature>;
  // The logits' standard deviation is 0.574; the second is 0.69 below the best, the others 1.39.
  BOOST_TEST(kept<policy>({.temperature = 1, .custom = {{.n = 1}}}) == (ids{0}),
             boost::test_tools::per_element());
  BOOST_TEST(kept<policy>({.temperature = 1, .custom = {{.n = 2}}}) == (ids{0, 1}),
             boost::test_tools::per_element());
  BOOST_TEST(kept<policy>({.custom = {{.n = 3}}}) == (ids{0, 1, 2, 3}), boost::test_tools::per_element());
  BOOST_TEST(policy::name.view() == "chain<top_n_sigma, temperature>");
}

BOOST_AUTO_TEST_CASE(several_stand_beside_built_in_ones) {
  using policy = sampling::chain<sampling::top_k, typical, sampling::temperature, top_n_sigma>;
  const sampling::params<policy> request{.top_k = 3, .custom = {{.mass = 0.9f}, {.n = 9}}, .max_tokens = 4};
  BOOST_TEST(request.custom.mass == 0.9f);
  BOOST_TEST(request.custom.n == 9.0f);
  BOOST_TEST(kept(request) == (ids{0, 1, 2}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(typical_drops_the_best_when_it_is_not_typical) {
  using policy = sampling::chain<typical>;
  // Entropy 1.21; surprises 0.69, 1.39, 2.08, 2.08: the second is nearest, then the first.
  BOOST_TEST(kept<policy>({.custom = {{.mass = 0.2f}}}) == (ids{1}), boost::test_tools::per_element());
  BOOST_TEST(kept<policy>({.custom = {{.mass = 0.6f}}}) == (ids{0, 1}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(edited_logits_count_from_there_on) {
  using policy = sampling::chain<biased<3, 10>, sampling::top_k>;
  BOOST_TEST(kept<policy>({.top_k = 1}) == (ids{3}), boost::test_tools::per_element());
  using too_late = sampling::chain<sampling::top_k, biased<3, 10>>;
  BOOST_TEST(kept<too_late>({.top_k = 1}) == (ids{0}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(temperature_zero_takes_the_best_of_what_it_left) {
  using policy = sampling::chain<biased<2, 5>, sampling::temperature>;
  BOOST_TEST(sampled<policy>({.temperature = 0}).token == 2);
}

BOOST_AUTO_TEST_CASE(it_can_read_the_fields_of_the_request) {
  using policy = sampling::chain<never_best_when_hot>;
  BOOST_TEST(kept<policy>({.temperature = 1}).size() == 4u);
  BOOST_TEST(kept<policy>({.temperature = 2}) == (ids{1, 2, 3}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(its_mistakes_end_the_row_with_a_fault) {
  using sampling::fault;
  BOOST_TEST((sampled<sampling::chain<broken<wrong::nan>>>({}).fault == fault::nan_logits));
  BOOST_TEST((sampled<sampling::chain<broken<wrong::drop_all>>>({}).fault == fault::nothing_possible));
  BOOST_TEST((sampled<sampling::chain<broken<wrong::minus_inf>>>({}).fault == fault::nothing_possible));
  BOOST_TEST((sampled<sampling::chain<broken<wrong::drop_all>, sampling::top_p>>({.top_p = 0.5f}).fault ==
              fault::nothing_possible));
}

BOOST_AUTO_TEST_CASE(its_fields_are_listed_set_and_validated) {
  using policy = sampling::chain<top_n_sigma>;
  sampling::params<policy> request;
  sampling::set_field(request, "n", 2.5);
  BOOST_TEST(request.custom.n == 2.5f);
  sampling::validate(request);
  sampling::set_field(request, "n", -1);
  BOOST_CHECK_THROW(sampling::validate(request), tenon::request_error);
}

BOOST_AUTO_TEST_SUITE_END()
