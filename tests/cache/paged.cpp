#include <tenon/cache/ability.hpp>
#include <tenon/cache/paged.hpp>

#include <rapidcheck.h>
#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "cache/invariants.hpp"

using namespace tenon;
using cache::block_copy;
using cache::copy_kind;
using tenon::test::fault_of;

namespace {

using manager = cache::paged<4>::manager;

std::vector<token_id> tokens(std::size_t count) { return std::vector<token_id>(count, 7); }

std::vector<block_copy> listed(const manager& m) { return {m.copies().begin(), m.copies().end()}; }

cache::block_id entry(const manager& m, std::size_t slot, std::size_t block) {
  return m.tables()[slot * m.max_blocks() + block];
}

}  // namespace

static_assert(cache::bounded<manager> && cache::counts_blocks<manager> && cache::follows_tokens<manager> &&
              cache::forks<manager> && cache::swaps<manager> && cache::copies_blocks<manager> &&
              cache::table_view<manager::view_type> && !cache::shares_prefixes<manager>);

BOOST_AUTO_TEST_SUITE(paged)

BOOST_AUTO_TEST_CASE(a_sequence_holds_as_many_blocks_as_its_positions_need) {
  for (const std::size_t positions : {1u, 3u, 4u, 5u, 7u, 8u, 9u, 16u}) {
    manager m({2, 16});
    BOOST_TEST(m.reserve(1, positions));
    BOOST_TEST(m.held(1) == (positions + 3) / 4);
    BOOST_TEST(m.free_blocks() == 8 - m.held(1));
    BOOST_TEST(m.reserve(1, positions));  // again changes nothing
    BOOST_TEST(m.held(1) == (positions + 3) / 4);
    m.release(1);
    BOOST_TEST(m.free_blocks() == 8u);
  }
}

BOOST_AUTO_TEST_CASE(rows_are_found_by_the_table_in_any_memory) {
  manager m({2, 16});
  m.reserve(0, 4);
  m.reserve(1, 8);
  m.reserve(0, 16);
  const std::vector<cache::block_id> copied(m.tables().begin(), m.tables().end());
  const auto here = m.view(0), there = manager::view_type{copied.data()};
  for (std::size_t p = 0; p < 16; ++p) {
    BOOST_TEST(here.row(p) == static_cast<std::size_t>(entry(m, 0, p / 4)) * 4 + p % 4);
    BOOST_TEST(there.row(p) == here.row(p));
    BOOST_TEST(here.run(p) == 4 - p % 4);
  }
  BOOST_TEST(entry(m, 1, 2) == cache::no_block);
}

BOOST_AUTO_TEST_CASE(rows_beyond_32_bits_are_rows) {
  const cache::block_id table[] = {2147483647};
  const cache::block_view<16> view{table};
  BOOST_TEST(view.row(3) == std::size_t{2147483647} * 16 + 3);
  const cache::block_id page_11651[] = {11651};
  BOOST_TEST(cache::block_view<16>{page_11651}.row(0) * 11520 == std::size_t{2147512320});
}

BOOST_AUTO_TEST_CASE(what_finds_no_room_changes_nothing) {
  manager m({2, 100, 20});  // five blocks
  BOOST_TEST(m.rows() == 20u);
  BOOST_TEST(m.capacity() == 20u);
  BOOST_TEST(m.reserve(0, 12));
  BOOST_TEST(!m.reserve(1, 9));
  BOOST_TEST(m.held(1) == 0u);
  BOOST_TEST(m.reserve(1, 8));
  BOOST_TEST(!m.reserve(1, 9));
  BOOST_TEST(m.held(1) == 2u);
  BOOST_TEST(fault_of(m, 2, 0) == "");
  BOOST_TEST(!manager({1, 10}).reserve(0, 13));  // more than the context
  BOOST_TEST(manager({4, 10}).rows() == 4u * 12u);
  BOOST_TEST(manager({4, 10}).capacity() == 10u);
}

BOOST_AUTO_TEST_CASE(a_fork_shares_until_it_writes_and_then_copies_once) {
  manager m({3, 32});
  m.reserve(0, 10);
  m.computed(0, tokens(10));  // two full blocks, and two of the third
  m.fork(0, 1, 10);
  m.fork(0, 2, 8);
  BOOST_TEST(m.held(1) == 3u);
  BOOST_TEST(m.held(2) == 2u);
  BOOST_TEST(m.pool().references(entry(m, 0, 0)) == 3u);
  BOOST_TEST(m.free_blocks() == 24u - 3u);
  BOOST_TEST(m.copies().empty());  // nobody has written
  const cache::block_id third = entry(m, 0, 2);
  BOOST_TEST(m.reserve(1, 11));
  BOOST_TEST(entry(m, 1, 2) != third);
  BOOST_TEST((listed(m) == std::vector<block_copy>{{copy_kind::within, third, entry(m, 1, 2)}}));
  BOOST_TEST(m.reserve(0, 11));  // the block is its own again
  BOOST_TEST(entry(m, 0, 2) == third);
  BOOST_TEST(m.reserve(2, 9));  // begins a block, so there is nothing to copy
  BOOST_TEST(m.copies().size() == 1u);
  BOOST_TEST(fault_of(m, 3, 0) == "");
  m.copies_done();
  BOOST_TEST(m.copies().empty());
  for (std::size_t slot = 0; slot < 3; ++slot) m.release(slot);
  BOOST_TEST(m.free_blocks() == 24u);
}

