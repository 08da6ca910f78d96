// The best splits of a level while its entries are in the order of the rows: all nodes are summed in one pass.

#ifndef JAXTREE_NATIVE_HISTOGRAM_LEVEL_HISTOGRAMS_H_
#define JAXTREE_NATIVE_HISTOGRAM_LEVEL_HISTOGRAMS_H_

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "common/memory.h"
#include "common/parallel.h"
#include "evaluate/level_finder.h"
#include "evaluate/split_finder.h"
#include "histogram/row_subset.h"
#include "histogram/sparse_columns.h"
#include "xla/ffi/api/ffi.h"

namespace jaxtree {

// Features that one thread sums side by side.
constexpr int64_t kSideBySide = 4;

// Keeps the sums of a level, of every feature [slot, code, channel], for the level below.
template <typename Code, typename Value>
class LevelHistograms {
 public:
  explicit LevelHistograms(Memory& memory) : memory_(memory) {}

  // Selects the entries of a level before its splits are asked for; see `RowSubset`. `level` is that above.
  template <typename SlotOfEntry>
  void SelectSome(Threads& pool, const Level<Code, Value>& level, const std::vector<Origin>& origins,
                  const SlotOfEntry& slot_of) {
    selection_.SelectSome(pool, level, origins, slot_of);
    is_selected_ = true;
  }

  // Calls add(code, sums) for the codes of a feature at a slot of the level whose splits were found last.
  template <typename Add>
  void ForCodesOf(const Level<Code, Value>& level, int64_t slot, int32_t feature, const Add& add) const {
    const Value* const cells = CellsOf(feature, slot);
    for (int32_t code = 0; code < level.table.num_codes[feature]; ++code) add(code, cells + code * level.rules.objective.num_channels);
  }

  void FindSplits(Threads& pool, const Level<Code, Value>& level, const std::vector<Origin>& origins,
                  std::vector<Split>& splits) {
    if (per_slot_.empty()) Pack(pool, level);
    if (!std::exchange(is_selected_, false)) Select(pool, level, origins);
    tables_.swap(above_);
    tables_.resize(level.table.num_features);
    std::vector<std::vector<Split>> found(level.table.num_features);
    const int64_t num_packed = packed_.size(), num_packs = (num_packed + kSideBySide - 1) / kSideBySide;
    ForEachByFinder(true, pool, level, num_packs, [&](SplitFinder<Code, Value>& finder, int64_t pack) {
      const int64_t first = pack * kSideBySide, count = std::min(kSideBySide, num_packed - first);
      SumPack(level, packed_.data() + first, count);
      for (int64_t f = first; f < first + count; ++f) {
        Subtract(origins, packed_[f]);
        found[packed_[f]] = SplitsOn(finder, level, packed_[f]);
      }
    });
    if (!sparse_.empty()) SumSlots(level);
    ForEachByFinder(true, pool, level, sparse_.size(), [&](SplitFinder<Code, Value>& finder, int64_t at) {
      SumRare(level, sparse_[at]);
      found[sparse_[at]] = SplitsOn(finder, level, sparse_[at]);
    });
    SplitFinder<Code, Value> finder(level);
    for (int64_t slot = 0; slot < level.num_slots; ++slot) {
      finder.Open(slot);
      splits[slot] = finder.BestOf([&](int32_t feature) { return std::move(found[feature][slot]); });
    }
  }

 private:
  const Value* CellsOf(int32_t feature, int64_t slot) const {
    return tables_[feature].data() + slot * per_slot_[feature];
  }

