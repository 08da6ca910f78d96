// The best splits of the nodes of a level whose entries are sorted, and threads that search.

#ifndef JAXTREE_NATIVE_EVALUATE_LEVEL_FINDER_H_
#define JAXTREE_NATIVE_EVALUATE_LEVEL_FINDER_H_

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "common/parallel.h"
#include "evaluate/split_finder.h"
#include "xla/ffi/api/ffi.h"

namespace jaxtree {

namespace ffi = xla::ffi;

// Nodes of so many cells to fill are divided among threads by features, others among threads as they are.
constexpr int64_t kLeastCellsDivided = 1 << 16;
constexpr int64_t kMostAtATime = 16, kTurnsPerThread = 8;
// Where threads have this many nodes each, of one size, they share the work alike.
constexpr int64_t kNodesPerThread = 4;
// With fewer cells to fill, another thread costs more to wake than it saves.
constexpr int64_t kLeastCells = 1 << 13;

// Calls work(search, 0), ..., work(search, count - 1), some at a time; every thread has one search, with its own cells.
template <typename Code, typename Value, typename Work>
void ForEachByFinder(bool pays, Threads& pool, const Level<Code, Value>& level, int64_t count, const Work& work) {
  const int64_t num_threads = pays ? pool.num_threads() : 1;
  const int64_t at_a_time = std::clamp<int64_t>(count / (kTurnsPerThread * num_threads), 1, kMostAtATime);
  const int64_t num_pieces = (count + at_a_time - 1) / at_a_time;
  if (num_pieces == 0) return;
  InThreads(num_threads, num_pieces, [&](auto&& next) {
    int64_t piece = next();
    if (piece == num_pieces) return;
    SplitFinder<Code, Value> finder(level);
    for (; piece < num_pieces; piece = next()) {
      for (int64_t at = piece * at_a_time; at < std::min((piece + 1) * at_a_time, count); ++at) work(finder, at);
    }
  });
}

// One large node: its features are divided among the threads.
template <typename Code, typename Value>
void SplitByFeatures(Threads& pool, const Level<Code, Value>& level, int64_t slot, std::vector<Split>& splits) {
  std::vector<Split> found(level.table.num_features);
  ForEachByFinder(true, pool, level, level.table.num_features, [&](SplitFinder<Code, Value>& finder, int64_t feature) {
    if (!level.IsOpen(level.node[slot], feature)) return;
    finder.Open(slot);
    found[feature] = finder.OnFeature(feature);
  });
  SplitFinder<Code, Value> finder(level);
  finder.Open(slot);
  splits[slot] = finder.BestOfAll([&](int32_t feature) { return std::move(found[feature]); });
}

template <typename Code, typename Value>
void SplitSlots(Threads& pool, const Level<Code, Value>& level, std::vector<Split>& splits) {
  std::vector<int64_t> small;
  int64_t num_cells = 0, num_entries = 0;
  for (int64_t slot = 0; slot < level.num_slots; ++slot) num_entries += level.stop[slot] - level.start[slot];
  for (int64_t slot = 0; slot < level.num_slots; ++slot) {
    const int64_t own = level.stop[slot] - level.start[slot], cells = own * level.table.num_features;
    const bool is_large = cells >= kLeastCellsDivided && own * pool.num_threads() * kNodesPerThread > num_entries;
    if (is_large && !level.rules.samples_features && pool.num_threads() > 1) {
      SplitByFeatures(pool, level, slot, splits);
    } else {
      small.push_back(slot);
      num_cells += cells;
    }
  }
  ForEachByFinder(num_cells >= kLeastCells, pool, level, small.size(), [&](SplitFinder<Code, Value>& finder, int64_t at) {
    finder.Open(small[at]);
    splits[small[at]] = finder.Best();
  });
}

}  // namespace jaxtree

#endif  // JAXTREE_NATIVE_EVALUATE_LEVEL_FINDER_H_
