// RMS norm on the device, in every form that a product reads.
#include <boost/test/unit_test.hpp>

#include <cmath>
#include <limits>
#include <string>

#include "backend/cuda/forms.hpp"
#include "reference/inputs.hpp"
#include "reference/ops.hpp"
#include "reference/tolerance.hpp"

using namespace tenon;

namespace {

/// Around what four values a thread, a group of 32, a record of 128 and a block's 1024 are.
constexpr std::size_t awkward_widths[] = {4,    28,   32,   36,   64,   128,  132, 576,
                                          1020, 1024, 1028, 2052, 4096, 4100, 8196};

/// Which groups stand out from their row, but for those too near the limit to tell.
std::string fault_of_refinement(const test::cuda_activations& x, std::size_t tokens, std::size_t width) {
  for (std::size_t token = 0; token < tokens; ++token) {
    const float* row = x.values.data() + token * x.stride;
    double squares = 0;
    for (std::size_t i = 0; i < width; ++i)
      squares += static_cast<double>(row[i]) * static_cast<double>(row[i]);
    const double limit = 4 * std::sqrt(squares / static_cast<double>(width));
    for (std::size_t first = 0; first < x.stride; first += 32) {
      double peak = 0;
      for (std::size_t i = first; i < first + 32; ++i)
        peak = std::max(peak, std::fabs(static_cast<double>(row[i])));
      if (std::fabs(peak - limit) < 1e-4 * limit) continue;
      if ((x.refined[(token * x.stride + first) / 32] != 0) != (peak > limit))
        return "token " + std::to_string(token) + ", column " + std::to_string(first);
    }
  }
  return "";
}

}  // namespace

BOOST_AUTO_TEST_SUITE(norm)

BOOST_AUTO_TEST_CASE(a_norm_is_within_its_bound_in_every_form) {
  constexpr std::size_t tokens = 3;
  std::size_t refined = 0;
  for (const std::size_t width : awkward_widths) {
    for (const float epsilon : {1e-5f, 1e-1f}) {
      BOOST_TEST_CONTEXT("width " << width << ", epsilon " << epsilon) {
        const std::vector<float> x = reference::activation_values(tokens * width, width);
        const std::vector<float> weight = reference::uniform_values(width, -2, 2, width + 1);
        const test::cuda_activations seen = test::cuda_norm(x, {}, tokens, weight, epsilon);
        std::size_t faults = 0;
        for (std::size_t token = 0; token < tokens; ++token) {
          const auto row = reference::rms_norm(std::span(x).subspan(token * width, width), weight,
                                               static_cast<double>(epsilon));
          for (std::size_t i = 0; i < width; ++i) {
            const double off =
                static_cast<double>(seen.values[token * seen.stride + i]) - static_cast<double>(row[i]);
            faults += !(std::fabs(off) <= reference::rms_norm_tolerance(width, row[i]));
          }
        }
        BOOST_TEST(faults == 0u);
        BOOST_TEST(test::fault_of_forms(seen, tokens, width) == "");
        BOOST_TEST(fault_of_refinement(seen, tokens, width) == "");
        for (const std::uint8_t flag : seen.refined) refined += flag;
      }
    }
  }
  BOOST_TEST(refined > 100u);  // else nothing was tried
}

BOOST_AUTO_TEST_CASE(rows_are_picked_in_any_order) {
  constexpr std::size_t tokens = 5, width = 132;
  const std::vector<float> x = reference::activation_values(tokens * width, 1);
  const std::vector<float> weight = reference::uniform_values(width, -2, 2, 2);
  const test::cuda_activations all = test::cuda_norm(x, {}, tokens, weight, 1e-5f);
  const std::vector<int> rows = {4, 0, 4};
  const test::cuda_activations picked = test::cuda_norm(x, rows, rows.size(), weight, 1e-5f);
  for (std::size_t i = 0; i < picked.values.size(); ++i) {
    const std::size_t row = static_cast<std::size_t>(rows[i / picked.stride]);
    BOOST_TEST(picked.values[i] == all.values[row * all.stride + i % picked.stride]);
    BOOST_TEST(picked.quanta[i] == all.quanta[row * all.stride + i % picked.stride]);
  }
}

BOOST_AUTO_TEST_CASE(a_row_of_nan_or_infinity_gives_nan_scales_and_leaves_the_others_alone) {
  constexpr std::size_t tokens = 3, width = 160;
  const std::vector<float> good = reference::activation_values(tokens * width, 3);
  const std::vector<float> weight(width, 1.0f);
  const test::cuda_activations expected = test::cuda_norm(good, {}, tokens, weight, 1e-5f);
  for (const float broken : {std::nanf(""), HUGE_VALF, -HUGE_VALF}) {
    std::vector<float> x = good;
    x[width + 7] = broken;
    const test::cuda_activations seen = test::cuda_norm(x, {}, tokens, weight, 1e-5f);
    for (std::size_t token : {0u, 2u}) {
      for (std::size_t i = 0; i < width; ++i)
        BOOST_TEST(seen.values[token * seen.stride + i] == expected.values[token * seen.stride + i]);
    }
    BOOST_TEST(std::isnan(seen.values[seen.stride + 7]));
    BOOST_TEST(std::isnan(seen.scales[seen.stride / 32]));
  }
}

BOOST_AUTO_TEST_SUITE_END()
