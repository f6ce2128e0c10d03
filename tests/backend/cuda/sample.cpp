// Sampling on the device against sampling on the host, which is held against a reference in tests/sample.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
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
  const auto got = sampling::sampler<Policy>::sample(row, asked.request, asked.seed, asked.token_index,
                                                     memory, asked.banned);
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
    for (const shape s : {shape::normal, shape::coarse, shape::with_gaps, shape::flat, shape::peaked,
                          shape::high, shape::sorted}) {
      const auto row = random_row(vocabulary, s, static_cast<unsigned>(bits()));
      std::vector<sample_row<vllm>> first;
      std::vector<sample_row<llama_cpp>> second;
      for (int i = 0; i < 5; ++i) {
        const float t = of(0.0f, 0.05f, 0.3f, 0.8f, 1.0f, 1.7f, 100.0f),
                    m = of(0.0f, 0.0f, 0.001f, 0.05f, 1.0f);
        const int k = of(-1, 0, 1, 5, 40, 300);
        const float p = of(1.0f, 0.999f, 0.95f, 0.5f, 0.01f);
        first.push_back({{.temperature = t, .top_k = k, .top_p = p, .min_p = m}, bits(), bits()});
        second.push_back({{.temperature = t, .top_k = k, .top_p = p, .min_p = m}, bits(), bits()});
      }
      BOOST_TEST_CONTEXT(vocabulary << " tokens, shape " << static_cast<int>(s)) {
        different += compare<vllm>(row, first) + compare<llama_cpp>(row, second);
      }
      compared += 10;
    }
  }
  BOOST_TEST_MESSAGE(different << " of " << compared << " differ");
  BOOST_TEST(different <= compared / 500);
}

BOOST_AUTO_TEST_CASE(frequencies_are_the_softmax_and_draws_the_hosts) {
  using policy = sampling::like_vllm;
  // 9000 tokens of 15 probabilities, more than a slice: the tokens of one probability are drawn as one group.
  std::vector<float> row(9000);
  for (std::size_t i = 0; i < row.size(); ++i) row[i] = static_cast<float>((i * 7) % 15) * 0.2f;
  std::vector<double> expected(15), seen(15);
  double total = 0;
  for (std::size_t i = 0; i < row.size(); ++i) {
    expected[(i * 7) % 15] += std::exp(static_cast<double>(row[i]));
    total += std::exp(static_cast<double>(row[i]));
  }
  const auto asked = draws<policy>({}, 2000, 99);
  const auto chosen = test::cuda_sample<policy>(padded(row), 0, row.size(), asked);
  sampling::scratch memory(row.size());
  std::set<token_id> different;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    BOOST_REQUIRE((chosen[i].fault == fault::none));
    ++seen[(static_cast<std::size_t>(chosen[i].token) * 7) % 15];
    different.insert(chosen[i].token);
    if (chosen[i].token == on_host<policy>(row, asked[i], memory).token) continue;
    BOOST_TEST(near_border<policy>(row, asked[i], chosen[i].token, memory), "draw " << i);
  }
  double chi_square = 0;
  for (std::size_t g = 0; g < 15; ++g) {
    const double e = expected[g] / total * static_cast<double>(asked.size());
    chi_square += (seen[g] - e) * (seen[g] - e) / e;
  }
  BOOST_TEST(chi_square < 36.12);  // 14 degrees of freedom, 1 in 1000
  BOOST_TEST(different.size() > 1500u);
}

BOOST_AUTO_TEST_CASE(a_chain_draws_from_what_it_keeps_in_the_right_shares) {
  using policy = sampling::like_llama_cpp;
  // 0.5 0.3 0.1 0.1 far apart in the row with top_k 3: 5/9, 3/9, 1/9.
  std::vector<float> row(20000, -20.0f);
  row[19999] = std::log(0.5f), row[7] = std::log(0.3f), row[12000] = row[12001] = std::log(0.1f);
  const auto asked = draws<policy>({.top_k = 3}, 900, 5);
  double seen[3] = {};
  for (const auto& each : test::cuda_sample<policy>(padded(row), 0, row.size(), asked)) {
    const bool possible =
        each.token == 19999 || each.token == 7 || each.token == 12000;  // the lower id of the tie
    BOOST_REQUIRE(possible);
    ++seen[each.token == 19999 ? 0 : each.token == 7 ? 1 : 2];
  }
  const double expected[3] = {500, 300, 100};
  double chi_square = 0;
  for (int i = 0; i < 3; ++i) chi_square += std::pow(seen[i] - expected[i], 2) / expected[i];
  BOOST_TEST(chi_square < 13.82);  // 2 degrees of freedom, 1 in 1000
}

BOOST_AUTO_TEST_CASE(thousands_of_draws_are_the_hosts_from_lists_and_from_whole_rows) {
  using policy = sampling::like_vllm;
  int different = 0;
  const auto row = random_row(24001, shape::normal, 7, 2.5f);
  different += compare<policy>(row, draws<policy>({.temperature = 0.8f, .top_k = 40, .top_p = 0.9f}, 400, 1));
  different += compare<policy>(row, draws<policy>({.temperature = 0.7f, .top_p = 0.9f}, 100, 2));
  different += compare<policy>(row, draws<policy>({.min_p = 0.05f}, 300, 3));
  different += compare<policy>(row, draws<policy>({.temperature = 0.9f}, 300, 4));
  different += compare<policy>(row, draws<policy>({.temperature = 1.5f, .top_k = 1000}, 50, 5));
  BOOST_TEST_MESSAGE(different << " of 1150 differ");
  BOOST_TEST(different <= 2);
}

