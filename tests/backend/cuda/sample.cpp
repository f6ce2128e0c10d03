// Sampling on the device against sampling on the host, which is held against a reference in tests/sample.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "backend/cuda/sample_ops.hpp"
#include "tenon/sample/sampler.hpp"

using namespace tenon;
using sampling::fault;
using test::sample_row;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

enum class shape { normal, coarse, with_gaps, flat, peaked, high, sorted };

std::vector<float> random_row(std::size_t vocabulary, shape s, unsigned seed, float deviation = 3) {
  std::mt19937 bits(seed);
  std::normal_distribution<float> normal(0, s == shape::flat ? 0.01f : deviation);
  std::vector<float> row(vocabulary);
  for (float& x : row) {
    x = normal(bits);
    if (s == shape::coarse) x = std::round(x);  // many ties
    if (s == shape::with_gaps && bits() % 3 == 0) x = -infinity;
    if (s == shape::high) x += 1000;
  }
  if (s == shape::peaked) row[bits() % vocabulary] = 20;
  if (s == shape::with_gaps) row[bits() % vocabulary] = 1;  // at least one is possible
  if (s == shape::sorted) std::sort(row.begin(), row.end(), std::greater<float>());  // the best in one slice
  return row;
}

/// The row with a stride that is a multiple of 4; the padding is larger than any logit.
std::vector<float> padded(std::vector<float> row) {
  row.resize((row.size() + 3) / 4 * 4 + 4, 5000.0f);
  return row;
}

template <class Policy>
test::cuda_choice on_host(const std::vector<float>& row, const sample_row<Policy>& asked,
                          sampling::scratch& memory) {
  const auto got = sampling::sampler<Policy>::sample(row, asked.request, asked.seed, asked.token_index, memory,
                                                     asked.banned);
  return {got.token, got.fault};
}

// How far a draw may be from a border between two tokens and still come out on its other side. A weight's relative error
// is (3 + |y|) 2^-23 at most, for a logit y below the best in powers of 2 (fp32's rounding of y, and of 2^y; on either
// side), and the mean of |y| under the weights is below log2(vocabulary) < 18: 2 x 21 x 2^-23 < 2^-17.
constexpr double border_width = 0x1p-17;

/// Whether the row's random number is that near to a border of `token`'s share.
template <class Policy>
bool near_border(const std::vector<float>& row, const sample_row<Policy>& asked, token_id token,
                 sampling::scratch& memory) {
  if (sampling::sampler<Policy>::prepare(row, asked.request, asked.seed, asked.token_index, memory,
                                         asked.banned) != fault::none)
    return false;
  const double u = philox::uniform53(asked.seed, asked.token_index);
  double through = 0;
  for (std::size_t i = 0; i < memory.size(); ++i) {
    const double before = through;
    through += memory.probability(i);
    if (memory.ids()[i] == token)
      return std::abs(u - before) < border_width || std::abs(u - through) < border_width;
  }
  return false;
}

/// Compares one row's draws, and says how many differ (all of them at a border).
template <class Policy>
int compare(const std::vector<float>& row, const std::vector<sample_row<Policy>>& asked) {
  const auto chosen = test::cuda_sample<Policy>(padded(row), 0, row.size(), asked);
  sampling::scratch memory(row.size());
  int different = 0;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    const test::cuda_choice expected = on_host<Policy>(row, asked[i], memory);
    BOOST_TEST((chosen[i].fault == expected.fault));
    if (chosen[i].token == expected.token) continue;
    ++different;
    BOOST_TEST(near_border<Policy>(row, asked[i], chosen[i].token, memory),
               "draw " << i << " gave " << chosen[i].token << ", not " << expected.token);
  }
  return different;
}

template <class Policy>
std::vector<sample_row<Policy>> draws(const sampling::params<Policy>& request, std::size_t count,
                                      std::uint64_t seed) {
  std::vector<sample_row<Policy>> made;
  for (std::size_t i = 0; i < count; ++i) made.push_back({request, seed, i});
  return made;
}

const std::vector<std::size_t> awkward_sizes{1,    2,    3,    4,    5,    31,   63,   64,    65,   127,
                                             1023, 2047, 2049, 4095, 4096, 4097, 8191, 12289, 20011};

}  // namespace

BOOST_AUTO_TEST_SUITE(sample)

BOOST_AUTO_TEST_CASE(any_row_any_parameters_any_order_gives_the_hosts_tokens) {
  using vllm = sampling::like_vllm;
  using llama_cpp = sampling::like_llama_cpp;
  std::mt19937 bits(1);
  const auto of = [&](auto... values) {
    const std::array<std::common_type_t<decltype(values)...>, sizeof...(values)> all{values...};
    return all[bits() % all.size()];
  };
  int different = 0, compared = 0;
  for (const std::size_t vocabulary : awkward_sizes) {
    for (const shape s : {shape::normal, shape::coarse, shape::with_gaps, shape::flat, shape::peaked, shape::high,
                          shape::sorted}) {
      const auto row = random_row(vocabulary, s, static_cast<unsigned>(bits()));
      std::vector<sample_row<vllm>> first;
      std::vector<sample_row<llama_cpp>> second;
      for (int i = 0; i < 6; ++i) {
        const float t = of(0.0f, 0.05f, 0.3f, 0.8f, 1.0f, 1.7f, 100.0f), m = of(0.0f, 0.0f, 0.001f, 0.05f, 1.0f);
        const int k = of(-1, 0, 1, 5, 40, 300);
        const float p = of(1.0f, 0.999f, 0.95f, 0.5f, 0.01f);
        first.push_back({{.temperature = t, .top_k = k, .top_p = p, .min_p = m}, bits(), bits()});
        second.push_back({{.temperature = t, .top_k = k, .top_p = p, .min_p = m}, bits(), bits()});
      }
      BOOST_TEST_CONTEXT(vocabulary << " tokens, shape " << static_cast<int>(s)) {
        different += compare<vllm>(row, first) + compare<llama_cpp>(row, second);
      }
      compared += 12;
    }
  }
  BOOST_TEST_MESSAGE(different << " of " << compared << " differ");
  BOOST_TEST(different <= compared / 500);
}

BOOST_AUTO_TEST_SUITE_END()
