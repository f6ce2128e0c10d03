// The order of weights on the device: every value of the file is in its lane's word, with its scale.
#include "tenon/backend/cuda/layout.hpp"

#include <boost/test/unit_test.hpp>

#include <set>
#include <tuple>
#include <vector>

#include "backend/cuda/packed.hpp"

using namespace tenon;

namespace {

using formats = std::tuple<f32, f16, bf16, q8_0, q4_0, q4_1>;

/// One weight, read from a record by the description of the layout alone.
template <class Format>
float value_in(const std::byte* record, int row, int group, int k) {
  using layout = cuda::weight_layout<Format>;
  for (int lane = 0; lane < cuda::row_lanes; ++lane) {
    for (int word = 0; word < layout::group_words; ++word) {
      for (int i = 0; i < layout::word_values; ++i) {
        if (layout::fragment_k(lane, word, i) != k) continue;
        std::uint32_t bits;
        std::memcpy(&bits, record + layout::word_at(row, lane, group, word), 4);
        std::byte block[Format::block_bytes] = {};  // a block of the file's format with this value in place
        if constexpr (layout::is_scalar) {
          std::memcpy(block, reinterpret_cast<const std::byte*>(&bits) + i * layout::value_bits / 8,
                      sizeof block);
          float value;
          Format::decode(block, &value);
          return value;
        } else {
          std::memcpy(block, record + layout::scale_at(row, group), layout::scale_bytes);
          const std::uint32_t quantum = bits >> (layout::value_bits * i);
          if constexpr (layout::value_bits == 8) {
            block[layout::scale_bytes + k] = static_cast<std::byte>(quantum & 255);
          } else {
            block[layout::scale_bytes + k % 16] = static_cast<std::byte>((quantum & 15) << (k < 16 ? 0 : 4));
          }
          float values[cuda::group_size];
          Format::decode(block, values);
          return values[k];
        }
      }
    }
  }
  return std::nanf("");
}

}  // namespace

BOOST_AUTO_TEST_SUITE(layout)

BOOST_AUTO_TEST_CASE_TEMPLATE(each_place_of_a_group_has_one_word_of_one_lane, Format, formats) {
  using layout = cuda::weight_layout<Format>;
  std::set<int> places;
  for (int lane = 0; lane < cuda::row_lanes; ++lane) {
    for (int word = 0; word < layout::group_words; ++word) {
      for (int i = 0; i < layout::word_values; ++i) places.insert(layout::fragment_k(lane, word, i));
    }
  }
  BOOST_TEST(places.size() == 32u);
  BOOST_TEST(*places.begin() == 0);
  BOOST_TEST(*places.rbegin() == 31);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_record_is_no_larger_than_the_files_blocks, Format, formats) {
  using layout = cuda::weight_layout<Format>;
  constexpr std::size_t values = cuda::tile_rows * layout::record_groups * cuda::group_size;
  BOOST_TEST(layout::record_bytes == values / Format::block_size * Format::block_bytes);
  BOOST_TEST(layout::record_bytes % 32 == 0);  // whole sectors
  BOOST_TEST(layout::scales_at % (32 * cuda::chunk_bytes) == 0);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(packed_values_are_the_files, Format, formats) {
  using layout = cuda::weight_layout<Format>;
  for (const std::size_t columns : test::awkward_columns<Format>()) {
    for (const std::size_t rows : {1u, 7u, 8u, 9u, 17u}) {
      const test::packed_matrix<Format> made(rows, columns, rows * 1000 + columns);
      BOOST_TEST(made.bytes.size() == cuda::matrix_bytes<Format>(rows, columns));
      const std::size_t records = cuda::records_of<Format>(columns);
      std::size_t wrong = 0;
      for (std::size_t row = 0; row < cuda::tiles_of(rows) * cuda::tile_rows; ++row) {
        for (std::size_t k = 0; k < records * layout::record_groups * cuda::group_size; ++k) {
          const std::size_t group = k / cuda::group_size;
          const std::byte* record =
              made.bytes.data() +
              (row / cuda::tile_rows * records + group / layout::record_groups) * layout::record_bytes;
          const float value = value_in<Format>(record, static_cast<int>(row % cuda::tile_rows),
                                               static_cast<int>(group % layout::record_groups),
                                               static_cast<int>(k % cuda::group_size));
          const float expected = row < rows && k < columns ? made.values[row * columns + k] : 0.0f;
          wrong += std::memcmp(&value, &expected, sizeof value) != 0 && !(value == 0.0f && expected == 0.0f);
        }
      }
      BOOST_TEST(wrong == 0u, std::string_view(Format::name) << ' ' << rows << " x " << columns);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
