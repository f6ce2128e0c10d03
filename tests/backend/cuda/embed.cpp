// The gather of embedding rows.
#include <boost/test/unit_test.hpp>

#include <cstring>
#include <tuple>

#include "backend/cuda/ops.hpp"
#include "backend/cuda/packed.hpp"

using namespace tenon;

BOOST_AUTO_TEST_SUITE(embed)

using formats = std::tuple<f32, f16, bf16, q8_0, q4_0, q4_1>;

BOOST_AUTO_TEST_CASE_TEMPLATE(embedded_rows_are_the_decoded_weights_to_the_bit, Format, formats) {
  for (const std::size_t columns : test::awkward_columns<Format>()) {
    constexpr std::size_t rows = 67;
    const test::packed_matrix<Format> table(rows, columns, columns);
    const std::vector<token_id> tokens = {0, 31, 32, 66, 66, 1};
    const std::vector<float> seen = test::cuda_embed<Format>(table.bytes, columns, tokens);
    BOOST_REQUIRE(seen.size() == tokens.size() * columns);
    for (std::size_t t = 0; t < tokens.size(); ++t) {
      const float* expected = table.values.data() + static_cast<std::size_t>(tokens[t]) * columns;
      BOOST_TEST(std::memcmp(seen.data() + t * columns, expected, columns * sizeof(float)) == 0,
                 std::string_view(Format::name) << ", " << columns << " columns, token " << tokens[t]);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
