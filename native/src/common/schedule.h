// How long work would take on so many threads: found on one, in a build for it (`-DJAXTREE_SCHEDULE=ON`).
//
// A region's pieces are done one after another and timed. From their times follows when the last of them would end on the
// threads that there are said to be, of which those that a piece has for itself share in the regions that it begins. Whatever is
// not in a region, and what XLA divides among its own threads, counts as the work of one thread.

#ifndef JAXTREE_NATIVE_COMMON_SCHEDULE_H_
#define JAXTREE_NATIVE_COMMON_SCHEDULE_H_

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace jaxtree {

class Schedule {
 public:
  using Clock = std::chrono::steady_clock;
  using Duration = std::chrono::duration<double, std::nano>;

  // What other threads would have saved since the process began, in nanoseconds.
  static double Saved() { return saved_.load(); }

  // Calls run(next) here, where next() has the pieces of a region in turn.
  template <typename Run>
  static void Do(int64_t num_threads, int64_t count, const Run& run) {
    Place& place = PlaceOfThread();
    const int64_t whole = place.num_threads, own = std::min(whole, num_threads), working = std::min(own, count);
    const bool is_outermost = whole == kAll;
    place.num_threads = std::max<int64_t>(own / std::max<int64_t>(working, 1), 1);
    const double saved_before = place.saved;
    std::vector<double> end(std::max<int64_t>(working, 1));
    double alone = 0, saved_at = 0;
    Clock::time_point begin;
    int64_t taken = 0;
    bool is_timed = false;
    run([&] {
      if (is_timed) {
        const double took = Duration(Clock::now() - begin).count();
        alone += took;
        *std::min_element(end.begin(), end.end()) += took - (place.saved - saved_at);
      }
      is_timed = taken < count;
      begin = Clock::now();
      saved_at = place.saved;
      return is_timed ? taken++ : count;
    });
    const double region = working > 1 ? kNanosecondsOfRegion : 0;
    place.saved = saved_before + alone - *std::max_element(end.begin(), end.end()) - region;
    place.num_threads = whole;
    if (!is_outermost) return;
    for (double before = saved_; !saved_.compare_exchange_weak(before, before + place.saved);) {
    }
    place.saved = 0;
  }

 private:
  static constexpr int64_t kAll = std::numeric_limits<int64_t>::max();
  // To begin and to end a region that helpers look for.
  static constexpr double kNanosecondsOfRegion = 2000;

  struct Place {
    int64_t num_threads = kAll;  // of the piece that the thread does
    double saved = 0;
  };

  static Place& PlaceOfThread() {
    static thread_local Place place;
    return place;
  }

  static inline std::atomic<double> saved_{0};
};

}  // namespace jaxtree

#endif  // JAXTREE_NATIVE_COMMON_SCHEDULE_H_
