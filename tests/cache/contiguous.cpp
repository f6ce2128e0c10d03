#include <tenon/cache/contiguous.hpp>

#include <rapidcheck.h>
#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <set>

using layout = tenon::cache::contiguous;
using tenon::cache::geometry;

BOOST_AUTO_TEST_SUITE(contiguous)

BOOST_AUTO_TEST_CASE(each_position_of_each_slot_has_a_row_of_its_own) {
  BOOST_TEST(rc::check([] {
    const geometry size = {*rc::gen::inRange<std::size_t>(1, 10), *rc::gen::inRange<std::size_t>(1, 100)};
    const layout::manager manager(size);
    std::set<std::size_t> rows;
    for (std::size_t slot = 0; slot < size.max_batch; ++slot) {
      for (std::size_t p = 0; p < size.context; ++p) rows.insert(manager.view(slot).row(p));
    }
    return rows.size() == size.max_batch * size.context && manager.rows() == rows.size() &&
           *rows.rbegin() == manager.rows() - 1;
  }));
}

BOOST_AUTO_TEST_CASE(a_run_reaches_to_the_end_of_the_context) {
  const layout::manager manager({3, 40});
  const auto view = manager.view(2);
  for (std::size_t p = 0; p < 40; ++p) {
    BOOST_TEST(view.run(p) == 40 - p);
    for (std::size_t i = 0; i < view.run(p); ++i) BOOST_TEST(view.row(p + i) == view.row(p) + i);
  }
}

BOOST_AUTO_TEST_CASE(a_slot_holds_its_context_and_not_a_token_more) {
  layout::manager manager({2, 40});
  BOOST_TEST(manager.reserve(0, 1));
  BOOST_TEST(manager.reserve(1, 40));
  BOOST_TEST(!manager.reserve(0, 41));
  manager.release(1);
  BOOST_TEST(manager.reserve(1, 40));
}

BOOST_AUTO_TEST_SUITE_END()
