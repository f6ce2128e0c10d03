#include <tenon/cache/block_copy.hpp>

#include <rapidcheck.h>
#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <span>
#include <vector>

using namespace tenon::cache;

namespace {

/// Does copies one by one, or in independent batches whose reads all come before their writes.
std::vector<int> done(std::vector<block_copy> copies, bool in_batches) {
  std::vector<int> memory(16);  // 8 blocks of the cache and 8 of the host's
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<int>(i);
  const auto from = [](const block_copy& c) {
    return static_cast<std::size_t>(c.from) + (c.kind == copy_kind::from_host ? 8 : 0);
  };
  const auto to = [](const block_copy& c) {
    return static_cast<std::size_t>(c.to) + (c.kind == copy_kind::to_host ? 8 : 0);
  };
  std::span<const block_copy> rest = copies;
  while (!rest.empty()) {
    const std::size_t count = in_batches ? independent_copies(rest) : 1;
    std::vector<int> read;
    for (const block_copy& c : rest.first(count)) read.push_back(memory[from(c)]);
    for (std::size_t i = count; i-- > 0;) memory[to(rest[i])] = read[i];  // in any order
    rest = rest.subspan(count);
  }
  return memory;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(block_copy)

BOOST_AUTO_TEST_CASE(copies_that_touch_what_another_writes_are_not_independent) {
  using tenon::cache::block_copy;
  const auto within = copy_kind::within, out = copy_kind::to_host, in = copy_kind::from_host;
  const auto count = [](std::vector<block_copy> copies) { return independent_copies(copies); };
  BOOST_TEST(count({}) == 0u);
  BOOST_TEST(count({{within, 0, 1}, {within, 0, 2}, {out, 0, 3}, {in, 4, 5}}) ==
             4u);                                             // reading twice is fine
  BOOST_TEST(count({{within, 0, 1}, {within, 1, 2}}) == 1u);  // what was written
  BOOST_TEST(count({{within, 0, 1}, {within, 2, 0}}) == 1u);  // over what is read
  BOOST_TEST(count({{within, 0, 1}, {within, 2, 1}}) == 1u);  // over what was written
  BOOST_TEST(count({{out, 0, 1}, {within, 2, 0}}) == 1u);
  BOOST_TEST(count({{out, 0, 1}, {within, 2, 1}}) == 2u);  // block 1 of the host is another one
  BOOST_TEST(count({{out, 0, 1}, {in, 1, 2}}) == 1u);
  BOOST_TEST(count({{in, 0, 1}, {out, 2, 0}}) == 1u);
}

BOOST_AUTO_TEST_CASE(batches_do_what_the_list_says) {
  BOOST_TEST(rc::check([] {
    std::vector<tenon::cache::block_copy> copies;
    for (int n = *rc::gen::inRange(0, 12); n > 0; --n) {
      const auto block = rc::gen::inRange<block_id>(0, 8);
      copies.push_back({static_cast<copy_kind>(*rc::gen::inRange(0, 3)), *block, *block});
    }
    return done(copies, true) == done(copies, false);
  }));
}

BOOST_AUTO_TEST_SUITE_END()