BOOST_AUTO_TEST_CASE(the_one_that_was_forked_copies_when_it_writes_first) {
  manager m({2, 32});
  m.reserve(0, 6);
  m.computed(0, tokens(6));
  m.fork(0, 1, 6);
  const cache::block_id second = entry(m, 0, 1);
  BOOST_TEST(m.reserve(0, 7));
  BOOST_TEST((listed(m) == std::vector<block_copy>{{copy_kind::within, second, entry(m, 0, 1)}}));
  BOOST_TEST(entry(m, 1, 1) == second);
}

BOOST_AUTO_TEST_CASE(a_copy_on_write_needs_a_block) {
  manager m({2, 32, 8});
  m.reserve(0, 6);
  m.computed(0, tokens(6));
  m.fork(0, 1, 6);
  BOOST_TEST(!m.reserve(1, 7));
  BOOST_TEST(m.copies().empty());
  BOOST_TEST(fault_of(m, 2, 0) == "");
  m.release(0);
  BOOST_TEST(m.reserve(1, 7));
  BOOST_TEST(m.copies().empty());
}

BOOST_AUTO_TEST_CASE(a_swapped_sequence_leaves_its_blocks_and_comes_back) {
  manager m({2, 32, 12, 8});
  m.reserve(0, 12);
  m.computed(0, tokens(7));  // the third block holds nothing yet
  const cache::block_id first = entry(m, 0, 0), second = entry(m, 0, 1);
  const auto away = m.swap_out(0);
  BOOST_TEST(away.has_value());
  const cache::block_id after = m.swap().next(away->first);
  BOOST_TEST((listed(m) == std::vector<block_copy>{{copy_kind::to_host, second, after},
                                                   {copy_kind::to_host, first, away->first}}));
  BOOST_TEST(m.free_blocks() == 3u);
  BOOST_TEST(fault_of(m, 2, 2) == "");
  m.reserve(1, 4);
  m.computed(1, tokens(4));
  BOOST_TEST(!m.swap_out(1).has_value());  // the swap space is full
  BOOST_TEST(m.held(1) == 1u);
  m.copies_done();
  BOOST_TEST(!m.swap_in(0, *away, 9));
  BOOST_TEST(m.held(0) == 0u);
  BOOST_TEST(m.swap_in(0, *away, 8));
  BOOST_TEST(m.written(0) == 7u);
  BOOST_TEST(m.copies().size() == 2u);
  BOOST_TEST((m.copies()[0] == block_copy{copy_kind::from_host, away->first, entry(m, 0, 0)}));
  BOOST_TEST(m.swap().available() == 0u);  // they are yet to be read
  BOOST_TEST(fault_of(m, 2, 0) == "");
  m.copies_done();
  BOOST_TEST(m.swap().available() == 2u);
}

BOOST_AUTO_TEST_CASE(what_is_discarded_gives_its_room_back) {
  manager m({1, 32, 16, 16});
  for (int i = 0; i < 5; ++i) {
    m.reserve(0, 16);
    m.computed(0, tokens(16));
    const auto away = m.swap_out(0);
    BOOST_TEST(away.has_value());
    m.copies_done();
    m.discard(*away);
    BOOST_TEST(fault_of(m, 1, 0) == "");
  }
}

BOOST_AUTO_TEST_CASE(no_block_is_lost_or_owned_twice) {
  BOOST_TEST(rc::check([] {
    const std::size_t slots = 4;
    manager m(
        {slots, 24, 4 * *rc::gen::inRange<std::size_t>(1, 20), 4 * *rc::gen::inRange<std::size_t>(0, 8)});
    std::vector<cache::swapped_sequence> away;
    std::size_t swapped = 0;
    for (int n = *rc::gen::inRange(0, 60); n > 0; --n) {
      const auto slot = *rc::gen::inRange<std::size_t>(0, slots);
      const auto positions = *rc::gen::inRange<std::size_t>(1, 25);
      switch (*rc::gen::inRange(0, 6)) {
        case 0:
          m.release(slot);
          break;
        case 1:
          if (m.held(slot) == 0) {
            const auto from = *rc::gen::inRange<std::size_t>(0, slots);
            if (from != slot) m.fork(from, slot, m.written(from));
          }
          break;
        case 2:
          if (const auto gone = m.swap_out(slot)) {
            away.push_back(*gone);
            swapped += manager::blocks_for(gone->positions);
          }
          break;
        case 3:
          if (m.held(slot) == 0 && !away.empty() && m.swap_in(slot, away.back(), away.back().positions + 1)) {
            RC_ASSERT(m.written(slot) == away.back().positions);
            swapped -= manager::blocks_for(away.back().positions);
            away.pop_back();
          }
          break;
        default:
          if (positions > m.written(slot) && m.reserve(slot, positions)) {
            for (std::size_t b = m.written(slot) / 4; b < manager::blocks_for(positions); ++b)
              RC_ASSERT(m.pool().references(entry(m, slot, b)) == 1u);
            m.computed(slot, tokens(positions));
          }
      }
      RC_ASSERT(fault_of(m, slots, swapped) == "");
      if (*rc::gen::inRange(0, 2) == 0) m.copies_done();
    }
  }));
}

BOOST_AUTO_TEST_SUITE_END()
