// The thread team: every index once, barriers that order memory, and teams that come and go. Run under the
// thread sanitizer too.
#include "tenon/backend/host/thread_team.hpp"

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <numeric>
#include <thread>
#include <vector>

using tenon::host::team_member;

namespace {

/// Sizes of teams: more threads than this machine has processors, too.
constexpr int sizes[] = {1, 2, 3, 4};

}  // namespace

BOOST_AUTO_TEST_SUITE(thread_team)

BOOST_AUTO_TEST_CASE(every_index_is_visited_exactly_once_in_each_of_many_loops) {
  for (const int size : sizes) {
    tenon::host::thread_team team(size);
    for (const std::size_t count : {0u, 1u, 2u, 7u, 64u, 1000u}) {
      std::vector<std::atomic<int>> visits(count);
      constexpr int runs = 20, loops = 5;
      for (int run = 0; run < runs; ++run) {
        team.run([&](team_member& member) {
          for (int loop = 0; loop < loops; ++loop)
            member.for_each(count, [&](std::size_t i) { visits[i].fetch_add(1, std::memory_order_relaxed); });
        });
      }
      for (const std::atomic<int>& each : visits) BOOST_TEST(each.load() == runs * loops);
    }
  }
}

BOOST_AUTO_TEST_CASE(what_a_loop_wrote_is_visible_to_the_next_without_atomics) {
  for (const int size : sizes) {
    tenon::host::thread_team team(size);
    constexpr std::size_t count = 257;
    std::vector<std::size_t> values(count), next(count);
    std::iota(values.begin(), values.end(), std::size_t{0});
    for (int run = 0; run < 20; ++run) {
      team.run([&](team_member& member) {
        // each index reads what some other thread may have written in the loop before
        member.for_each(count, [&](std::size_t i) { next[i] = values[(i + 100) % count] + 1; });
        member.for_each(count, [&](std::size_t i) { values[i] = next[(i + count - 100) % count]; });
      });
    }
    for (std::size_t i = 0; i < count; ++i) BOOST_TEST(values[i] == i + 20);
  }
}

BOOST_AUTO_TEST_CASE(no_member_passes_a_barrier_before_all_have_come) {
  for (const int size : sizes) {
    tenon::host::thread_team team(size);
    std::atomic<int> arrived = 0, early = 0;
    constexpr int rounds = 200;
    team.run([&](team_member& member) {
      for (int round = 1; round <= rounds; ++round) {
        arrived.fetch_add(1);
        member.barrier();
        if (arrived.load() < round * size) early.fetch_add(1);
        member.barrier();
      }
    });
    BOOST_TEST(early.load() == 0);
    BOOST_TEST(arrived.load() == rounds * size);
  }
}

BOOST_AUTO_TEST_CASE(ranks_are_all_different_and_the_caller_is_rank_0) {
  for (const int size : sizes) {
    tenon::host::thread_team team(size);
    BOOST_TEST(team.size() == size);
    std::vector<std::atomic<int>> seen(static_cast<std::size_t>(size));
    const std::thread::id caller = std::this_thread::get_id();
    std::atomic<bool> caller_is_first = true;
    for (int run = 0; run < 10; ++run) {
      team.run([&](team_member& member) {
        seen[static_cast<std::size_t>(member.rank())].fetch_add(1);
        if ((member.rank() == 0) != (std::this_thread::get_id() == caller)) caller_is_first = false;
        if (member.size() != size) caller_is_first = false;
      });
    }
    for (const std::atomic<int>& each : seen) BOOST_TEST(each.load() == 10);
    BOOST_TEST(caller_is_first.load());
  }
}

BOOST_AUTO_TEST_CASE(run_returns_only_when_all_members_are_done) {
  for (const int size : sizes) {
    tenon::host::thread_team team(size);
    for (int run = 0; run < 50; ++run) {
      std::vector<int> done(static_cast<std::size_t>(size), 0);  // gone at the end of the turn
      team.run([&](team_member& member) {
        if (member.rank() % 2 == run % 2) std::this_thread::yield();
        done[static_cast<std::size_t>(member.rank())] = 1;
      });
      BOOST_TEST(std::accumulate(done.begin(), done.end(), 0) == size);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_team_serves_callers_of_different_threads_one_after_another) {
  tenon::host::thread_team team(3);
  std::atomic<int> sum = 0;
  for (int i = 0; i < 20; ++i) {
    std::thread caller([&] {
      team.run([&](team_member& member) {
        member.for_each(10, [&](std::size_t k) { sum.fetch_add(static_cast<int>(k)); });
      });
    });
    caller.join();
  }
  BOOST_TEST(sum.load() == 20 * 45);
}

BOOST_AUTO_TEST_CASE(teams_end_whether_or_not_they_ever_ran) {
  int ran = 0;
  for (int turn = 0; turn < 50; ++turn) {
    tenon::host::thread_team idle(4);
    tenon::host::thread_team busy(2);
    std::atomic<int> members = 0;
    busy.run([&](team_member&) { members.fetch_add(1); });
    ran += members.load();
  }
  BOOST_TEST(ran == 100);
}

BOOST_AUTO_TEST_CASE(two_teams_run_side_by_side) {
  std::atomic<int> sums[2] = {0, 0};
  const auto work = [&](int which) {
    tenon::host::thread_team team(2);
    for (int run = 0; run < 50; ++run) {
      team.run(
          [&](team_member& member) { member.for_each(100, [&](std::size_t) { sums[which].fetch_add(1); }); });
    }
  };
  std::thread other([&] { work(1); });
  work(0);
  other.join();
  BOOST_TEST(sums[0].load() == 5000);
  BOOST_TEST(sums[1].load() == 5000);
}

BOOST_AUTO_TEST_CASE(a_team_of_no_threads_is_a_team_of_one) {
  tenon::host::thread_team team(0);
  int visited = 0;
  team.run([&](team_member& member) { member.for_each(3, [&](std::size_t) { ++visited; }); });
  BOOST_TEST(team.size() == 1);
  BOOST_TEST(visited == 3);
}

BOOST_AUTO_TEST_SUITE_END()
