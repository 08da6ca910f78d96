// The threads of the kernel: one team for the process, whose helpers share in the work of all callers.
//
// A region of work that many threads share lasts microseconds, and the next one follows soon. So helpers look for the next for
// a short while before they sleep; to begin a region costs a store or two, and to end it a wait for begun pieces. Nothing is
// allocated for a region. Regions of several callers, and those that pieces of a region begin, are open at the same time, and
// helpers go where work is left.

#ifndef JAXTREE_NATIVE_COMMON_TEAM_H_
#define JAXTREE_NATIVE_COMMON_TEAM_H_

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <iterator>
#include <mutex>
#include <thread>
#include <utility>

#ifndef _WIN32
#include <pthread.h>
#endif

namespace jaxtree {

// How long a thread looks for what it waits for before it sleeps: to wake it takes some tens of microseconds.
constexpr std::chrono::microseconds kLongestLook{50};
// Looks at a flag between two at the clock. Then another thread that waits for this core may have it.
constexpr int64_t kLooksAtATime = 64;

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
  using Clock = std::chrono::steady_clock;
  for (auto end = Clock::time_point::max(), now = Clock::time_point::min(); now < end; now = Clock::now()) {
    for (int64_t look = 0; look < kLooksAtATime; ++look, Pause()) {
      if (condition()) return true;
    }
    if (end == Clock::time_point::max()) end = Clock::now() + kLongestLook;
    std::this_thread::yield();
  }
  return false;
}

class Team {
 public:
  // A forked process has none of its parent's threads, and begins anew; what the parent has is left as it is.
  static Team& OfProcess() {
    // No mutex, which another thread might hold while this one forks; of two that are made at once, one is forgotten.
    static std::atomic<Team*> team{nullptr};
    if (Team* const own = team) return *own;
#ifndef _WIN32
    [[maybe_unused]] static const int registered = pthread_atfork(nullptr, nullptr, [] { team = nullptr; });
#endif
    auto* const made = new Team();
    Team* own = nullptr;
    if (team.compare_exchange_strong(own, made)) return *made;
    delete made;
    return *own;
  }

  // The number of the calling thread in the team; 0 if it is no helper.
  static int64_t NumberOfThread() { return Number(); }

  // The number of helpers of a caller of `num_threads` threads that have no work now. They may find some at any time.
  int64_t NumFree(int64_t num_threads) {
    return std::max<int64_t>(std::min(Start(num_threads - 1), num_threads - 1) - num_inside_, 0);
  }

  // Calls work() here and on helpers, `most` threads of `num_threads` in all, and returns when all that have begun have ended;
  // it must not throw. Helpers come if they can. Of several callers each has fewer: no more threads work than there are, but
  // that every caller works.
  template <typename Work>
  void Run(int64_t num_threads, int64_t most, const Work& work) {
    const int32_t depth = DepthOfThread();
    const int64_t num_callers = depth == 0 ? ++num_callers_ : num_callers_.load();
    const int64_t num_free = Start(num_threads - 1) + 1 - num_callers, num_places = std::min(most - 1, num_free);
    Region* const region = num_places > 0 ? Take() : nullptr;
    if (region != nullptr) {
      region->call = [](const void* given) { (*static_cast<const Work*>(given))(); };
      region->work = &work;
      region->depth = depth + 1;
      Open(*region, num_places);
    }
    {
      const Inside inside(depth + 1);
      work();
    }
    if (region != nullptr) {
      Close(*region);
      region->is_taken = false;
    }
    if (depth == 0) --num_callers_;
  }

 private:
  // Work that threads may share in. Its state has the helpers that may still come, times `kPlace`, and those inside.
  struct alignas(64) Region {
    std::atomic<int64_t> state{0};
    std::atomic<bool> is_taken{false};
    std::atomic<int32_t> depth{0};  // of its pieces: 1, and more for a region that a piece of another has begun
    void (*call)(const void* work) = nullptr;
    const void* work = nullptr;
  };

  // How long a thread does pieces of a region.
  class Inside {
   public:
    explicit Inside(int32_t depth) : before_(std::exchange(DepthOfThread(), depth)) {}
    ~Inside() { DepthOfThread() = before_; }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

