// Work divided among threads: those that XLA has already, or own ones of functions that are called without XLA.

#ifndef JAXTREE_NATIVE_COMMON_PARALLEL_H_
#define JAXTREE_NATIVE_COMMON_PARALLEL_H_

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

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

// The threads that a piece of work may use: those of XLA's pool, or without one only that which it is on.
class Threads {
 public:
  explicit Threads(xla::ffi::ThreadPool* pool = nullptr) : pool_(pool) {}

  int64_t num_threads() const { return pool_ ? pool_->num_threads() : 1; }

  template <typename Task>
  void Schedule(Task task) const { pool_->Schedule(std::move(task)); }

 private:
  xla::ffi::ThreadPool* pool_;
  Call call_;
};

// A function of the number of a piece, by reference. Code that divides work among threads is compiled once for all of them.
class PieceWork {
 public:
  template <typename Work>
  PieceWork(const Work& work)
      : work_(&work), call_([](const void* work, int64_t piece) { (*static_cast<const Work*>(work))(piece); }) {}

  void operator()(int64_t piece) const { call_(work_, piece); }

 private:
  const void* work_;
  void (*call_)(const void* work, int64_t piece);
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

// The last member of a task for XLA's pool. ThreadSanitizer does not see how the pool, which is not compiled with it, hands a
// task over to another thread; this says so: all that came before the task was moved to where the pool finds it comes before
// `Take`. In other builds it does nothing.
class HandOver {
 public:
  HandOver() = default;
  HandOver(const HandOver&) { Give(); }

  void Take() {
#ifdef __SANITIZE_THREAD__
    __tsan_acquire(this);
#endif
  }

 private:
  void Give() {
#ifdef __SANITIZE_THREAD__
    __tsan_release(this);
#endif
  }
};

// Calls work(0), ..., work(count - 1), on as many threads as are free, and returns when all have ended.
//
// The caller takes pieces too, and waits for begun ones only: it may itself be a thread of the pool, and others of the
// pool may never come to help. A helper that comes late finds nothing left and touches nothing. Where there is no memory
// to call a helper, those that are called do the work. The first exception of a piece is thrown here, when no helper
// uses the caller's memory any longer.
inline void ForEach(Threads& pool, int64_t count, PieceWork work) {
  struct Progress {
    std::atomic<int64_t> next{0};
    std::mutex mutex;
    std::condition_variable all_done;
    int64_t done = 0;
    FirstFailure failure;
  };
  const int64_t helpers = std::min(pool.num_threads(), count) - 1;
  if (helpers < 1) {
    for (int64_t piece = 0; piece < count; ++piece) work(piece);
    return;
  }
  auto progress = std::make_shared<Progress>();
  auto take_pieces = [progress, count, work, hand_over = HandOver()]() mutable {
    hand_over.Take();
    int64_t own = 0;
    for (int64_t piece; (piece = progress->next.fetch_add(1)) < count; ++own) {
      if (!progress->failure.is_there()) progress->failure.Guard([&] { work(piece); });
    }
    if (own == 0) return;
    std::lock_guard<std::mutex> lock(progress->mutex);
    progress->done += own;
    if (progress->done == count) progress->all_done.notify_all();
  };
  FirstFailure of_calling;
  of_calling.Guard([&] {
    for (int64_t helper = 0; helper < helpers; ++helper) pool.Schedule(take_pieces);
  });
  take_pieces();
  std::unique_lock<std::mutex> lock(progress->mutex);
  progress->all_done.wait(lock, [&] { return progress->done == count; });
  progress->failure.Rethrow();
}

// The same, on one thread where it does not pay.
inline void ForEachIf(bool pays, Threads& pool, int64_t count, PieceWork work) {
  if (pays) return ForEach(pool, count, work);
  for (int64_t piece = 0; piece < count; ++piece) work(piece);
}

// A part of an array.
struct Range {
  int64_t begin, end;

  int64_t size() const { return end - begin; }
};

// Elements of a part of an array that one thread works on: fewer are not worth another thread.
constexpr int64_t kLeastOfPart = 1 << 14;
constexpr int64_t kPartsPerThread = 4;

// Parts of an array of `size` elements: some for each thread, so that one that is held up is not waited for.
inline int64_t NumParts(const Threads& pool, int64_t size) {
  return std::max<int64_t>(1, std::min(kPartsPerThread * pool.num_threads(), size / kLeastOfPart));
}

// Calls work(part, begin, end) for parts of an array.
template <typename Work>
void ForEachPart(Threads& pool, int64_t num_parts, int64_t size, const Work& work) {
  ForEach(pool, num_parts, [&](int64_t part) {
    work(part, size * part / num_parts, size * (part + 1) / num_parts);
  });
}

// Calls run(next) on some threads, where next() is the number of a piece that nobody else takes; `count` when all are taken.
// Where a thread cannot be started, those that run do the work; the first exception is thrown when all have ended.
template <typename Run>
void InThreads(int64_t num_threads, int64_t count, const Run& run) {
  std::atomic<int64_t> taken{0};
  FirstFailure failure, of_starting;
  const auto next = [&] { return failure.is_there() ? count : std::min(taken.fetch_add(1), count); };
  const auto take_pieces = [&] { failure.Guard([&] { run(next); }); };
  std::vector<std::thread> helpers;
  of_starting.Guard([&] {
    for (int64_t helper = 1; helper < std::min(num_threads, count); ++helper) helpers.emplace_back(take_pieces);
  });
  take_pieces();
  for (std::thread& helper : helpers) helper.join();
  failure.Rethrow();
}

}  // namespace jaxtree

#endif  // JAXTREE_NATIVE_COMMON_PARALLEL_H_
