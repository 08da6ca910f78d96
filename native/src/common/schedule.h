// How long work would take on so many threads: found on one, in a build for it (`-DJAXTREE_SCHEDULE=ON`).
//
// A region's pieces are done one after another and timed. From their times follows when the last of them would end on the
// threads that there are said to be, of which those that a piece has for itself share in the regions that it begins. Whatever is
// not in a region, and what XLA divides among its own threads, counts as the work of one thread. The same times are summed for
// every region of the code, without those of the regions within it.

#ifndef JAXTREE_NATIVE_COMMON_SCHEDULE_H_
#define JAXTREE_NATIVE_COMMON_SCHEDULE_H_

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cxxabi.h>

#include <cstdio>
#include <cstdlib>
#include <limits>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace jaxtree {

class Schedule {
 public:
  using Clock = std::chrono::steady_clock;
  using Duration = std::chrono::duration<double, std::nano>;

  // What other threads would have saved since the process began, in nanoseconds.
  static double Saved() { return saved_.load(); }

  // The number of threads that the current piece has for itself, `most` at the highest.
  static int64_t NumThreads(int64_t most) { return std::min(PlaceOfThread().num_threads, most); }

  // A line for every region of the code: its seconds on one thread, on as many as there are, how often it has run, and the
  // type of its work, whose name has that of the function.
  static std::string Regions() {
    std::lock_guard<std::mutex> lock(tallying_);
    std::string lines;
    for (const auto& [name, tally] : tallies_) {
      char* const readable = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, nullptr);
      char figures[96];
      std::snprintf(figures, sizeof figures, "%.6f %.6f %lld ", tally.alone / 1e9, tally.shared / 1e9,
                    static_cast<long long>(tally.times));
      lines += figures + std::string(readable ? readable : name.c_str()) + "\n";
      std::free(readable);
    }
    return lines;
  }

  // Calls run(next) here, where next() has the pieces of a region in turn. `name` is that of the work's type.
  template <typename Run>
  static void Do(const char* name, int64_t num_threads, int64_t count, const Run& run) {
    Place& place = PlaceOfThread();
    const int64_t whole = place.num_threads, own = std::min(whole, num_threads), working = std::min(own, count);
    const bool is_outermost = whole == kAll;
    place.num_threads = std::max<int64_t>(own / std::max<int64_t>(working, 1), 1);
    const double saved_before = place.saved, within_before = std::exchange(place.within, 0);
    // When the threads are done, and when they would be if regions within took no time.
    std::vector<double> end(std::max<int64_t>(working, 1)), own_end(end.size());
    double alone = 0, own_alone = 0, saved_at = 0;
    Clock::time_point begin;
    int64_t taken = 0;
    bool is_timed = false;
    run([&] {
      if (is_timed) {
        const double took = Duration(Clock::now() - begin).count();
        const double own_took = took - std::exchange(place.within, 0);
        alone += took;
        own_alone += own_took;
        *std::min_element(end.begin(), end.end()) += took - (place.saved - saved_at);
        *std::min_element(own_end.begin(), own_end.end()) += own_took;
      }
      is_timed = taken < count;
      begin = Clock::now();
      saved_at = place.saved;
      return is_timed ? taken++ : count;
    });
    const double region = working > 1 ? kNanosecondsOfRegion : 0;
    place.saved = saved_before + alone - *std::max_element(end.begin(), end.end()) - region;
    place.num_threads = whole;
    place.within = within_before + alone;
    Add(name, {own_alone, *std::max_element(own_end.begin(), own_end.end()) + region, 1});
    if (!is_outermost) return;
    for (double before = saved_; !saved_.compare_exchange_weak(before, before + place.saved);) {
    }
    place.saved = place.within = 0;
  }

 private:
  static constexpr int64_t kAll = std::numeric_limits<int64_t>::max();
  // To begin and to end a region that helpers look for.
  static constexpr double kNanosecondsOfRegion = 2000;

  struct Place {
    int64_t num_threads = kAll;  // of the piece that the thread does
    double saved = 0, within = 0;    // what threads would save, and the time of regions, within the region so far
  };

  struct Tally {
    double alone = 0, shared = 0;  // in nanoseconds
    int64_t times = 0;
  };

  static void Add(const char* name, const Tally& own) {
    std::lock_guard<std::mutex> lock(tallying_);
    Tally& sum = tallies_[name];
    sum = {sum.alone + own.alone, sum.shared + own.shared, sum.times + own.times};
  }

  static Place& PlaceOfThread() {
    static thread_local Place place;
    return place;
  }

  static inline std::atomic<double> saved_{0};
  static inline std::mutex tallying_;
  static inline std::map<std::string, Tally> tallies_;
};

}  // namespace jaxtree

#endif  // JAXTREE_NATIVE_COMMON_SCHEDULE_H_
