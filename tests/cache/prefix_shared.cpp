#include <tenon/cache/ability.hpp>
#include <tenon/cache/prefix_shared.hpp>

#include <rapidcheck.h>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cache/invariants.hpp"

using namespace tenon;
using tenon::test::fault_of;

namespace {

using manager = cache::prefix_shared<cache::paged<4>>::manager;
static_assert(cache::shares_prefixes<manager>);

/// All sequences of tokens look alike to it.
struct constant_hash {
  static std::uint64_t hash(cache::prefix_id, std::span<const token_id>) { return 5; }
};
using colliding = cache::prefix_shared<cache::paged<4>, constant_hash>::manager;

/// n tokens that count from `first`.
std::vector<token_id> counting(std::size_t n, token_id first = 0) {
  std::vector<token_id> made(n);
  for (std::size_t i = 0; i < n; ++i) made[i] = first + static_cast<token_id>(i);
  return made;
}

/// Computes a prompt in a slot, as an engine does. Returns what was found in the cache.
template <class Manager>
std::size_t compute(Manager& m, std::size_t slot, const std::vector<token_id>& tokens) {
  const std::size_t found = m.match(slot, tokens);
  BOOST_REQUIRE(m.reserve(slot, tokens.size()));
  m.computed(slot, tokens);
  return found;
}

/// What would be found of a prompt, without a trace.
template <class Manager>
std::size_t known(Manager& m, std::size_t slot, const std::vector<token_id>& tokens) {
  const std::size_t found = m.match(slot, tokens);
  m.release(slot);
  return found;
}

cache::block_id entry(const manager& m, std::size_t slot, std::size_t block) {
  return m.tables()[slot * m.max_blocks() + block];
}

}  // namespace

BOOST_AUTO_TEST_SUITE(prefix_shared)

BOOST_AUTO_TEST_CASE(full_blocks_are_found_again_and_nothing_else) {
  manager m({3, 64});
  BOOST_TEST(compute(m, 0, counting(14)) == 0u);
  BOOST_TEST(known(m, 1, counting(14)) == 12u);
  BOOST_TEST(known(m, 1, counting(40)) == 12u);
  BOOST_TEST(known(m, 1, counting(11)) == 8u);
  BOOST_TEST(known(m, 1, counting(3)) == 0u);
  std::vector<token_id> other = counting(14);
  other[5] = 99;  // only the block before is the same
  BOOST_TEST(known(m, 1, other) == 4u);
  BOOST_TEST(known(m, 1, counting(8, 4)) ==
             0u);  // the same tokens as the second block, but not behind the first
  BOOST_TEST(m.pool().references(entry(m, 0, 0)) == 1u);
  BOOST_TEST(compute(m, 1, counting(14)) == 12u);
  BOOST_TEST(m.pool().references(entry(m, 0, 0)) == 2u);
  BOOST_TEST(entry(m, 0, 3) != entry(m, 1, 3));
}

BOOST_AUTO_TEST_CASE(the_last_token_of_a_known_prompt_is_computed_in_a_block_of_its_own) {
  manager m({3, 64});
  compute(m, 0, counting(16));
  const cache::block_id last = entry(m, 0, 3);
  // While the first still runs, the block is copied.
  BOOST_TEST(m.match(1, counting(16)) == 15u);
  BOOST_TEST(m.reserve(1, 16));
  BOOST_TEST(m.copies().size() == 1u);
  BOOST_TEST((m.copies()[0] == cache::block_copy{cache::copy_kind::within, last, entry(m, 1, 3)}));
  m.computed(1, counting(16));
  BOOST_TEST(fault_of(m, 3, 0) == "");
  m.copies_done();
  m.release(0);
  m.release(1);
  // When nobody holds it, it is taken out of the index instead, until it has been written.
  BOOST_TEST(m.match(0, counting(16)) == 15u);
  BOOST_TEST(m.reserve(0, 16));
  BOOST_TEST(m.copies().empty());
  BOOST_TEST(known(m, 1, counting(16)) == 12u);
  m.computed(0, counting(16));
  BOOST_TEST(known(m, 1, counting(16)) == 15u);
  BOOST_TEST(fault_of(m, 3, 0) == "");
}

BOOST_AUTO_TEST_CASE(a_known_prompt_fits_into_a_cache_that_it_fills) {
  manager m({2, 16, 16});
  for (int i = 0; i < 3; ++i) {
    BOOST_TEST(compute(m, 0, counting(16)) == (i == 0 ? 0u : 15u));
    BOOST_TEST(m.copies().empty());
    m.release(0);
  }
}

BOOST_AUTO_TEST_CASE(what_is_not_computed_is_not_offered) {
  manager m({2, 64});
  BOOST_TEST(m.match(0, counting(16)) == 0u);
  m.reserve(0, 16);
  m.computed(0, counting(7));  // in the middle of the prefill
  BOOST_TEST(known(m, 1, counting(16)) == 4u);
  m.release(0);  // cancelled
  BOOST_TEST(known(m, 1, counting(16)) == 4u);
  BOOST_TEST(m.free_blocks() == m.blocks());
}

