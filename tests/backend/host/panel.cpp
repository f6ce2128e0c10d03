// Weights in panels: what was packed is what the file's format defines, and what kernels decode is the same.
#include "tenon/backend/host/panel.hpp"

#include <boost/test/unit_test.hpp>

#include "conformance/harness.hpp"

using namespace tenon;
using conformance::instruction_sets;

namespace {

/// Rows of any bytes that the format allows, but for the halves, which are finite.
template <class Format>
std::vector<std::byte> random_rows(std::size_t rows, std::size_t columns, std::uint64_t seed) {
  reference::random_source random(seed);
  std::vector<std::byte> bytes(rows * row_bytes<Format>(columns));
  if constexpr (scalar_format<Format>) {
    const std::vector<float> values = reference::awkward_values(rows * columns, seed);
    bytes = reference::encode_row<Format>(values);
  } else {
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.next());
    for (std::size_t block = 0; block < bytes.size(); block += Format::block_bytes) {
      const std::uint16_t halves[2] = {float_to_half(static_cast<float>(random.uniform(-2, 2))),
                                       float_to_half(static_cast<float>(random.uniform(-2, 2)))};
      std::memcpy(bytes.data() + block, halves, std::is_same_v<Format, q4_1> ? 4 : 2);
    }
  }
  return bytes;
}

template <class Isa, class Format>
void check_packing(std::size_t rows, std::size_t columns) {
  const std::vector<std::byte> file = random_rows<Format>(rows, columns, rows + columns);
  host::matrix packed = host::make_matrix<Isa, Format>(rows, columns);
  BOOST_TEST((packed.bytes() == host::matrix::bytes_of<Isa, Format>(rows, columns)));
  if (rows % host::panel_rows == 0 && columns % host::group_size == 0)
    BOOST_TEST(packed.bytes() == file.size());
  for (std::size_t panel = packed.panels(); panel-- > 0;)
    host::pack_panel<Isa, Format>(packed, panel, file.data());

  std::size_t wrong_values = 0, wrong_rows = 0, wrong_kernels = 0;
  std::vector<float> expected(columns), row(columns);
  for (std::size_t panel = 0; panel < packed.panels(); ++panel) {
    for (std::size_t group = 0; group < packed.groups(); ++group) {
      const std::uint8_t* bytes = packed.panel(panel) + group * packed.group_bytes;
      alignas(64) float decoded[host::group_size * host::panel_rows];
      host::group_decoder<Isa, Format>::decode(bytes, decoded);
      for (std::size_t r = 0; r < host::panel_rows; ++r) {
        const std::size_t at = panel * host::panel_rows + r;
        if (at < rows)
          decode_row<Format>(file.data() + at * row_bytes<Format>(columns), expected.data(), columns);
        for (std::size_t k = 0; k < host::group_size; ++k) {
          const std::size_t column = group * host::group_size + k;
          const float right = at < rows && column < columns ? expected[column] : 0.0f;  // padding is zeros
          const float seen = host::panel_layout<Isa, Format>::value(bytes, r, k);
          wrong_values += seen != right;
          wrong_kernels += decoded[k * host::panel_rows + r] != right;
        }
        if (at < rows && group == 0) {
          host::decode_matrix_row<Isa, Format>(packed, at, row.data());
          wrong_rows += conformance::first_difference(row, expected) != "";
        }
      }
    }
  }
  BOOST_TEST_CONTEXT(std::string_view(Isa::name)
                     << ' ' << std::string_view(Format::name) << ' ' << rows << " x " << columns) {
    BOOST_TEST(wrong_values == 0u);
    BOOST_TEST(wrong_rows == 0u);
    BOOST_TEST(wrong_kernels == 0u);
  }
}

template <class Isa, class Format>
void check_format() {
  for (const std::size_t rows : {1u, 31u, 32u, 33u, 96u}) check_packing<Isa, Format>(rows, 64);
  for (const std::size_t columns : {32u, 96u}) check_packing<Isa, Format>(33, columns);
  if constexpr (scalar_format<Format>) {
    for (const std::size_t columns : {1u, 31u, 33u, 97u}) check_packing<Isa, Format>(33, columns);
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(panel)

BOOST_AUTO_TEST_CASE_TEMPLATE(packed_scalars_are_the_files_values_and_padding_is_zeros, Isa,
                              instruction_sets) {
  check_format<Isa, f32>();
  check_format<Isa, f16>();
  check_format<Isa, bf16>();
}

BOOST_AUTO_TEST_CASE_TEMPLATE(packed_blocks_are_the_files_values_and_padding_is_zeros, Isa,
                              instruction_sets) {
  check_format<Isa, q8_0>();
  check_format<Isa, q4_0>();
  check_format<Isa, q4_1>();
}

BOOST_AUTO_TEST_CASE(panels_can_be_packed_in_any_order_by_any_thread) {
  constexpr std::size_t rows = 161, columns = 96;
  const std::vector<std::byte> file = random_rows<q4_1>(rows, columns, 3);
  host::matrix one = host::make_matrix<isa::native, q4_1>(rows, columns);
  host::matrix many = host::make_matrix<isa::native, q4_1>(rows, columns);
  for (std::size_t panel = 0; panel < one.panels(); ++panel)
    host::pack_panel<isa::native, q4_1>(one, panel, file.data());
  host::thread_team team(3);
  team.run([&](host::team_member& member) {
    member.for_each(many.panels(), [&](std::size_t panel) {
      host::pack_panel<isa::native, q4_1>(many, panel, file.data());
    });
  });
  BOOST_TEST(std::memcmp(one.data.data(), many.data.data(), one.bytes()) == 0);
}

BOOST_AUTO_TEST_SUITE_END()