   private:
    const int32_t before_;
  };

  struct Sleepers {
    std::atomic<int64_t> number{0};
    std::condition_variable changed;
  };

  static constexpr int64_t kMostRegions = 64;
  static constexpr int64_t kPlace = int64_t{1} << 32;

  static int32_t& DepthOfThread() {
    static thread_local int32_t depth = 0;
    return depth;
  }

  static int64_t& Number() {
    static thread_local int64_t number = 0;
    return number;
  }

  // Starts helpers until there are so many, or as many as the system lets start, and returns their number.
  int64_t Start(int64_t number) {
    if (num_helpers_ >= number) return num_helpers_;
    std::lock_guard<std::mutex> lock(starting_);
    try {
      for (; num_helpers_ < number; ++num_helpers_) {
        std::thread([this, number = num_helpers_ + 1] {
          Number() = number;
          HelpUntil(0, [] { return false; }, helpers_);
        }).detach();
      }
    } catch (const std::exception&) {
    }
    return num_helpers_;
  }

  // A region that nobody has; null where all are taken.
  Region* Take() {
    for (Region& region : regions_) {
      if (!region.is_taken.load(std::memory_order_relaxed) && !region.is_taken.exchange(true)) return &region;
    }
    return nullptr;
  }

  void Open(Region& region, int64_t num_places) {
    num_places_ += num_places;
    region.state = num_places * kPlace;
    Wake(helpers_, num_places);
    Wake(callers_, kMostRegions);
  }

  // Lets nobody come any more, and waits for those inside; meanwhile helps with what their pieces have begun.
  void Close(Region& region) {
    num_places_ -= region.state.fetch_and(kPlace - 1) / kPlace;
    HelpUntil(region.depth, [&] { return region.state == 0; }, callers_);
  }

  void Wake(Sleepers& sleepers, int64_t most) {
    const int64_t number = std::min(sleepers.number.load(), most);
    if (number == 0) return;
    { std::lock_guard<std::mutex> lock(mutex_); }  // one that is about to sleep sees the change, or is woken
    for (int64_t woken = 0; woken < number; ++woken) sleepers.changed.notify_one();
  }

  // Does the work of regions whose depth is greater, until something is done.
  template <typename Done>
  void HelpUntil(int32_t depth, const Done& is_done, Sleepers& sleepers) {
    const auto has_changed = [&] { return is_done() || HasPlace(depth); };
    while (!is_done()) {
      if (!ComesTrue(has_changed)) {
        std::unique_lock<std::mutex> lock(mutex_);
        ++sleepers.number;
        // The region that it is woken for may be over; then it looks for the next one.
        if (!has_changed()) sleepers.changed.wait(lock);
        --sleepers.number;
      }
      if (!is_done()) HelpWithin(depth);
    }
  }

  bool HasPlace(int32_t depth) const {
    if (num_places_ == 0) return false;
    return std::any_of(std::begin(regions_), std::end(regions_), [=](const Region& own) {
      return own.state >= kPlace && own.depth > depth;
    });
  }

  void HelpWithin(int32_t depth) {
    for (Region& region : regions_) {
      if (region.state < kPlace || region.depth <= depth || !Enter(region)) continue;
      // It may be another one by now.
      if (region.depth > depth) {
        const Inside inside(region.depth);
        ++num_inside_;
        region.call(region.work);
        --num_inside_;
      }
      if (--region.state % kPlace == 0) Wake(callers_, kMostRegions);
    }
  }

  bool Enter(Region& region) {
    int64_t state = region.state;
    while (state >= kPlace) {
      if (!region.state.compare_exchange_weak(state, state - kPlace + 1)) continue;
      --num_places_;
      return true;
    }
    return false;
  }

  Region regions_[kMostRegions];
  alignas(64) std::atomic<int64_t> num_places_{0};  // of helpers, in all regions
  alignas(64) std::atomic<int64_t> num_callers_{0}, num_helpers_{0};  // callers: in no region of another
  std::atomic<int64_t> num_inside_{0};  // of threads that help in a region
  std::mutex mutex_, starting_;
  Sleepers helpers_, callers_;
};

}  // namespace jaxtree

#endif  // JAXTREE_NATIVE_COMMON_TEAM_H_