BOOST_AUTO_TEST_CASE(stages_of_the_users_own_run_on_the_device) {
  using policy = test::cuda_own_chain;
  for (const std::size_t vocabulary : {5u, 1000u, 9001u}) {
    const auto row = random_row(vocabulary, shape::normal, 11);
    std::vector<sample_row<policy>> asked;
    for (std::uint64_t i = 0; i < 40; ++i) {
      const auto favourite = static_cast<token_id>(i % 2 * 4);
      asked.push_back({{.temperature = 1.2f, .custom = {{favourite, 9}, {.n = i < 20 ? 2.0f : 0.5f}}}, 3, i});
    }
    BOOST_TEST(compare<policy>(row, asked) <= 1);
  }
}

BOOST_AUTO_TEST_CASE(banned_tokens_are_never_chosen) {
  using policy = sampling::like_vllm;
  const auto row = random_row(9001, shape::normal, 3);
  std::vector<token_id> ids(row.size());
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<token_id>(i);
  std::sort(ids.begin(), ids.end(), [&](token_id a, token_id b) {
    return row[static_cast<std::size_t>(a)] > row[static_cast<std::size_t>(b)];
  });
  std::vector<sample_row<policy>> asked;
  std::vector<sample_row<sampling::greedy>> greedy;
  for (const std::size_t count : {0u, 1u, 2u, 3u, 7u}) {
    std::vector<token_id> banned(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(count));
    for (const float t : {0.0f, 0.4f, 1.0f, 3.0f})
      asked.push_back({{.temperature = t, .top_k = 9}, 5, count, banned});
    asked.push_back({{.temperature = 2, .top_p = 0.99f}, 5, count, banned});
    banned.push_back(-1), banned.push_back(20000);  // no tokens of this row
    greedy.push_back({{}, 0, 0, banned});
  }
  BOOST_TEST(compare<policy>(row, asked) == 0);
  BOOST_TEST(compare<sampling::greedy>(row, greedy) == 0);
  const std::vector<float> few{1, 2};
  BOOST_TEST(
      compare<policy>(few, {{{}, 0, 0, {0, 1}}, {{.temperature = 0}, 0, 0, {0, 1}}, {{}, 0, 0, {1}}}) == 0);
}

BOOST_AUTO_TEST_CASE(rows_without_an_answer_have_a_fault_and_infinities_their_meaning) {
  using policy = sampling::like_vllm;
  const float nan = std::nanf("");
  for (const std::size_t vocabulary : {2u, 9001u}) {
    for (const float bad : {nan, -nan, infinity, -infinity}) {
      for (const bool all : {false, true}) {
        auto row = all ? std::vector<float>(vocabulary, bad) : random_row(vocabulary, shape::normal, 1);
        row.back() = bad;
        if (!all) row[vocabulary / 2] = bad;
        std::vector<sample_row<policy>> asked;
        for (std::uint64_t i = 0; i < 3; ++i) asked.push_back({{.temperature = static_cast<float>(i)}, 8, i});
        asked.push_back({{.top_k = 3, .top_p = 0.6f}, 8, 9});
        asked.push_back({{}, 8, 10, {static_cast<token_id>(vocabulary - 1)}});
        BOOST_TEST_CONTEXT(vocabulary << " tokens, " << bad) { BOOST_TEST(compare<policy>(row, asked) == 0); }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(rows_do_not_depend_on_each_other_and_a_graph_gives_the_same) {
  using policy = sampling::like_llama_cpp;
  constexpr std::size_t vocabulary = 17001, rows = 9;
  std::vector<float> logits;
  std::vector<sample_row<policy>> asked;
  for (unsigned r = 0; r < rows; ++r) {
    const auto row = padded(random_row(vocabulary, r % 3 == 0 ? shape::flat : shape::normal, r));
    logits.insert(logits.end(), row.begin(), row.end());
    asked.push_back(
        {{.temperature = 0.3f * static_cast<float>(r % 4), .top_k = r % 2 == 0 ? 50 : 0, .top_p = 0.8f},
         r,
         r});
  }
  const std::size_t stride = logits.size() / rows;
  const auto together = test::cuda_sample<policy>(logits, stride, vocabulary, asked);
  const auto replayed = test::cuda_sample<policy>(logits, stride, vocabulary, asked, true);
  for (std::size_t r = 0; r < rows; ++r) {
    const auto alone = test::cuda_sample<policy>(std::span(logits).subspan(r * stride, stride), stride,
                                                 vocabulary, std::span(asked).subspan(r, 1));
    BOOST_TEST(alone[0].token == together[r].token);
    BOOST_TEST(replayed[r].token == together[r].token);
    BOOST_TEST(alone[0].token >= 0);
  }
}

BOOST_AUTO_TEST_SUITE_END()
