// Work divided among threads of its own, for functions that are called without XLA.

#ifndef JAXTREE_NATIVE_THREADS_H_
#define JAXTREE_NATIVE_THREADS_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace jaxtree {

// Calls run(next) on some threads, where next() is the number of a piece that nobody else takes; `count` when all are taken.
template <typename Run>
void InThreads(int64_t num_threads, int64_t count, const Run& run) {
  std::atomic<int64_t> taken{0};
  const auto next = [&] { return std::min(taken.fetch_add(1), count); };
  std::vector<std::thread> helpers;
  for (int64_t helper = 1; helper < std::min(num_threads, count); ++helper) helpers.emplace_back([&] { run(next); });
  run(next);
  for (std::thread& helper : helpers) helper.join();
}

}  // namespace jaxtree

#endif  // JAXTREE_NATIVE_THREADS_H_