BOOST_AUTO_TEST_CASE(the_least_recently_used_goes_first_and_the_end_of_a_prefix_before_its_beginning) {
  manager m({2, 32, 32});  // eight blocks
  compute(m, 0, counting(12, 100));
  m.release(0);
  compute(m, 0, counting(12, 200));
  m.release(0);
  compute(m, 0, counting(1, 300));
  m.reserve(0, 9);  // three blocks, of which two were never used
  BOOST_TEST(known(m, 1, counting(13, 100)) == 8u);
  m.reserve(0, 13);  // the one before was used again just now
  BOOST_TEST(known(m, 1, counting(13, 200)) == 8u);
  BOOST_TEST(known(m, 1, counting(13, 100)) == 8u);
  m.reserve(0, 32);
  BOOST_TEST(m.index().size() == 0u);
  BOOST_TEST(m.free_blocks() == 0u);
  BOOST_TEST(fault_of(m, 2, 0) == "");
}

BOOST_AUTO_TEST_CASE(what_followed_a_block_that_is_gone_is_not_found_behind_another) {
  manager m({3, 32, 32});
  // Two that run at once compute the same; the second's own first block is not the one in the index.
  m.reserve(0, 4);
  m.reserve(1, 8);
  m.computed(0, counting(4));
  m.computed(1, counting(8));
  m.release(0);  // its block is the parent of what the second has entered
  m.reserve(2, 24);
  m.computed(2, counting(24, 500));  // takes all that is left, the parent too
  BOOST_TEST(known(m, 0, counting(8)) == 0u);
  m.release(2);
  compute(m, 0, counting(5));  // enters the first block again, under another number
  BOOST_TEST(known(m, 2, counting(9)) == 4u);
  BOOST_TEST(fault_of(m, 3, 0) == "");
}

BOOST_AUTO_TEST_CASE(equal_hashes_share_nothing_that_is_not_equal) {
  colliding m({3, 64});
  BOOST_TEST(compute(m, 0, counting(12)) == 0u);
  BOOST_TEST(compute(m, 1, counting(12, 50)) == 0u);
  BOOST_TEST(known(m, 2, counting(13)) == 12u);
  BOOST_TEST(known(m, 2, counting(13, 50)) == 12u);
  std::vector<token_id> mixed = counting(4);
  const std::vector<token_id> rest = counting(8, 54);
  mixed.insert(mixed.end(), rest.begin(), rest.end());
  BOOST_TEST(known(m, 2, mixed) == 4u);  // the others' blocks stand behind another beginning
  m.release(0);
  m.release(1);
  BOOST_TEST(fault_of(m, 3, 0) == "");
}

BOOST_AUTO_TEST_CASE(a_sequence_that_comes_back_from_the_swap_space_is_shared_again) {
  manager m({2, 32, 32, 32});
  compute(m, 0, counting(10));
  const auto away = m.swap_out(0);
  m.reserve(1, 32);  // evicts all
  m.release(1);
  m.copies_done();
  BOOST_TEST(known(m, 1, counting(10)) == 0u);
  BOOST_TEST(m.swap_in(0, *away, 11));
  m.computed(0, counting(11));
  BOOST_TEST(known(m, 1, counting(10)) == 8u);
  BOOST_TEST(fault_of(m, 2, 0) == "");
}

BOOST_AUTO_TEST_CASE(any_traffic_finds_only_what_was_computed) {
  const auto traffic = [](auto of) {
    using any_manager = typename decltype(of)::type;
    const std::size_t slots = 4;
    any_manager m({slots, 40, 4 * *rc::gen::inRange<std::size_t>(10, 40)});
    std::vector<std::vector<token_id>> content(m.blocks());  // all tokens up to the end of a block
    for (int n = *rc::gen::inRange(0, 60); n > 0; --n) {
      const auto slot = *rc::gen::inRange<std::size_t>(0, slots);
      m.release(slot);
      if (*rc::gen::inRange(0, 4) == 0) continue;
      std::vector<token_id> tokens;
      for (auto length = *rc::gen::inRange<std::size_t>(1, 41); length > 0; --length)
        tokens.push_back(*rc::gen::inRange(0, tokens.size() % 4 == 3 ? 3 : 1));
      const std::size_t found = m.match(slot, tokens);
      RC_ASSERT(found < tokens.size());
      for (std::size_t b = 0; b < m.held(slot); ++b) {
        const auto& there = content[static_cast<std::size_t>(m.tables()[slot * m.max_blocks() + b])];
        RC_ASSERT(there.size() == (b + 1) * 4 && std::equal(there.begin(), there.end(), tokens.begin()));
      }
      if (!m.reserve(slot, tokens.size())) {
        m.release(slot);
        continue;
      }
      for (std::size_t b = found / 4; b < m.held(slot); ++b) {
        const auto end = tokens.begin() + static_cast<std::ptrdiff_t>((std::min)(tokens.size(), (b + 1) * 4));
        content[static_cast<std::size_t>(m.tables()[slot * m.max_blocks() + b])].assign(tokens.begin(), end);
      }
      m.computed(slot, tokens);
      m.copies_done();
      RC_ASSERT(fault_of(m, slots, 0) == "");
    }
  };
  BOOST_TEST(rc::check([&] { traffic(std::common_type<manager>()); }));
  BOOST_TEST(rc::check([&] { traffic(std::common_type<colliding>()); }));
}

BOOST_AUTO_TEST_SUITE_END()
