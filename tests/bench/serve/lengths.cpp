#include "serve/lengths.hpp"

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <map>
#include <string>

using serve::length_model;

namespace {

/// The mean of a curve's lengths.
double mean(const serve::quantile_curve& curve) {
  constexpr int count = 100'000;
  double sum = 0;
  for (int i = 0; i < count; ++i) sum += curve.at((i + 0.5) / count);
  return sum / count;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(lengths)

BOOST_AUTO_TEST_CASE(a_published_trace_has_its_quantiles) {
  const length_model code = length_model::parse("azure_code");
  const std::map<double, double> quantiles = {{0.05, 75},  {0.25, 578},  {0.5, 1469}, {0.75, 2744},
                                              {0.9, 5187}, {0.95, 7303}, {0.99, 7436}};
  for (const auto& [share, length] : quantiles) BOOST_TEST(std::abs(code.input.at(share) - length) < 1e-9);
  BOOST_TEST(code.input.at(0) == 1);
  BOOST_TEST(code.input.at(1) == 7436);
  BOOST_TEST(std::abs(code.output.at(0.625) - 18.5) < 1e-9);  // between 13 and 24
}

// Straight lines between quantiles come within a twentieth of the means that the traces really have.
BOOST_AUTO_TEST_CASE(a_published_trace_has_nearly_its_mean) {
  const struct {
    const char* name;
    double input, output;
  } traces[] = {{"azure_code", 2048, 28},
                {"azure_conv", 1155, 211},
                {"mooncake_conversation", 12035, 343},
                {"mooncake_synthetic", 15325, 149},
                {"arxiv_summarization", 2588, 291}};
  for (const auto& trace : traces) {
    const length_model model = length_model::parse(trace.name);
    BOOST_TEST(std::abs(mean(model.input) / trace.input - 1) < 0.05);
    BOOST_TEST(std::abs(mean(model.output) / trace.output - 1) < 0.05);
  }
}

BOOST_AUTO_TEST_CASE(fixed_lengths_are_fixed) {
  const length_model fixed = length_model::parse("fixed:128:32");
  for (const double share : {0.0, 0.3, 1.0}) {
    BOOST_TEST(fixed.input.at(share) == 128);
    BOOST_TEST(fixed.output.at(share) == 32);
  }
}

BOOST_AUTO_TEST_CASE(uniform_lengths_are_equally_likely) {
  const length_model uniform = length_model::parse("uniform:3-5:7-7");
  std::map<double, int> counts;
  for (int i = 0; i < 3000; ++i) ++counts[std::round(uniform.input.at((i + 0.5) / 3000))];
  BOOST_TEST(counts.size() == 3u);
  for (const double length : {3.0, 4.0, 5.0}) BOOST_TEST(counts[length] == 1000);
  BOOST_TEST(std::round(uniform.output.at(0)) == 7);
  BOOST_TEST(std::round(uniform.output.at(0.999)) == 7);
}

BOOST_AUTO_TEST_CASE(what_names_no_lengths_is_refused_with_what_does) {
  for (const char* text : {"", "azure", "fixed", "fixed:1", "fixed:0:1", "fixed:1:2:3", "fixed:1:x",
                           "fixed:-1:1", "uniform:1:2", "uniform:2-1:1-1", "uniform:1-2", "uniform:1-2-3:1-2",
                           "fixed:99999999999:1", "fixed:1.5:2", "azure_code:1"}) {
    BOOST_CHECK_EXCEPTION(length_model::parse(text), serve::bad_input, [&](const serve::bad_input& fault) {
      const std::string what = fault.what();
      return what.find(std::string("'") + text + "'") != std::string::npos &&
             what.find("azure_conv") != std::string::npos && what.find("fixed:IN:OUT") != std::string::npos;
    });
  }
}

BOOST_AUTO_TEST_SUITE_END()
