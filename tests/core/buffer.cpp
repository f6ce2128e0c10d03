// Owned memory for kernels: zeroed, aligned, moved and never copied.
#include "tenon/core/buffer.hpp"

#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

using namespace tenon;

namespace {

constexpr std::size_t huge = std::size_t{2} << 20;

/// Sizes in bytes around the border where memory comes straight from the system.
constexpr std::size_t sizes[] = {1, 63, 64, 65, 4096, huge - 1, huge, huge + 1, 2 * huge + 4097};

bool all_zeros(const buffer<std::uint8_t>& bytes) {
  for (std::size_t i = 0; i < bytes.size(); ++i)
    if (bytes[i] != 0) return false;
  return true;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(buffer)

BOOST_AUTO_TEST_CASE(memory_is_zeroed_and_aligned_also_when_it_was_used_before) {
  for (int turn = 0; turn < 3; ++turn) {
    for (const std::size_t size : sizes) {
      tenon::buffer<std::uint8_t> bytes(size);
      BOOST_TEST(bytes.size() == size);
      BOOST_TEST(reinterpret_cast<std::uintptr_t>(bytes.data()) % 64 == 0u);
      if (size >= huge) BOOST_TEST(reinterpret_cast<std::uintptr_t>(bytes.data()) % huge == 0u);
      BOOST_TEST(all_zeros(bytes));
      for (std::size_t i = 0; i < size; ++i) bytes[i] = 0xa5;  // for the next one to find
    }
  }
}

BOOST_AUTO_TEST_CASE(elements_of_any_trivial_type_lie_behind_one_another) {
  struct pair {
    double first;
    std::int32_t second;
  };
  tenon::buffer<pair> pairs(1000);
  BOOST_TEST(pairs.size() == 1000u);
  pairs[999] = {1.5, 7};
  BOOST_TEST(std::as_const(pairs)[999].second == 7);
  BOOST_TEST(pairs.data() + 999 == &pairs[999]);
}

BOOST_AUTO_TEST_CASE(an_empty_buffer_has_no_memory) {
  tenon::buffer<float> nothing, zero(0);
  BOOST_TEST(nothing.size() == 0u);
  BOOST_TEST(zero.size() == 0u);
  BOOST_TEST(nothing.data() == nullptr);
  BOOST_TEST(zero.data() == nullptr);
}

BOOST_AUTO_TEST_CASE(moving_hands_the_memory_over) {
  static_assert(!std::is_copy_constructible_v<tenon::buffer<float>>);
  for (const std::size_t size : sizes) {
    tenon::buffer<std::uint8_t> from(size);
    std::uint8_t* const memory = from.data();
    from[size - 1] = 9;
    tenon::buffer<std::uint8_t> to(std::move(from));
    BOOST_TEST(to.data() == memory);
    BOOST_TEST(to.size() == size);
    tenon::buffer<std::uint8_t> last(3);
    last = std::move(to);
    BOOST_TEST(last.data() == memory);
    BOOST_TEST(last[size - 1] == 9);
  }
}

BOOST_AUTO_TEST_CASE(a_size_that_no_machine_has_throws_bad_alloc) {
  constexpr std::size_t most = (std::numeric_limits<std::size_t>::max)();
  for (const std::size_t size : {most, most / 2, most / 8 + 1, most / 8 - huge / 8, most / 16})
    BOOST_CHECK_THROW(tenon::buffer<double>{size}, std::bad_alloc);
}

BOOST_AUTO_TEST_SUITE_END()