  // Sets apart the features of rare codes, though not all, and orders the others by their codes: those that are summed
  // side by side have slots of one size, that of the greatest.
  void Pack(Threads& pool, const Level<Code, Value>& level) {
    const int32_t* const num_codes = level.table.num_codes;
    rare_.resize(level.table.num_features);
    per_slot_.resize(level.table.num_features);
    ForEach(pool, level.table.num_features, [&](int64_t feature) { rare_[feature] = FindSparseColumn(level, feature); });
    for (int32_t feature = 0; feature < level.table.num_features; ++feature) {
      if (num_codes[feature] > 0) (rare_[feature].is_found ? sparse_ : packed_).push_back(feature);
    }
    if (packed_.empty() && !sparse_.empty()) packed_.push_back(sparse_.back()), sparse_.pop_back();
    std::stable_sort(packed_.begin(), packed_.end(), [&](int32_t a, int32_t b) { return num_codes[a] > num_codes[b]; });
    for (size_t at = 0; at < packed_.size(); ++at) {
      const int32_t first = packed_[at - at % kSideBySide];
      per_slot_[packed_[at]] = int64_t{num_codes[first]} * level.rules.objective.num_channels;
    }
    for (const int32_t feature : sparse_) per_slot_[feature] = int64_t{num_codes[feature]} * level.rules.objective.num_channels;
  }

  void Select(Threads& pool, const Level<Code, Value>& level, const std::vector<Origin>& origins) {
    selection_.Open(memory_, level);
    const bool is_some = std::any_of(origins.begin(), origins.end(), [](const Origin& o) { return o.is_difference(); });
    if (!is_some) return selection_.SelectAll(pool, level);
    selection_.SelectSome(pool, level, origins, [&](int64_t, int64_t entry) { return level.slot[entry]; });
  }

  // Sums the cells of up to `kSideBySide` features. There is a place for entries of no slot, and for a vector's padding.
  void SumPack(const Level<Code, Value>& level, const int32_t* features, int64_t count) {
    const int64_t num_cells = (level.num_slots + 1) * per_slot_[features[0]] + kLanes;
    for (int64_t f = 0; f < count; ++f) tables_[features[f]].assign(num_cells, 0);
    if (count == kSideBySide) return SumFeatures<kSideBySide>(level, features);
    for (int64_t f = 0; f < count; ++f) SumFeatures<1>(level, features + f);
  }

  template <int kFeatures>
  void SumFeatures(const Level<Code, Value>& level, const int32_t* features) {
    selection_.row == nullptr ? SumEntries<kFeatures, false>(level, features) : SumEntries<kFeatures, true>(level, features);
  }

  template <int kFeatures, bool kSome>
  void SumEntries(const Level<Code, Value>& level, const int32_t* features) {
    if constexpr (sizeof(Value) == sizeof(int32_t)) {
      switch (selection_.width) {
        case 0: break;
        case 2: return SumVectors<kFeatures, kSome, 2>(level, features);
        case 4: return SumVectors<kFeatures, kSome, 4>(level, features);
        case 8: return SumVectors<kFeatures, kSome, 8>(level, features);
        default: return SumVectors<kFeatures, kSome, 0>(level, features);
      }
    }
    const auto& added = level.rules.additions;
    const bool are_plain = std::all_of(added.begin(), added.end(), [](const Addition& a) {
      return a.label < 0 && a.value >= 0;
    });
    size_t first = 0;
    for (; are_plain && first + 2 <= added.size(); first += 2) SumValues<kFeatures, 2, kSome>(level, features, &added[first]);
    for (; first < added.size(); ++first) SumValues<kFeatures, 1, kSome>(level, features, &added[first]);
  }

  // Adds a vector to cells. Two numbers, the first of which never falls below 0, are added as one of 64 bits.
  template <int kWidth>
  static void AddVector(Value* cells, const Value* vector, int64_t width) {
    if constexpr (kWidth == 2) {
      uint64_t sum, added;
      std::memcpy(&sum, cells, sizeof(sum));
      std::memcpy(&added, vector, sizeof(added));
      sum += added;
      std::memcpy(cells, &sum, sizeof(sum));
    } else {
      typedef Value Lanes __attribute__((vector_size(sizeof(Value) * kLanes)));
#pragma GCC unroll 4
      for (int64_t lane = 0; lane < width; lane += kLanes) {
        Lanes sum, added;
        std::memcpy(&sum, cells + lane, sizeof(sum));
        std::memcpy(&added, vector + lane, sizeof(added));
        sum += added;
        std::memcpy(cells + lane, &sum, sizeof(sum));
      }
    }
  }

