#include <atomic>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <map>
#include <new>
#include <random>
#include <set>
#include <vector>

#include <tenon/sample/sampler.hpp>

namespace {
std::atomic<std::size_t> allocations{0};
}

// Counts what this test program allocates.
[[gnu::noinline]] void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size != 0 ? size : 1)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(size != 0 ? size : 1);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace sampling = tenon::sampling;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

std::vector<float> random_row(std::size_t size, unsigned seed, float deviation = 3) {
  std::mt19937 bits(seed);
  std::normal_distribution<float> normal(0, deviation);
  std::vector<float> row(size);
  for (float& x : row) x = normal(bits);
  return row;
}

using everything = sampling::sampler<sampling::chain<>>;
using vllm = sampling::sampler<sampling::like_vllm>;

}  // namespace

BOOST_AUTO_TEST_SUITE(draw)

BOOST_AUTO_TEST_CASE(frequencies_are_the_softmax_over_more_tokens_than_a_partial_sum_holds) {
  // 1500 tokens of 15 probabilities: the tokens of one probability are drawn as one group.
  std::vector<float> row(1500);
  for (std::size_t i = 0; i < row.size(); ++i) row[i] = static_cast<float>((i * 7) % 15) * 0.2f;
  double total = 0;
  std::vector<double> expected(15), seen(15);
  for (std::size_t i = 0; i < row.size(); ++i) {
    expected[(i * 7) % 15] += std::exp(static_cast<double>(row[i]));
    total += std::exp(static_cast<double>(row[i]));
  }
  sampling::scratch memory(row.size());
  constexpr int draws = 60000;
  std::set<tenon::token_id> different;
  for (int i = 0; i < draws; ++i) {
    const auto got = everything::sample(row, {}, 99, static_cast<std::uint64_t>(i), memory);
    ++seen[(static_cast<std::size_t>(got.token) * 7) % 15];
    different.insert(got.token);
  }
  double chi_square = 0;
  for (std::size_t g = 0; g < 15; ++g) {
    const double e = expected[g] / total * draws;
    chi_square += (seen[g] - e) * (seen[g] - e) / e;
  }
  BOOST_TEST(chi_square < 36.12);  // 14 degrees of freedom, 1 in 1000
  BOOST_TEST(different.size() > 1400u);
}

BOOST_AUTO_TEST_CASE(frequencies_after_a_chain_are_those_of_the_kept_tokens) {
  // 0.5 0.3 0.1 0.1 with top_k 3: 5/9, 3/9, 1/9.
  const std::vector<float> row{std::log(0.1f), std::log(0.5f), std::log(0.1f), std::log(0.3f)};
  const std::map<tenon::token_id, double> expected{{0, 1.0 / 9}, {1, 5.0 / 9}, {3, 3.0 / 9}};
  sampling::scratch memory(row.size());
  std::map<tenon::token_id, int> seen;
  constexpr int draws = 50000;
  for (std::uint64_t i = 0; i < draws; ++i) ++seen[vllm::sample(row, {.top_k = 3}, 5, i, memory).token];
  double chi_square = 0;
  for (const auto& [id, p] : expected) chi_square += std::pow(seen[id] - p * draws, 2) / (p * draws);
  BOOST_TEST(chi_square < 13.82);  // 2 degrees of freedom, 1 in 1000
  BOOST_TEST(seen.size() == 3u);
}

