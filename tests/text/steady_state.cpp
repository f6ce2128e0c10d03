// Detokenizer and stop matcher run inside the decode step, which allocates nothing. This file replaces
// operator new of the test program, to count.
#include "tenon/text/detokenizer.hpp"
#include "tenon/text/stop_matcher.hpp"

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <cstdlib>
#include <new>
#include <string>
#include <string_view>

namespace {
thread_local std::size_t allocations = 0;
}

// Not inlined: g++ would see malloc and delete meet, and warn of it.
[[gnu::noinline]] void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size != 0 ? size : 1)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

BOOST_AUTO_TEST_SUITE(steady_state)

BOOST_AUTO_TEST_CASE(streaming_does_not_allocate_once_room_is_reserved) {
  const std::string_view pieces[] = {"plain text of a token",
                                     "\xe6\xad",
                                     "\xaa<|",
                                     "\xff\xff\xff\xff\xff\xff\xff\xff",
                                     "STO",
                                     "\xf0\x9f\x98",
                                     " and so on until a piece is sixty-four bytes long, as this one is"};
  std::size_t longest = 0;
  for (const std::string_view piece : pieces) longest = piece.size() > longest ? piece.size() : longest;
  tenon::text::detokenizer detokenizer;
  tenon::text::stop_matcher stops({"STOPPING HERE AND NOW", "<|im_end|>", "\xef\xbf\xbd\xef\xbf\xbd!"});
  detokenizer.reserve(longest);
  stops.reserve(3 * (longest + 3));  // text is up to three times as long as its bytes
  const std::size_t before = allocations;
  std::size_t sent = 0;
  for (int round = 0; round < 50; ++round)
    for (const std::string_view piece : pieces) sent += stops.push(detokenizer.push(piece)).size();
  sent += stops.push(detokenizer.finish()).size() + stops.finish().size();
  const std::size_t after = allocations;
  BOOST_TEST(after - before == 0u);
  BOOST_TEST(sent > 50u * 100u);
  BOOST_TEST(!stops.matched());
  const std::string counted(100, 'x');
  BOOST_TEST(allocations > after);  // the count does count
}

BOOST_AUTO_TEST_SUITE_END()
