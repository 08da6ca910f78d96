// Work divided among the threads of the team.

#ifndef JAXTREE_NATIVE_COMMON_PARALLEL_H_
#define JAXTREE_NATIVE_COMMON_PARALLEL_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <numeric>
#include <typeinfo>
#include <utility>
#include <vector>

#ifdef JAXTREE_SCHEDULE
#include "common/schedule.h"
#endif
#include "common/team.h"
#include "xla/ffi/api/ffi.h"

#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

namespace jaxtree {

// How long a call of a handler works. ThreadSanitizer does not see that XLA, which is not compiled with it, starts a call on one
// thread after another has ended on another thread, and then gives it the other's memory; this says so. Calls at the same time
// have no order. In other builds it does nothing.
class Call {
 public:
#ifdef __SANITIZE_THREAD__
  Call() { __tsan_acquire(&order_); }
  ~Call() { __tsan_release(&order_); }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

 private:
  static inline char order_;
#endif
};

// How many threads a piece of work may use: as many as XLA's pool has, or without one only that which it is on.
class Threads {
 public:
  explicit Threads(xla::ffi::ThreadPool* pool = nullptr) : number_(pool ? pool->num_threads() : 1) {}

  int64_t num_threads() const { return number_; }

 private:
  const int64_t number_;
  Call call_;
};

// A function of the number of a piece, by reference. Code that divides work among threads is compiled once for all of them.
class PieceWork {
 public:
  template <typename Work>
  PieceWork(const Work& work)
      : work_(&work), call_([](const void* work, int64_t piece) { (*static_cast<const Work*>(work))(piece); }),
        name_(typeid(Work).name()) {}

  void operator()(int64_t piece) const { call_(work_, piece); }
  const char* name() const { return name_; }

 private:
  const void* work_;
  void (*call_)(const void* work, int64_t piece);
  const char* name_;
};

// The first exception of several threads. Once there is one, nobody begins further work.
class FirstFailure {
 public:
  bool is_there() const { return is_there_.load(std::memory_order_relaxed); }

  template <typename Work>
  void Guard(const Work& work) noexcept {
    try {
      work();
    } catch (...) {
      std::lock_guard<std::mutex> lock(mutex_);
      if (!is_there()) failure_ = std::current_exception();
      is_there_ = true;
    }
  }

  // Throws it, once all threads have ended.
  void Rethrow() {
    if (is_there()) std::rethrow_exception(std::exchange(failure_, nullptr));
  }

 private:
  std::atomic<bool> is_there_{false};
  std::mutex mutex_;
  std::exception_ptr failure_;
};

// The numbers of the pieces of a region. Every thread takes its own first, one in so many: what it wrote in one region it reads
// in the next, and has in a near cache. Then it takes those that others have left.
class Pieces {
 public:
  Pieces(int64_t count, int64_t num_threads) : count_(count), num_lanes_(std::min(num_threads, kMostLanes)) {
    for (int64_t lane = 0; lane < num_lanes_; ++lane) lanes_[lane].next.store(lane, std::memory_order_relaxed);
  }

  // A piece that nobody else takes; `count` when all are taken.
  int64_t Take(int64_t thread) {
    for (int64_t turn = 0; turn < num_lanes_; ++turn) {
      std::atomic<int64_t>& next = lanes_[(thread + turn) % num_lanes_].next;
      if (next.load(std::memory_order_relaxed) >= count_) continue;
      const int64_t piece = next.fetch_add(num_lanes_, std::memory_order_relaxed);
      if (piece < count_) return piece;
    }
    return count_;
  }

 private:
  static constexpr int64_t kMostLanes = 64;

  struct alignas(64) Lane {
    std::atomic<int64_t> next;
  };

  const int64_t count_, num_lanes_;
  Lane lanes_[kMostLanes];
};

// Calls run(next) on some threads, where next() is the number of a piece that nobody else takes; `count` when all are taken.
// Returns when all have ended; the first exception is thrown then. `name` is for schedules.
template <typename Run>
void InThreads(int64_t num_threads, int64_t count, const Run& run, [[maybe_unused]] const char* name = typeid(Run).name()) {
  const int64_t most = std::min(num_threads, count);
#ifdef JAXTREE_SCHEDULE
  return Schedule::Do(name, num_threads, count, run);
#endif
  if (most <= 1) return run([piece = int64_t{0}, count]() mutable { return piece < count ? piece++ : count; });
  Pieces pieces(count, most);
  FirstFailure failure;
  Team::OfProcess().Run(num_threads, most, [&] {
    const int64_t thread = Team::NumberOfThread();
    failure.Guard([&] { run([&] { return failure.is_there() ? count : pieces.Take(thread); }); });
  });
  failure.Rethrow();
}

// How many pieces can be begun at once here, of work that pays only if a thread is free for it.
inline int64_t NumAtOnce(const Threads& threads) {
  if (threads.num_threads() == 1) return 1;
#ifdef JAXTREE_SCHEDULE
  return Schedule::NumThreads(threads.num_threads());
#else
  return 1 + Team::OfProcess().NumFree(threads.num_threads());
#endif
}

// Calls work(0), ..., work(count - 1), on as many threads as are free.
inline void ForEach(const Threads& threads, int64_t count, PieceWork work) {
  const auto run = [&](auto&& next) {
    for (int64_t piece; (piece = next()) < count;) work(piece);
  };
  InThreads(threads.num_threads(), count, run, work.name());
}

// The same, on one thread where it does not pay.
inline void ForEachIf(bool pays, const Threads& pool, int64_t count, PieceWork work) {
  if (pays) return ForEach(pool, count, work);
  for (int64_t piece = 0; piece < count; ++piece) work(piece);
}

// A part of an array.
struct Range {
  int64_t begin, end;

  int64_t size() const { return end - begin; }
};

// Elements of a part of an array that one thread works on: fewer are not worth another thread.
constexpr int64_t kLeastOfPart = 1 << 12;
constexpr int64_t kPartsPerThread = 4;

// Parts of an array of `size` elements: some for each thread, so that one that is held up is not waited for.
inline int64_t NumParts(const Threads& pool, int64_t size) {
  return std::max<int64_t>(1, std::min(kPartsPerThread * pool.num_threads(), size / kLeastOfPart));
}

// Calls work(part, begin, end) for parts of an array.
template <typename Work>
void ForEachPart(const Threads& pool, int64_t num_parts, int64_t size, const Work& work) {
  ForEach(pool, num_parts, [&](int64_t part) {
    work(part, size * part / num_parts, size * (part + 1) / num_parts);
  });
}

// The sum of an array of whole numbers.
template <typename Value>
Value SumOf(const Threads& threads, const Value* values, int64_t size) {
  std::vector<Value> sums(NumParts(threads, size));
  ForEachPart(threads, sums.size(), size, [&](int64_t part, int64_t begin, int64_t end) {
    Value sum = 0;
    for (int64_t at = begin; at < end; ++at) sum += values[at];
    sums[part] = sum;
  });
  return std::accumulate(sums.begin(), sums.end(), Value{0});
}

}  // namespace jaxtree

#endif  // JAXTREE_NATIVE_COMMON_PARALLEL_H_
