// Merging against the definition: look at all pairs, join the leftmost one of the lowest rank, begin again.
#include "tenon/text/byte_pair.hpp"

#include <rapidcheck.h>
#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

namespace {

using tenon::token_id;
using ids = std::vector<token_id>;

struct known_merge {
  token_id left, right;
};

// Merge number i gives token 3 + i of the tokens 0, 1 and 2.
ids merge_by_definition(const std::vector<known_merge>& merges, ids tokens) {
  for (;;) {
    std::size_t best = merges.size(), place = 0;
    for (std::size_t i = 0; i + 1 < tokens.size(); ++i)
      for (std::size_t rank = 0; rank < best; ++rank)
        if (merges[rank].left == tokens[i] && merges[rank].right == tokens[i + 1]) best = rank, place = i;
    if (best == merges.size()) return tokens;
    tokens[place] = static_cast<token_id>(3 + best);
    tokens.erase(tokens.begin() + static_cast<std::ptrdiff_t>(place) + 1);
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(byte_pair)

BOOST_AUTO_TEST_CASE(any_piece_merges_as_the_definition_says) {
  tenon::text::pair_merger merger;  // one for all: nothing may be left over from the piece before
  BOOST_TEST(rc::check([&] {
    // Also merges of tokens that only later merges make, which no training gives.
    const auto count = *rc::gen::inRange<token_id>(0, 12);
    std::vector<known_merge> merges;
    std::set<std::pair<token_id, token_id>> seen;
    while (merges.size() < static_cast<std::size_t>(count)) {
      const known_merge one{*rc::gen::inRange<token_id>(0, 3 + count),
                            *rc::gen::inRange<token_id>(0, 3 + count)};
      if (seen.insert({one.left, one.right}).second) merges.push_back(one);
    }
    tenon::text::merge_table table(merges.size());
    for (std::size_t i = 0; i < merges.size(); ++i)
      table.add(merges[i].left, merges[i].right,
                {static_cast<std::uint32_t>(i), static_cast<token_id>(3 + i)});

    const ids piece = *rc::gen::container<ids>(rc::gen::inRange<token_id>(0, 3));
    for (const token_id id : piece) merger.push(id);
    ids found;
    merger.finish(table, found);
    RC_ASSERT(found == merge_by_definition(merges, piece));
  }));
}

BOOST_AUTO_TEST_CASE(the_first_merge_given_for_a_pair_is_kept) {
  tenon::text::merge_table table(2);
  table.add(1, 2, {0, 7});
  table.add(1, 2, {1, 8});
  BOOST_TEST(table.find(1, 2)->result == 7);
  BOOST_TEST(table.find(2, 1) == nullptr);
}

BOOST_AUTO_TEST_CASE(a_queue_gives_out_any_keys_smallest_first) {
  BOOST_TEST(rc::check([](const std::vector<std::uint32_t>& first, const std::vector<std::uint32_t>& second) {
    tenon::text::monotone_queue queue;
    std::multiset<std::uint64_t> model;
    const auto push = [&](std::uint64_t key) { queue.push(key), model.insert(key); };
    const auto pop = [&] {
      const std::uint64_t smallest = *model.begin();
      model.erase(model.begin());
      RC_ASSERT(queue.pop() == smallest);
    };
    for (const std::uint32_t key : first) push(std::uint64_t{key} << 20);
    for (const std::uint32_t key : second) {  // in between, also keys below those taken out
      if (!model.empty()) pop();
      push(key);
    }
    while (!model.empty()) pop();
    RC_ASSERT(queue.empty());
  }));
}

BOOST_AUTO_TEST_SUITE_END()