  // Features share the reads of slots and vectors. A vector of any width has `kWidth` 0.
  template <int kFeatures, bool kSome, int kWidth>
  __attribute__((noinline)) void SumVectors(const Level<Code, Value>& level, const int32_t* features) {
    const Code* codes[kFeatures];
    Value* cells[kFeatures];
    for (int f = 0; f < kFeatures; ++f) {
      codes[f] = level.table.ColumnOf(features[f]);
      cells[f] = tables_[features[f]].data();
    }
    const int64_t num_channels = kWidth == 2 ? 2 : level.rules.objective.num_channels;
    const int64_t width = kWidth > 0 ? kWidth : selection_.width;
    const int64_t per_slot = per_slot_[features[0]];
    const int32_t last_code = per_slot / num_channels - 1;
    const int32_t *const slot = selection_.slot, *const row = selection_.row;
    const Value* const vectors = selection_.value;
    for (const auto range : selection_.ranges) {
      for (int64_t entry = range.begin; entry < range.end; ++entry) {
        const int64_t at = slot[entry] * per_slot, of_code = kSome ? row[entry] : entry;
        const Value* const vector = vectors + entry * width;
        // A compiler that cannot know that cells are not codes would read these again and again.
        int32_t code[kFeatures];
#pragma GCC unroll 4
        for (int f = 0; f < kFeatures; ++f) code[f] = std::clamp<int32_t>(codes[f][of_code], 0, last_code);
#pragma GCC unroll 4
        for (int f = 0; f < kFeatures; ++f) AddVector<kWidth>(cells[f] + at + code[f] * num_channels, vector, width);
      }
    }
  }

  // Features share the reads of slots and values, and additions those of codes.
  template <int kFeatures, int kAdditions, bool kSome>
  __attribute__((noinline)) void SumValues(const Level<Code, Value>& level, const int32_t* features,
                                           const Addition* additions) {
    const Code* codes[kFeatures];
    Value* cells[kFeatures];
    for (int f = 0; f < kFeatures; ++f) {
      codes[f] = level.table.ColumnOf(features[f]);
      cells[f] = tables_[features[f]].data() + additions[0].channel;
    }
    const int64_t num_channels = level.rules.objective.num_channels;
    const int64_t per_slot = per_slot_[features[0]];
    const int32_t last_code = per_slot / num_channels - 1;
    const int32_t *const slot = selection_.slot, *const row = selection_.row;
    const int32_t* const label = additions[0].label < 0 ? nullptr : selection_.label + additions[0].label * selection_.stride;
    const Value* values[kAdditions];
    int64_t channel[kAdditions];
    for (int a = 0; a < kAdditions; ++a) {
      const bool counts_row = additions[a].value == kCountsRow;
      values[a] = counts_row ? nullptr : selection_.value + additions[a].value * selection_.stride;
      channel[a] = additions[a].channel - additions[0].channel;
    }
    for (const auto range : selection_.ranges) {
      for (int64_t entry = range.begin; entry < range.end; ++entry) {
        const int64_t at = slot[entry] * per_slot + (label ? label[entry] : 0), of_code = kSome ? row[entry] : entry;
        Value added[kAdditions];
        for (int a = 0; a < kAdditions; ++a) added[a] = values[a] ? values[a][entry] : 1;
#pragma GCC unroll 4
        for (int f = 0; f < kFeatures; ++f) {
          Value* const own = cells[f] + at + std::clamp<int32_t>(codes[f][of_code], 0, last_code) * num_channels;
          for (int a = 0; a < kAdditions; ++a) own[channel[a]] += added[a];
        }
      }
    }
  }

