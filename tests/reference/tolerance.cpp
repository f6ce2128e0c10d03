// The derived bounds hold for plain fp32 code in any order of adding, and are tight enough to notice a fault.
#include "reference/tolerance.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "reference/inputs.hpp"
#include "tenon/format/all.hpp"

using namespace tenon;

namespace {

/// A dot product in fp32 with `lanes` partial sums, as a kernel of some vector width adds.
float float_dot(std::span<const float> a, std::span<const float> b, std::size_t lanes) {
  std::vector<float> partial(lanes, 0.0f);
  for (std::size_t i = 0; i < a.size(); ++i) partial[i % lanes] += a[i] * b[i];
  float sum = 0;
  for (const float part : partial) sum += part;
  return sum;
}

double difference(float a, double b) { return std::fabs(static_cast<double>(a) - b); }

}  // namespace

BOOST_AUTO_TEST_SUITE(tolerance)

BOOST_AUTO_TEST_CASE(an_fp32_dot_product_of_any_order_stays_within) {
  for (const std::size_t length : {1u, 31u, 576u, 4099u})
    for (const std::size_t lanes : {1u, 8u, 16u}) {
      const std::vector<float> a = reference::awkward_values(length, length);
      const std::vector<float> b = reference::activation_values(length, length + 1);
      const double bound = reference::dot_tolerance(length, reference::magnitude_sum(a, b));
      BOOST_TEST(difference(float_dot(a, b, lanes), reference::dot(a, b)) <= bound);
    }
}

BOOST_AUTO_TEST_CASE(a_dropped_term_of_ordinary_size_is_noticed) {
  const std::vector<float> a = reference::uniform_values(576, 0.5, 1, 1);
  const std::vector<float> b = reference::uniform_values(576, 0.5, 1, 2);
  const double all = reference::dot(a, b);
  const double without_last = reference::dot(std::span(a).first(575), std::span(b).first(575));
  BOOST_TEST(std::fabs(all - without_last) > reference::dot_tolerance(576, reference::magnitude_sum(a, b)));
}

BOOST_AUTO_TEST_CASE(rounding_one_operand_to_bf16_stays_within_its_bound_and_not_within_that_of_fp32) {
  const std::vector<float> w = reference::uniform_values(300, 0.1, 1, 3);
  const std::vector<float> x(300, 1.0f + 0x1p-8f);  // a tie: rounds down to 1 everywhere
  std::vector<float> rounded = x;
  for (float& value : rounded) value = bfloat_to_float(float_to_bfloat(value));
  const double error = difference(float_dot(w, rounded, 8), reference::dot(w, x));
  const double magnitude = reference::magnitude_sum(w, x);
  BOOST_TEST(error <= reference::dot_tolerance(300, magnitude, reference::unit_bf16));
  BOOST_TEST(error > reference::dot_tolerance(300, magnitude));
}

BOOST_AUTO_TEST_CASE(a_q4_1_product_with_int8_blocks_stays_within_although_its_terms_cancel) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    constexpr std::size_t length = 32 * 9;
    const std::vector<float> x = reference::activation_values(length, seed);
    const std::vector<std::byte> row =
        reference::encode_row<q4_1>(reference::uniform_values(length, 90, 110, seed + 50));
    const std::vector<float> w = reference::decoded<q4_1>(row);
    const std::vector<float> terms = reference::term_magnitudes<q4_1>(row);
    const reference::int8_row quantised = reference::quantise_int8(x);
    // as integer kernels do: d_w d_x sum(q_w q_x) + m_w d_x sum(q_x), block by block
    float sum = 0;
    for (std::size_t block = 0; block < length / 32; ++block) {
      std::uint16_t halves[2];
      std::memcpy(halves, row.data() + block * q4_1::block_bytes, sizeof halves);
      const float scale = half_to_float(halves[0]);
      const float minimum = half_to_float(halves[1]);
      int products = 0;
      int plain = 0;
      for (std::size_t i = block * 32; i < block * 32 + 32; ++i) {
        products += static_cast<int>(std::lround((w[i] - minimum) / scale)) * quantised.quant[i];
        plain += quantised.quant[i];
      }
      sum += scale * quantised.scale[block] * static_cast<float>(products);
      sum += minimum * quantised.scale[block] * static_cast<float>(plain);
    }
    const std::vector<float> same = reference::dequantise(quantised);
    const double sharp = reference::dot_tolerance(length, reference::magnitude_sum(terms, same));
    const double worst = reference::int8_dot_tolerance(w, terms, x);
    BOOST_TEST(difference(sum, reference::dot(w, same)) <= sharp);
    BOOST_TEST(difference(sum, reference::dot(w, x)) <= worst);
    BOOST_TEST(sharp < worst);
  }
}

