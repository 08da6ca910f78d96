// The best splits of all nodes of a level.

#ifndef JAXTREE_NATIVE_LEVEL_SPLITS_H_
#define JAXTREE_NATIVE_LEVEL_SPLITS_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

#include "parallel.h"
#include "search.h"
#include "xla/ffi/api/ffi.h"

namespace jaxtree {

namespace ffi = xla::ffi;

// Features that one thread sums side by side.
constexpr int64_t kSideBySide = 4;
// Nodes of so many cells to fill are divided among threads by features, others among threads as they are.
constexpr int64_t kLeastCellsDivided = 1 << 16;
constexpr int64_t kMostAtATime = 16, kTurnsPerThread = 8;
// With fewer cells to fill, another thread costs more to wake than it saves.
constexpr int64_t kLeastCells = 1 << 13;

// Sums the cells of some features for all slots, in the order of the rows: [slot, code, channel], and a place for entries
// of no slot. `base` has the cell of code 0 of every entry's slot. Features share the reads of bases and values.
template <int kFeatures, typename Code, typename Value>
__attribute__((noinline)) void SumInRowOrder(const Level<Code, Value>& level, const int32_t* features,
                                             const int32_t* base, Value* const* tables) {
  const Code* codes[kFeatures];
  Value* cells[kFeatures];
  const int64_t num_channels = level.objective.num_channels, num_entries = level.num_entries;
  for (const Addition& addition : level.additions) {
    for (int f = 0; f < kFeatures; ++f) {
      codes[f] = level.codes + features[f] * level.num_rows;
      cells[f] = tables[f] + addition.channel;
    }
    const int32_t* const label = addition.label < 0 ? nullptr : level.label + addition.label * num_entries;
    const Value* const value = addition.value == kCountsRow ? nullptr : level.value + addition.value * num_entries;
    for (int64_t entry = 0; entry < num_entries; ++entry) {
      const int64_t at = base[entry] + (label ? label[entry] : 0);
      const Value added = value ? value[entry] : 1;
#pragma GCC unroll 4
      for (int f = 0; f < kFeatures; ++f) cells[f][at + level.InTable(codes[f][entry]) * num_channels] += added;
    }
  }
}

// Calls work(search, 0), ..., work(search, count - 1), some at a time; every thread has one search, with its own cells.
template <typename Code, typename Value, typename Work>
void ForEachBySearch(bool pays, ffi::ThreadPool& pool, const Level<Code, Value>& level, int64_t count, const Work& work) {
  const int64_t num_threads = std::max<int64_t>(pool.num_threads(), 1);
  const int64_t at_a_time = std::clamp<int64_t>(count / (kTurnsPerThread * num_threads), 1, kMostAtATime);
  std::atomic<int64_t> next{0};
  ForEachIf(pays, pool, num_threads, [&](int64_t) {
    int64_t first = next.fetch_add(at_a_time);
    if (first >= count) return;
    Search<Code, Value> search(level);
    for (; first < count; first = next.fetch_add(at_a_time)) {
      for (int64_t at = first; at < std::min(first + at_a_time, count); ++at) work(search, at);
    }
  });
}

template <typename Code, typename Value>
void SplitInRowOrder(ffi::ThreadPool& pool, const Level<Code, Value>& level, std::vector<Split>& splits) {
  const int64_t per_slot = level.num_bins * level.objective.num_channels, size = (level.num_slots + 1) * per_slot;
  std::vector<int32_t> base(level.num_entries), listed;
  for (int64_t entry = 0; entry < level.num_entries; ++entry) {
    base[entry] = std::min<int64_t>(static_cast<uint32_t>(level.slot[entry]), level.num_slots) * per_slot;
  }
  for (int32_t feature = 0; feature < level.num_features; ++feature) {
    if (level.num_codes[feature] > 0) listed.push_back(feature);
  }
  std::vector<std::vector<Split>> found(level.num_features);
  const int64_t num_listed = listed.size();
  const int64_t num_packs = (num_listed + kSideBySide - 1) / kSideBySide;
  ForEachBySearch(true, pool, level, num_packs, [&](Search<Code, Value>& search, int64_t pack) {
    const int64_t first = pack * kSideBySide, count = std::min(kSideBySide, num_listed - first);
    std::vector<Value> cells(count * size);
    Value* tables[kSideBySide];
    for (int64_t f = 0; f < count; ++f) tables[f] = cells.data() + f * size;
    if (count == kSideBySide) {
      SumInRowOrder<kSideBySide>(level, listed.data() + first, base.data(), tables);
    } else {
      for (int64_t f = 0; f < count; ++f) SumInRowOrder<1>(level, listed.data() + first + f, base.data(), tables + f);
    }
    for (int64_t slot = 0; slot < level.num_slots; ++slot) {
      search.Open(slot);
      for (int64_t f = 0; f < count; ++f) {
        const int32_t feature = listed[first + f];
        found[feature].push_back(search.OnHistogram(feature, tables[f] + slot * per_slot));
      }
    }
  });
  Search<Code, Value> search(level);
  for (int64_t slot = 0; slot < level.num_slots; ++slot) {
    search.Open(slot);
    splits[slot] = search.BestOfAll([&](int32_t feature) { return std::move(found[feature][slot]); });
  }
}

// One large node: its features are divided among the threads.
template <typename Code, typename Value>
void SplitByFeatures(ffi::ThreadPool& pool, const Level<Code, Value>& level, int64_t slot, std::vector<Split>& splits) {
  std::vector<Split> found(level.num_features);
  ForEachBySearch(true, pool, level, level.num_features, [&](Search<Code, Value>& search, int64_t feature) {
    if (level.num_codes[feature] == 0) return;
    search.Open(slot);
    found[feature] = search.OnFeature(feature);
  });
  Search<Code, Value> search(level);
  search.Open(slot);
  splits[slot] = search.BestOfAll([&](int32_t feature) { return std::move(found[feature]); });
}

template <typename Code, typename Value>
void SplitSlots(ffi::ThreadPool& pool, const Level<Code, Value>& level, std::vector<Split>& splits) {
  std::vector<int64_t> small;
  int64_t num_cells = 0;
  for (int64_t slot = 0; slot < level.num_slots; ++slot) {
    const int64_t cells = (level.stop[slot] - level.start[slot]) * level.num_features;
    if (cells >= kLeastCellsDivided && !level.samples_features && pool.num_threads() > 1) {
      SplitByFeatures(pool, level, slot, splits);
    } else {
      small.push_back(slot);
      num_cells += cells;
    }
  }
  ForEachBySearch(num_cells >= kLeastCells, pool, level, small.size(), [&](Search<Code, Value>& search, int64_t at) {
    search.Open(small[at]);
    splits[small[at]] = search.Best();
  });
}

}  // namespace jaxtree

#endif  // JAXTREE_NATIVE_LEVEL_SPLITS_H_