  // The sums of all rows of every slot, from a feature that is summed already.
  void SumSlots(const Level<Code, Value>& level) {
    const int64_t num_channels = level.rules.objective.num_channels, per_slot = per_slot_[packed_[0]];
    of_slot_.assign(level.num_slots * num_channels, 0);
    for (int64_t slot = 0; slot < level.num_slots; ++slot) {
      const Value* const cells = CellsOf(packed_[0], slot);
      Value* const to = of_slot_.data() + slot * num_channels;
      for (int64_t cell = 0; cell < per_slot; cell += num_channels) {
        for (int64_t channel = 0; channel < num_channels; ++channel) to[channel] += cells[cell + channel];
      }
    }
  }

  // Sums the cells of rare codes row by row, and has the rest in that of the usual one.
  void SumRare(const Level<Code, Value>& level, int32_t feature) {
    const int64_t num_channels = level.rules.objective.num_channels, per_slot = per_slot_[feature];
    const int32_t last_code = level.table.num_codes[feature] - 1;
    const Code* const codes = level.table.ColumnOf(feature);
    tables_[feature].assign(level.num_slots * per_slot + kLanes, 0);
    Value* const cells = tables_[feature].data();
    for (const int32_t row : rare_[feature].rows) {
      const int32_t slot = level.slot[row];
      if (slot < 0) continue;
      Value* const sums = cells + slot * per_slot + std::clamp<int32_t>(codes[row], 0, last_code) * num_channels;
      switch (selection_.width) {
        case 0: level.Add(row, sums); break;
        case 2: AddVector<2>(sums, selection_.VectorOf(row), 2); break;
        default: AddVector<0>(sums, selection_.VectorOf(row), selection_.width);
      }
    }
    for (int64_t slot = 0; slot < level.num_slots; ++slot) {
      Value* const own = cells + slot * per_slot;
      Value* const usual = own + rare_[feature].usual * num_channels;
      const Value* const whole = of_slot_.data() + slot * num_channels;
      for (int64_t channel = 0; channel < num_channels; ++channel) {
        Value others = 0;
        for (int64_t cell = channel; cell < per_slot; cell += num_channels) others += own[cell];
        usual[channel] = whole[channel] - others;
      }
    }
  }

  void Subtract(const std::vector<Origin>& origins, int32_t feature) {
    const int64_t per_slot = per_slot_[feature];
    for (size_t slot = 0; slot < origins.size(); ++slot) {
      if (!origins[slot].is_difference()) continue;
      assert(origins[slot].sibling >= 0 && !origins[origins[slot].sibling].is_difference());
      assert((origins[slot].parent + 1) * per_slot <= static_cast<int64_t>(above_[feature].size()));
      Value* const to = tables_[feature].data() + slot * per_slot;
      const Value* const whole = above_[feature].data() + origins[slot].parent * per_slot;
      const Value* const other = CellsOf(feature, origins[slot].sibling);
      for (int64_t cell = 0; cell < per_slot; ++cell) to[cell] = whole[cell] - other[cell];
    }
  }

  std::vector<Split> SplitsOn(SplitFinder<Code, Value>& finder, const Level<Code, Value>& level, int32_t feature) const {
    std::vector<Split> splits;
    for (int64_t slot = 0; slot < level.num_slots; ++slot) {
      finder.Open(slot);
      splits.push_back(finder.IsOpen(feature) ? finder.OnHistogram(feature, CellsOf(feature, slot)) : Split());
    }
    return splits;
  }

  Memory& memory_;
  std::vector<int32_t> packed_;    // features that are summed row by row
  std::vector<int32_t> sparse_;    // those of rare codes
  std::vector<SparseColumn> rare_;     // of every feature
  std::vector<int64_t> per_slot_;  // cells of every feature
  std::vector<Value> of_slot_;
  std::vector<std::vector<Value>> tables_, above_;  // of every feature
  RowSubset<Code, Value> selection_;
  bool is_selected_ = false;
};

}  // namespace jaxtree

#endif  // JAXTREE_NATIVE_HISTOGRAM_LEVEL_HISTOGRAMS_H_