BOOST_AUTO_TEST_CASE(both_ends_of_the_random_number_land_on_possible_tokens) {
  for (const std::size_t size : {1u, 15u, 16u, 17u, 511u, 512u, 513u, 1024u, 1025u, 5000u}) {
    // Possible is one token alone; around it weights underflow to zero.
    for (const std::size_t place : {std::size_t{0}, size / 2, size - 1}) {
      std::vector<float> row(size, -200.0f);
      row[place] = 0;
      sampling::scratch memory(size);
      BOOST_REQUIRE((everything::prepare(row, {}, 0, 0, memory) == sampling::fault::none));
      for (const double u : {0.0, 0x1p-53, 0.5, 1.0 - 0x1p-53}) {
        BOOST_REQUIRE(memory.draw(u) == static_cast<tenon::token_id>(place));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(the_same_seed_and_index_give_the_same_token_whatever_the_scratch_did_before) {
  const auto row = random_row(3000, 1), other = random_row(5000, 2);
  sampling::scratch fresh(row.size()), used(1);
  const vllm::params request{.temperature = 0.9f, .top_k = 100, .top_p = 0.9f, .min_p = 0.01f};
  std::set<tenon::token_id> different;
  for (std::uint64_t i = 0; i < 300; ++i) {
    static_cast<void>(vllm::sample(other, {.temperature = 0.3f}, i, i, used));
    const auto a = vllm::sample(row, request, 11, i, fresh), b = vllm::sample(row, request, 11, i, used);
    BOOST_REQUIRE(a.token == b.token);
    different.insert(a.token);
  }
  BOOST_TEST(different.size() > 10u);
}

BOOST_AUTO_TEST_CASE(banned_tokens_are_never_chosen_and_the_row_is_not_changed) {
  const std::vector<float> row{1, 9, 3, 8, 2};
  const std::vector<float> before = row;
  const std::vector<tenon::token_id> banned{1, 3, 700, -1};
  sampling::scratch memory(row.size());
  BOOST_TEST(sampling::sampler<sampling::greedy>::sample(row, {}, 0, 0, memory, banned).token == 2);
  BOOST_TEST(vllm::sample(row, {.temperature = 0}, 0, 0, memory, banned).token == 2);
  for (std::uint64_t i = 0; i < 500; ++i) {
    const auto got = vllm::sample(row, {.temperature = 5}, 0, i, memory, banned);
    BOOST_REQUIRE(got.token != 1);
    BOOST_REQUIRE(got.token != 3);
  }
  BOOST_TEST(row == before, boost::test_tools::per_element());
  const std::vector<tenon::token_id> all{0, 1, 2, 3, 4};
  BOOST_TEST((vllm::sample(row, {}, 0, 0, memory, all).fault == sampling::fault::nothing_possible));
}

BOOST_AUTO_TEST_CASE(rows_without_an_answer_give_a_worded_fault) {
  using sampling::fault;
  sampling::scratch memory(4);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const float t : {0.0f, 1.0f}) {
    BOOST_TEST((vllm::sample(std::vector<float>{1, nan, 2}, {.temperature = t}, 0, 0, memory).fault ==
                fault::nan_logits));
    BOOST_TEST((vllm::sample(std::vector<float>{1, -nan, 2}, {.temperature = t}, 0, 0, memory).fault ==
                fault::nan_logits));
    BOOST_TEST(
        (vllm::sample(std::vector<float>{-infinity, -infinity}, {.temperature = t}, 0, 0, memory).fault ==
         fault::nothing_possible));
    BOOST_TEST((vllm::sample(std::vector<float>{}, {.temperature = t}, 0, 0, memory).fault ==
                fault::nothing_possible));
  }
  BOOST_TEST(message(fault::nan_logits).find("NaN") != std::string_view::npos);
  BOOST_TEST(message(fault::nothing_possible).find("-inf") != std::string_view::npos);
}

BOOST_AUTO_TEST_CASE(infinities_and_huge_logits_are_handled) {
  sampling::scratch memory(4);
  std::set<tenon::token_id> seen;
  for (std::uint64_t i = 0; i < 100; ++i) {
    seen.insert(
        vllm::sample(std::vector<float>{0, infinity, -infinity, infinity}, {.top_p = 0.99f}, 0, i, memory)
            .token);
  }
  BOOST_TEST(seen == (std::set<tenon::token_id>{1, 3}), boost::test_tools::per_element());
  const float huge = (std::numeric_limits<float>::max)();
  const std::vector<float> row{-huge, huge, -huge, 0};
  for (const float t : {0.0f, 2e-5f, 1.0f, 1e30f}) {
    for (std::uint64_t i = 0; i < 20; ++i) {
      BOOST_REQUIRE(vllm::sample(row, {.temperature = t}, 0, i, memory).token == 1);
    }
  }
}

BOOST_AUTO_TEST_CASE(nothing_is_allocated_once_the_scratch_has_its_size) {
  const auto row = random_row(49152, 3), flat = random_row(49152, 4, 0.1f);
  const std::vector<tenon::token_id> banned{2, 5};
  sampling::scratch memory(row.size());
  const vllm::params request{.temperature = 0.8f, .top_k = 2000, .top_p = 0.95f, .min_p = 0.001f};
  const std::size_t before = allocations;
  for (std::uint64_t i = 0; i < 3; ++i) {
    static_cast<void>(vllm::sample(row, request, 1, i, memory, banned));
    static_cast<void>(vllm::sample(flat, {.top_p = 0.5f}, 1, i, memory));
    static_cast<void>(sampling::sampler<sampling::greedy>::sample(row, {}, 1, i, memory));
  }
  BOOST_TEST(allocations - before == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