BOOST_AUTO_TEST_CASE(rms_norm_rope_and_swiglu_in_fp32_stay_within) {
  const std::vector<float> x = reference::activation_values(577, 7);
  const std::vector<float> weight = reference::uniform_values(577, 0.5, 2, 8);
  const std::vector<float> expected = reference::rms_norm(x, weight, 1e-5);
  const float inverse = 1.0f / std::sqrt(float_dot(x, x, 1) / 577.0f + 1e-5f);
  for (std::size_t i = 0; i < x.size(); ++i)
    BOOST_TEST(difference(x[i] * inverse * weight[i], expected[i]) <=
               reference::rms_norm_tolerance(577, expected[i]));

  const reference::rope_shape shape{.head_size = 64, .rotated = 64};
  std::vector<float> turned(x.begin(), x.begin() + 64);
  reference::rope(turned, shape, 1234);
  for (std::size_t pair = 0; pair < 32; ++pair) {
    const float cosine = static_cast<float>(std::cos(reference::rope_angle(shape, pair, 1234)));
    const float sine = static_cast<float>(std::sin(reference::rope_angle(shape, pair, 1234)));
    const float a = x[2 * pair];
    const float b = x[2 * pair + 1];
    BOOST_TEST(difference(a * cosine - b * sine, turned[2 * pair]) <= reference::rope_tolerance(a, b));
    BOOST_TEST(difference(a * sine + b * cosine, turned[2 * pair + 1]) <= reference::rope_tolerance(a, b));
  }

  for (const float gate : {-200.0f, -90.0f, -87.0f, -3.0f, -0.0f, 1e-3f, 20.0f, 300.0f}) {
    const float up = 1.7f;
    const float result = reference::swiglu({&gate, 1}, {&up, 1})[0];
    const float seen = gate / (1.0f + std::exp(-gate)) * up;
    BOOST_TEST(difference(seen, result) <= reference::swiglu_tolerance(gate, up, result), "gate " << gate);
  }
}

BOOST_AUTO_TEST_CASE(softmax_in_fp32_stays_within_and_a_shifted_score_does_not) {
  const std::vector<float> x = reference::uniform_values(1000, -40, 40, 9);
  const std::vector<float> expected = reference::softmax(std::span<const float>(x));
  const float largest = *std::max_element(x.begin(), x.end());
  float sum = 0;
  for (const float value : x) sum += std::exp(value - largest);
  bool noticed = false;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double bound = reference::softmax_tolerance(x.size(), 80, expected[i]);
    BOOST_TEST(difference(std::exp(x[i] - largest) / sum, expected[i]) <= bound);
    noticed = noticed || difference(std::exp(x[i] + 1e-3f - largest) / sum, expected[i]) > bound;
  }
  BOOST_TEST(noticed);
}

BOOST_AUTO_TEST_CASE(online_attention_in_fp32_stays_within_and_one_position_too_few_does_not) {
  const reference::attention_shape shape{.heads = 3, .kv_heads = 1, .key_size = 64, .value_size = 64};
  for (const std::size_t visible : {1u, 2u, 17u, 257u}) {
    const std::vector<float> q = reference::activation_values(64, visible);
    const std::vector<float> k = reference::uniform_values(visible * 64, -1, 1, visible + 1);
    const std::vector<float> v = reference::uniform_values(visible * 64, -1, 1, visible + 2);
    const std::vector<float> expected = reference::attention_head(q, k, v, shape, 2, visible, 0.125);
    const std::vector<double> bound = reference::attention_tolerance(q, k, v, shape, 2, visible, 0.125);
    float largest = -std::numeric_limits<float>::infinity();
    float sum = 0;
    std::vector<float> seen(64, 0.0f);
    for (std::size_t position = 0; position < visible; ++position) {
      const float score = 0.125f * float_dot(q, std::span(k).subspan(position * 64, 64), 16);
      const float before = largest;
      largest = std::max(largest, score);
      const float shrink = std::exp(before - largest);
      const float weight = std::exp(score - largest);
      sum = sum * shrink + weight;
      for (std::size_t lane = 0; lane < 64; ++lane)
        seen[lane] = seen[lane] * shrink + weight * v[position * 64 + lane];
    }
    for (std::size_t lane = 0; lane < 64; ++lane)
      BOOST_TEST(difference(seen[lane] / sum, expected[lane]) <= bound[lane], "visible " << visible);
    if (visible == 1) continue;
    const std::vector<float> fewer = reference::attention_head(q, k, v, shape, 2, visible - 1, 0.125);
    bool noticed = false;
    for (std::size_t lane = 0; lane < 64; ++lane)
      noticed = noticed || difference(fewer[lane], expected[lane]) > bound[lane];
    BOOST_TEST(noticed, "visible " << visible);
  }
}

BOOST_AUTO_TEST_SUITE_END()
