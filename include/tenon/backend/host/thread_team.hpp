// A team of threads that run one function together, as a step of the engine does: every op splits its work
// over the team and ends in a barrier. Waiting spins for a bounded time and then gives the processor away, so
// that a team on a busy machine slows down instead of collapsing.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#if defined(__x86_64__) || defined(__i386__)
#include <emmintrin.h>
#endif

namespace tenon::host {

namespace detail {

inline void pause() {
#if defined(__x86_64__) || defined(__i386__)
  _mm_pause();
#endif
}

/// Waits until `ready()`: spins some microseconds, then yields between looks.
template <class Ready>
void spin_then_yield(Ready&& ready) {
  constexpr int spins = 2000;
  for (int i = 0; i < spins; ++i) {
    if (ready()) return;
    pause();
  }
  while (!ready()) std::this_thread::yield();
}

}  // namespace detail

class thread_team;

/// One thread's place in its team, given to the function that the team runs.
class team_member {
 public:
  /// 0 is the thread that called run().
  int rank() const { return rank_; }
  int size() const;

  /// Returns when all members have come here; what they wrote before is visible after.
  void barrier();

  /// Calls `work(i)` for each i in [0, count), each on one member, in runs of neighbouring i. Ends in a
  /// barrier.
  template <class Work>
  void for_each(std::size_t count, Work&& work);

 private:
  friend class thread_team;
  team_member(thread_team& team, int rank) : team_(&team), rank_(rank) {}

  thread_team* team_;
  int rank_;
  std::uint32_t epoch_ = 0;  // barriers passed
  std::uint32_t loop_ = 0;   // for_each calls made; all members make the same ones
};

/// `size` threads, one of which is the caller's. Not movable: members hold its address.
class thread_team {
 public:
  explicit thread_team(int size) : size_(size < 1 ? 1 : size) {
    for (int rank = 1; rank < size_; ++rank) threads_.emplace_back([this, rank] { serve(rank); });
  }
  thread_team(const thread_team&) = delete;
  thread_team& operator=(const thread_team&) = delete;

  ~thread_team() {
    job_ = nullptr;
    wake();
    for (std::thread& thread : threads_) thread.join();
  }

  int size() const { return size_; }

  /// Calls `work(member)` on every thread of the team and returns when all have returned. `work` must not
  /// throw.
  template <class Work>
  void run(Work&& work) {
    auto call = [&work](team_member& member) { work(member); };
    job_ = [](void* target, team_member& member) { (*static_cast<decltype(call)*>(target))(member); };
    target_ = &call;
    wake();
    team_member caller(*this, 0);
    caller.epoch_ = epoch_of_last_run_;
    caller.loop_ = loop_of_last_run_;
    work(caller);
    caller.barrier();
    epoch_of_last_run_ = caller.epoch_;
    loop_of_last_run_ = caller.loop_;
  }

 private:
  friend class team_member;

  void wake() {
    generation_.fetch_add(1, std::memory_order_release);
    if (size_ > 1) generation_.notify_all();
  }

  void serve(int rank) {
    team_member member(*this, rank);
    std::uint32_t seen = 0;
    for (;;) {
      for (int spins = 0; spins < 20000 && generation_.load(std::memory_order_acquire) == seen; ++spins)
        detail::pause();
      generation_.wait(seen, std::memory_order_acquire);
      ++seen;
      if (job_ == nullptr) return;
      job_(target_, member);
      member.barrier();
    }
  }

  int size_;
  std::vector<std::thread> threads_;
  void (*job_)(void*, team_member&) = nullptr;
  void* target_ = nullptr;
  std::uint32_t epoch_of_last_run_ = 0;
  std::uint32_t loop_of_last_run_ = 0;
  alignas(64) std::atomic<std::uint32_t> generation_ = 0;  // counts run() calls
  alignas(64) std::atomic<std::uint32_t> arrived_ = 0;     // members at the barrier
  alignas(64) std::atomic<std::uint32_t> epoch_ = 0;       // barriers completed
  struct alignas(64) counter {
    std::atomic<std::size_t> next = 0;
  };
  counter loops_[2];  // the next index of a for_each; two, because one is cleared while the other is in use
};

inline int team_member::size() const { return team_->size_; }

inline void team_member::barrier() {
  if (team_->size_ == 1) return;
  const std::uint32_t mine = epoch_++;
  const auto all = static_cast<std::uint32_t>(team_->size_);
  if (team_->arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == all) {
    team_->arrived_.store(0, std::memory_order_relaxed);
    team_->epoch_.store(mine + 1, std::memory_order_release);
  } else {
    detail::spin_then_yield([&] { return team_->epoch_.load(std::memory_order_acquire) != mine; });
  }
}

template <class Work>
void team_member::for_each(std::size_t count, Work&& work) {
  if (team_->size_ == 1) {
    for (std::size_t i = 0; i < count; ++i) work(i);
    return;
  }
  // Runs short enough to even out what other threads of the machine take, long enough to stream through
  // memory.
  const auto threads = static_cast<std::size_t>(team_->size_);
  const std::size_t run = count / (threads * 8) + 1;
  std::atomic<std::size_t>& next = team_->loops_[loop_ % 2].next;
  for (;;) {
    const std::size_t first = next.fetch_add(run, std::memory_order_relaxed);
    if (first >= count) break;
    const std::size_t last = first + run < count ? first + run : count;
    for (std::size_t i = first; i < last; ++i) work(i);
  }
  barrier();
  // All have left this loop; the next one uses the other counter, and its barrier orders this store before
  // reuse.
  if (rank_ == 0) next.store(0, std::memory_order_relaxed);
  ++loop_;
}

}  // namespace tenon::host
