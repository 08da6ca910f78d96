// The threads of the kernel: one team for the process, which waits for work and shares in it.
//
// A region of work that many threads share lasts microseconds, and the next one follows soon. So those that have helped look
// for the next for a short while before they sleep; to begin a region costs a store, and to end it a wait for begun pieces.
// Nothing is allocated for a region.

#ifndef JAXTREE_NATIVE_COMMON_TEAM_H_
#define JAXTREE_NATIVE_COMMON_TEAM_H_

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>

#ifdef _WIN32
#include <process.h>
#else
#include <unistd.h>
#endif

namespace jaxtree {

// How long a thread looks for what it waits for before it sleeps: to wake it takes some tens of microseconds.
constexpr std::chrono::microseconds kLongestLook{100};
// Looks at a flag between two at the clock, which costs as much as several of them.
constexpr int64_t kLooksPerClock = 16;

inline void Pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Returns whether a condition came true within `kLongestLook`.
template <typename Condition>
bool ComesTrue(const Condition& condition) {
  for (int64_t look = 0; look < kLooksPerClock; ++look, Pause()) {
    if (condition()) return true;
  }
  for (const auto end = std::chrono::steady_clock::now() + kLongestLook; std::chrono::steady_clock::now() < end;) {
    for (int64_t look = 0; look < kLooksPerClock; ++look, Pause()) {
      if (condition()) return true;
    }
  }
  return false;
}

class Team {
 public:
  // A forked process has none of its parent's threads, and begins anew; what the parent has is left as it is.
  static Team& OfProcess() {
    // No mutex, which another thread might hold while this one forks; of two that are made at once, one is forgotten.
    static std::atomic<Team*> team{nullptr};
    Team* own = team.load();
    while (own == nullptr || own->process_ != ProcessId()) {
      auto* const made = new Team();
      if (team.compare_exchange_strong(own, made)) return *made;
      delete made;
    }
    return *own;
  }

  // Calls work() here and on helpers, as many threads in all at most, and returns when all that have begun have ended; it
  // must not throw. Helpers come if they can: the team has one region at a time, so that of several that ask at once, also
  // from within a region, the others work alone, and no more threads run than there are callers and helpers.
  template <typename Work>
  void Run(int64_t num_threads, const Work& work) {
    if (is_taken_.exchange(true)) return work();
    Start(num_threads - 1);
    call_ = [](const void* given) { (*static_cast<const Work*>(given))(); };
    work_ = &work;
    num_wanted_ = num_threads - 1;
    ++region_;  // odd: helpers may enter
    if (num_asleep_ > 0) Wake();
    work();
    ++region_;
    WaitForHelpers();
    is_taken_ = false;
  }

 private:
  Team() : process_(ProcessId()) {}

  static int64_t ProcessId() {
#ifdef _WIN32
    return _getpid();
#else
    return getpid();
#endif
  }

  // Starts helpers until there are so many, or as many as the system lets start.
  void Start(int64_t number) {
    try {
      for (; num_helpers_ < number; ++num_helpers_) std::thread([this, own = num_helpers_] { Help(own); }).detach();
    } catch (const std::exception&) {
    }
  }

  // The life of a helper.
  void Help(int64_t number) {
    for (uint64_t last = 0;;) {
      const auto is_new = [&] { return region_ != last && region_ % 2 == 1; };
      if (!ComesTrue(is_new)) {
        std::unique_lock<std::mutex> lock(mutex_);
        ++num_asleep_;
        is_open_.wait(lock, is_new);
        --num_asleep_;
      }
      last = region_;
      ++num_inside_;
      // Whoever closes a region waits for those that are inside: where it is open still, it stays until this one leaves.
      if (region_ == last && last % 2 == 1 && number < num_wanted_) call_(work_);
      if (--num_inside_ == 0 && is_caller_asleep_) {
        std::lock_guard<std::mutex> lock(mutex_);
        is_left_.notify_all();
      }
    }
  }

  void Wake() {
    std::lock_guard<std::mutex> lock(mutex_);
    is_open_.notify_all();
  }

  void WaitForHelpers() {
    const auto is_empty = [&] { return num_inside_ == 0; };
    if (ComesTrue(is_empty)) return;
    std::unique_lock<std::mutex> lock(mutex_);
    is_caller_asleep_ = true;
    is_left_.wait(lock, is_empty);
    is_caller_asleep_ = false;
  }

  const int64_t process_;
  int64_t num_helpers_ = 0;  // as the other plain members: of the caller that has taken the team, or read inside its region
  int64_t num_wanted_ = 0;
  void (*call_)(const void* work) = nullptr;
  const void* work_ = nullptr;

  alignas(64) std::atomic<uint64_t> region_{0};
  alignas(64) std::atomic<int64_t> num_inside_{0};
  alignas(64) std::atomic<int64_t> num_asleep_{0};
  std::atomic<bool> is_taken_{false}, is_caller_asleep_{false};
  std::mutex mutex_;
  std::condition_variable is_open_, is_left_;
};

}  // namespace jaxtree

#endif  // JAXTREE_NATIVE_COMMON_TEAM_H_
