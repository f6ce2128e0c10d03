// The reference ops against answers computed elsewhere in fp64, and against what their definitions promise.
#include "reference/ops.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <numeric>

#include "reference/inputs.hpp"
#include "support/json.hpp"

using namespace tenon;
using tenon::test::json;
using tenon::test::numbers;

namespace {

/// Within `absolute`, or `relative` times the expected size.
bool close(double seen, double expected, double absolute, double relative = 0) {
  return std::fabs(seen - expected) <= absolute + relative * std::fabs(expected);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(ops)

BOOST_AUTO_TEST_CASE(softmax_gives_the_listed_answers) {
  const json file = test::load_json("vectors/softmax.json");
  for (const json& c : file["cases"]) {
    BOOST_TEST_CONTEXT(c["name"]) {
      const std::vector<float> x = numbers(c["x"]);
      std::vector<double> expected = numbers<double>(c["out"]);
      if (expected.size() == 1) expected.resize(x.size(), expected[0]);
      const std::vector<float> seen = reference::softmax(std::span<const float>(x));
      BOOST_REQUIRE(seen.size() == expected.size());
      for (std::size_t i = 0; i < seen.size(); ++i) {
        BOOST_TEST(close(seen[i], expected[i], file["tol_abs"].get<double>()),
                   "lane " << i << ": " << seen[i]);
        if (x[i] == -std::numeric_limits<float>::infinity()) BOOST_TEST(seen[i] == 0.0f);
      }
      const double sum = std::accumulate(seen.begin(), seen.end(), 0.0);
      BOOST_TEST((sum == 0.0 || close(sum, 1.0, 1e-5)));
    }
  }
}

BOOST_AUTO_TEST_CASE(softmax_of_a_row_with_nan_is_nan) {
  const float row[] = {1.0f, std::numeric_limits<float>::quiet_NaN(),
                       -std::numeric_limits<float>::infinity()};
  for (const float value : reference::softmax(std::span<const float>(row))) BOOST_TEST(std::isnan(value));
  for (const float value : reference::softmax(std::span<const float>(row).last(2)))
    BOOST_TEST(std::isnan(value));
}

BOOST_AUTO_TEST_CASE(attention_gives_the_listed_answers) {
  for (const json& c : test::load_cases("vectors/attention.json")) {
    BOOST_TEST_CONTEXT(c["name"]) {
      const std::vector<float> q = numbers(c["q"]);
      const std::vector<float> k = test::rows(c["k"]);
      const std::vector<float> v = test::rows(c["v"]);
      const std::vector<int> mask = numbers<int>(c["mask"]);
      const std::size_t visible = static_cast<std::size_t>(std::accumulate(mask.begin(), mask.end(), 0));
      BOOST_REQUIRE(std::is_sorted(mask.rbegin(), mask.rend()));  // the visible positions come first
      const std::vector<double> expected = numbers<double>(c["out"]);
      const reference::attention_shape shape{.key_size = q.size(), .value_size = expected.size()};
      const std::vector<float> seen =
          reference::attention_head(q, k, v, shape, 0, visible, c["scale"].get<double>());
      BOOST_REQUIRE(seen.size() == expected.size());
      for (std::size_t i = 0; i < seen.size(); ++i)
        BOOST_TEST(close(seen[i], expected[i], 0, c["tol_rel"].get<double>()),
                   "lane " << i << ": " << seen[i]);
    }
  }
}

BOOST_AUTO_TEST_CASE(query_heads_read_the_kv_head_of_their_group) {
  // one position, so each head sees exactly its V head: 9 query heads on 3
  const reference::attention_shape shape{.heads = 9, .kv_heads = 3, .key_size = 2, .value_size = 1};
  const std::vector<float> queries = reference::uniform_values(18, -1, 1, 1);
  const std::vector<float> keys = reference::uniform_values(6, -1, 1, 2);
  const std::vector<float> values = {10, 20, 30};
  const std::vector<float> expected = {10, 10, 10, 20, 20, 20, 30, 30, 30};
  BOOST_TEST(reference::attention(queries, keys, values, shape, 1, 1.0) == expected,
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(attention_does_not_look_past_the_visible_positions) {
  const reference::attention_shape shape{.heads = 2, .kv_heads = 1, .key_size = 4, .value_size = 4};
  const std::vector<float> queries = reference::uniform_values(8, -1, 1, 3);
  std::vector<float> keys = reference::uniform_values(20, -1, 1, 4);
  std::vector<float> values = reference::uniform_values(20, -1, 1, 5);
  const std::vector<float> before = reference::attention(queries, keys, values, shape, 3, 0.5);
  for (std::size_t i = 12; i < 20; ++i) keys[i] = values[i] = std::numeric_limits<float>::quiet_NaN();
  BOOST_TEST(reference::attention(queries, keys, values, shape, 3, 0.5) == before,
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(swiglu_gives_the_listed_answers) {
  const json file = test::load_json("vectors/swiglu.json");
  for (const json& c : file["cases"]) {
    BOOST_TEST_CONTEXT(c["name"]) {
      const float gate = c["gate"].get<float>();
      const float up = c["up"].get<float>();
      const float weight = c["down_weight"].get<float>();
      const std::vector<float> act = reference::swiglu({&gate, 1}, {&up, 1});
      const std::vector<float> out = reference::matmul(act, {&weight, 1}, 1);
      const double smallest = std::numeric_limits<float>::denorm_min();
      BOOST_TEST(close(act[0], c["act"].get<double>(), smallest, file["tol_rel"].get<double>()));
      BOOST_TEST(close(out[0], c["out"].get<double>(), smallest, file["tol_rel"].get<double>()));
    }
  }
}

BOOST_AUTO_TEST_CASE(swiglu_far_below_zero_is_zero_and_not_nan) {
  const float gate = -1e30f;
  const float up = 3.0f;
  BOOST_TEST(reference::swiglu({&gate, 1}, {&up, 1})[0] == 0.0f);
}

BOOST_AUTO_TEST_CASE(rms_norm_gives_the_listed_answers) {
  const json file = test::load_json("vectors/rmsnorm.json");
  for (const json& c : file["cases"]) {
    BOOST_TEST_CONTEXT(c["name"]) {
      const std::vector<float> x = numbers(c["x"]);
      const std::vector<float> seen =
          reference::rms_norm(x, std::vector<float>(x.size(), 1.0f), c["eps"].get<double>());
      const double relative = file["tol_rel"].get<double>();
      BOOST_TEST(close(seen.front(), c["first"].get<double>(), 0, relative));
      BOOST_TEST(close(seen.back(), c["last"].get<double>(), 0, relative));
    }
  }
}

BOOST_AUTO_TEST_CASE(rms_norm_multiplies_each_lane_by_its_weight) {
  const std::vector<float> x = {1, -1, 1, -1};
  const std::vector<float> expected = {2, -3, 0, 4};
  BOOST_TEST(reference::rms_norm(x, std::vector<float>{2, 3, 0, -4}, 0.0) == expected,
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(rope_turns_each_pair_by_the_listed_angle) {
  for (const json& c : test::load_cases("vectors/rope.json")) {
    const std::size_t rotated = c["n_rot"].get<std::size_t>();
    const reference::rope_shape shape{
        .head_size = rotated, .rotated = rotated, .base = c["base"].get<double>()};
    std::vector<float> row(rotated);
    for (std::size_t lane = 0; lane < rotated; lane += 2) row[lane] = 1.0f;  // (1, 0) becomes (cos, sin)
    reference::rope(row, shape, c["pos"].get<std::size_t>());
    for (std::size_t i = 0; i < c["pair"].size(); ++i) {
      const std::size_t pair = c["pair"][i].get<std::size_t>();
      BOOST_TEST_CONTEXT("lanes " << rotated << ", position " << c["pos"] << ", pair " << pair) {
        const double tolerance = c["tol_abs"][i].get<double>();
        BOOST_TEST(close(row[2 * pair], c["cos"][i].get<double>(), tolerance));
        BOOST_TEST(close(row[2 * pair + 1], c["sin"][i].get<double>(), tolerance));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(rope_turns_all_heads_alike_and_leaves_lanes_that_do_not_rotate) {
  const reference::rope_shape shape{.head_size = 6, .rotated = 4};
  const std::vector<float> head = {1, 2, 3, 4, 5, 6};
  std::vector<float> row = head;
  row.insert(row.end(), head.begin(), head.end());
  reference::rope(row, shape, 5);
  BOOST_TEST(row[0] != 1.0f);
  BOOST_TEST(row[4] == 5.0f);
  BOOST_TEST(row[5] == 6.0f);
  for (std::size_t lane = 0; lane < 6; ++lane) BOOST_TEST(row[lane] == row[lane + 6]);
  BOOST_TEST(close(std::hypot(row[2], row[3]), 5.0, 1e-6));
}

BOOST_AUTO_TEST_CASE(rope_factors_divide_the_frequency_of_their_pair) {
  const reference::rope_shape plain{.head_size = 4, .rotated = 4};
  const reference::rope_shape scaled{.head_size = 4, .rotated = 4, .factors = {1.0f, 8.0f}};
  BOOST_TEST(reference::rope_angle(scaled, 0, 24) == reference::rope_angle(plain, 0, 24));
  BOOST_TEST(close(reference::rope_angle(scaled, 1, 24), reference::rope_angle(plain, 1, 3), 1e-15));
}

BOOST_AUTO_TEST_CASE(matmul_is_exact_on_whole_numbers_of_any_length) {
  for (const std::size_t inputs : reference::awkward_sizes(8)) {
    const std::vector<float> x = reference::whole_values(2 * inputs, 15, inputs);
    const std::vector<float> w = reference::whole_values(3 * inputs, 15, inputs + 1);
    const std::vector<float> seen = reference::matmul(x, w, inputs);
    BOOST_REQUIRE(seen.size() == 6u);
    for (std::size_t token = 0; token < 2; ++token)
      for (std::size_t row = 0; row < 3; ++row) {
        long sum = 0;
        for (std::size_t i = 0; i < inputs; ++i)
          sum += static_cast<long>(x[token * inputs + i]) * static_cast<long>(w[row * inputs + i]);
        BOOST_TEST(seen[token * 3 + row] == static_cast<float>(sum), "length " << inputs);
      }
  }
}

BOOST_AUTO_TEST_CASE(embedding_copies_the_rows_of_the_ids) {
  const std::vector<float> table = {0, 1, 10, 11, 20, 21};
  const token_id ids[] = {2, 0, 2};
  const std::vector<float> expected = {20, 21, 0, 1, 20, 21};
  BOOST_TEST(reference::embedding(ids, table, 2) == expected, boost::test_tools::per_element());
  const token_id past_the_end[] = {3};
  BOOST_CHECK_THROW(reference::embedding(past_the_end, table, 2), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(argmax_takes_the_first_of_equals) {
  const float logits[] = {1.0f, 5.0f, 5.0f, -1.0f};
  BOOST_TEST(reference::argmax(logits) == 1);
}

BOOST_AUTO_TEST_SUITE_END()
