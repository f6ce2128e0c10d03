// Greedy sampling on the device.
#include <boost/test/unit_test.hpp>

#include <cmath>
#include <vector>

#include "backend/cuda/ops.hpp"
#include "reference/inputs.hpp"

using namespace tenon;

namespace {

/// Rows of random logits with a stride that is a multiple of 4; the padding is larger than any logit.
std::vector<float> padded_rows(std::size_t rows, std::size_t vocabulary, std::uint64_t seed) {
  const std::size_t stride = (vocabulary + 3) / 4 * 4 + 4;
  std::vector<float> made = reference::uniform_values(rows * stride, -10, 10, seed);
  for (std::size_t i = 0; i < made.size(); ++i) {
    if (i % stride >= vocabulary) made[i] = 1000.0f;
  }
  return made;
}

token_id best_of(const std::vector<float>& rows, std::size_t row, std::size_t stride,
                 std::size_t vocabulary) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < vocabulary; ++i) {
    if (rows[row * stride + i] > rows[row * stride + best]) best = i;
  }
  return static_cast<token_id>(best);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(argmax)

BOOST_AUTO_TEST_CASE(the_best_token_of_each_row_is_found_and_padding_is_not) {
  for (const std::size_t vocabulary : {1u, 3u, 4u, 5u, 127u, 262u, 1023u, 4095u, 4096u, 4097u, 49152u}) {
    constexpr std::size_t rows = 3;
    const std::vector<float> logits = padded_rows(rows, vocabulary, vocabulary);
    const auto chosen =
        test::cuda_argmax(logits, rows, vocabulary, 3);  // the memory is ready for the next step
    for (std::size_t row = 0; row < rows; ++row) {
      BOOST_TEST(chosen[row].token == best_of(logits, row, logits.size() / rows, vocabulary),
                 vocabulary << " tokens");
      BOOST_TEST((chosen[row].fault == sampling::fault::none));
    }
  }
}

BOOST_AUTO_TEST_CASE(the_lowest_id_of_equals_comes_first) {
  constexpr std::size_t vocabulary = 9000;
  for (const std::vector<std::size_t>& equals :
       {std::vector<std::size_t>{5, 6}, {3, 4096}, {4095, 4096, 8999}, {1, 2, 3, 1025, 5000}}) {
    std::vector<float> logits(vocabulary, -1.0f);
    for (const std::size_t i : equals) logits[i] = 2.0f;
    BOOST_TEST(test::cuda_argmax(logits, 1, vocabulary, 1)[0].token == static_cast<token_id>(equals[0]));
  }
  const std::vector<float> flat(vocabulary, 0.25f);
  BOOST_TEST(test::cuda_argmax(flat, 1, vocabulary, 1)[0].token == 0);
}

BOOST_AUTO_TEST_CASE(a_row_without_a_best_token_has_a_fault_of_its_own) {
  constexpr std::size_t vocabulary = 5000;
  std::vector<float> logits(4 * vocabulary, 0.0f);
  for (std::size_t i = 0; i < vocabulary; ++i) logits[vocabulary + i] = -HUGE_VALF;
  logits[4321] = std::nanf("");
  logits[2 * vocabulary + 17] = HUGE_VALF;
  logits[3 * vocabulary + 4999] = 1.0f;
  const auto chosen = test::cuda_argmax(logits, 4, vocabulary, 1);
  BOOST_TEST((chosen[0].fault == sampling::fault::nan_logits));
  BOOST_TEST((chosen[1].fault == sampling::fault::nothing_possible));
  BOOST_TEST(chosen[0].token == -1);
  BOOST_TEST(chosen[1].token == -1);
  BOOST_TEST(chosen[2].token == 17);
  BOOST_TEST(chosen[3].token == 4999);
}

BOOST_AUTO_TEST_SUITE_END()
