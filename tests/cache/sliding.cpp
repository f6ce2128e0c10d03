#include <tenon/cache/ability.hpp>
#include <tenon/cache/sliding.hpp>

#include <rapidcheck.h>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

using tenon::cache::geometry;
using layout = tenon::cache::sliding<6, 2>;
static_assert(layout::name.view() == "sliding<6, 2>");
static_assert(tenon::cache::bounded<layout::manager>);

namespace {

constexpr std::size_t nothing = 1u << 20;

/// Writes a sequence in chunks, and looks at what each position attends to when its chunk has been written.
template <class Layout>
bool is_intact(const typename Layout::manager& m, std::size_t slot, std::vector<std::size_t>& rows,
               const std::vector<std::size_t>& chunks) {
  const auto view = m.view(slot);
  std::size_t written = 0;
  for (const std::size_t chunk : chunks) {
    for (std::size_t p = written; p < written + chunk; ++p) rows[view.row(p)] = p;
    for (std::size_t p = written; p < written + chunk; ++p) {
      const auto seen = tenon::cache::seen::of<typename Layout::view>(p);
      for (std::size_t at = 0; at <= p; ++at) {
        if (at < seen.sinks || at >= seen.first)
          if (rows[view.row(at)] != at) return false;
      }
    }
    written += chunk;
  }
  return true;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(sliding)

BOOST_AUTO_TEST_CASE(every_position_finds_its_window_and_the_sinks) {
  BOOST_TEST(rc::check([] {
    const auto step = *rc::gen::inRange<std::size_t>(1, 9);
    const auto context = *rc::gen::inRange<std::size_t>(1, 60);
    const layout::manager m({3, context, 0, 0, step});
    std::vector<std::size_t> rows(m.rows(), nothing), chunks;
    for (std::size_t left = context; left > 0; left -= chunks.back())
      chunks.push_back((std::min)(left, *rc::gen::inRange<std::size_t>(1, step + 1)));
    return is_intact<layout>(m, 1, rows, chunks);
  }));
}

BOOST_AUTO_TEST_CASE(a_chunk_longer_than_was_said_would_write_over_the_window) {
  const layout::manager m({1, 60, 0, 0, 4});
  std::vector<std::size_t> rows(m.rows(), nothing);
  BOOST_TEST(is_intact<layout>(m, 0, rows, {4, 4, 4, 4, 4}));
  BOOST_TEST(!is_intact<layout>(m, 0, rows, {4, 4, 4, 5}));
}

BOOST_AUTO_TEST_CASE(the_memory_of_a_slot_does_not_grow_with_the_context) {
  BOOST_TEST(layout::manager({2, 1000, 0, 0, 3}).rows() == 2u * (2 + 6 + 2));
  BOOST_TEST(layout::manager({2, 100000, 0, 0, 3}).rows() == 2u * (2 + 6 + 2));
  BOOST_TEST(layout::manager({2, 5, 0, 0, 3}).rows() == 2u * 5);  // nor is it more than the context
  BOOST_TEST(layout::manager({2, 1000}).rows() == 2u * 1000);     // a step may write it all
}

BOOST_AUTO_TEST_CASE(runs_end_with_the_sinks_and_with_the_ring) {
  const layout::manager m({2, 100, 0, 0, 1});
  const auto view = m.view(1);
  for (std::size_t p = 0; p < 40; ++p) {
    for (std::size_t i = 0; i < view.run(p); ++i) BOOST_TEST(view.row(p + i) == view.row(p) + i);
    BOOST_TEST(view.row(p) >= m.rows() / 2);
    BOOST_TEST(view.row(p) < m.rows());
  }
  BOOST_TEST(view.run(0) == 2u);
  BOOST_TEST(view.run(2) == 6u);
  BOOST_TEST(view.run(7) == 1u);
  BOOST_TEST(view.run(8) == 6u);
  using seen = tenon::cache::seen;
  BOOST_TEST(seen::of<layout::view>(4).first == 0u);
  BOOST_TEST(seen::of<layout::view>(6).first == 1u);
  BOOST_TEST(seen::of<layout::view>(6).sinks == 1u);
  BOOST_TEST(seen::of<layout::view>(7).sinks == 2u);
}

BOOST_AUTO_TEST_CASE(a_sequence_has_its_context_and_not_a_token_more) {
  layout::manager m({1, 50, 0, 0, 8});
  BOOST_TEST(m.reserve(0, 50));
  BOOST_TEST(!m.reserve(0, 51));
  BOOST_TEST(m.capacity() == 50u);
}

BOOST_AUTO_TEST_SUITE_END()
