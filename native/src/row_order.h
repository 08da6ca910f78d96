// The best splits of a level while its entries are in the order of the rows: all nodes are summed in one pass.

#ifndef JAXTREE_NATIVE_ROW_ORDER_H_
#define JAXTREE_NATIVE_ROW_ORDER_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "level_splits.h"
#include "parallel.h"
#include "search.h"
#include "xla/ffi/api/ffi.h"

namespace jaxtree {

// Features that one thread sums side by side.
constexpr int64_t kSideBySide = 4;
constexpr int64_t kRowsPerPart = 1 << 14;

// Where the sums of a slot come from: its entries, or the sums of its parent less those of its sibling.
struct Origin {
  int32_t parent = -1, sibling = -1;  // slots of the level above and of this one; -1 for its entries

  bool is_difference() const { return parent >= 0; }
};

// Keeps the sums of a level, of every feature [slot, code, channel], for the level below.
template <typename Code, typename Value>
class RowOrder {
 public:
  void FindSplits(ffi::ThreadPool& pool, const Level<Code, Value>& level, const std::vector<Origin>& origins,
                  std::vector<Split>& splits) {
    per_slot_ = level.num_bins * level.objective.num_channels;
    SelectEntries(pool, level, origins);
    tables_.swap(above_);
    tables_.resize(level.num_features);
    std::vector<int32_t> listed;
    for (int32_t feature = 0; feature < level.num_features; ++feature) {
      if (level.num_codes[feature] > 0) listed.push_back(feature);
    }
    std::vector<std::vector<Split>> found(level.num_features);
    const int64_t num_listed = listed.size();
    const int64_t num_packs = (num_listed + kSideBySide - 1) / kSideBySide;
    ForEachBySearch(true, pool, level, num_packs, [&](Search<Code, Value>& search, int64_t pack) {
      const int64_t first = pack * kSideBySide, count = std::min(kSideBySide, num_listed - first);
      SumPack(level, listed.data() + first, count);
      for (int64_t f = first; f < first + count; ++f) {
        Subtract(origins, listed[f]);
        found[listed[f]] = SplitsOn(search, level, listed[f]);
      }
    });
    Search<Code, Value> search(level);
    for (int64_t slot = 0; slot < level.num_slots; ++slot) {
      search.Open(slot);
      splits[slot] = search.BestOfAll([&](int32_t feature) { return std::move(found[feature][slot]); });
    }
  }

 private:
  struct Range {
    int64_t begin, end;
  };

  // The entries that are summed, all of them or some: the row of each, and its additions.
  struct Selection {
    std::vector<Range> ranges;
    int64_t stride;
    const int32_t *row, *label;  // row: null for all
    const Value* value;
  };

  void SelectEntries(ffi::ThreadPool& pool, const Level<Code, Value>& level, const std::vector<Origin>& origins) {
    base_.resize(level.num_entries);
    const bool is_some = std::any_of(origins.begin(), origins.end(), [](const Origin& o) { return o.is_difference(); });
    is_some ? SelectSome(pool, level, origins) : SelectAll(pool, level);
  }

  void SelectAll(ffi::ThreadPool& pool, const Level<Code, Value>& level) {
    const int64_t size = level.num_entries;
    ForEach(pool, (size + kRowsPerPart - 1) / kRowsPerPart, [&](int64_t part) {
      for (int64_t entry = part * kRowsPerPart; entry < std::min((part + 1) * kRowsPerPart, size); ++entry) {
        base_[entry] = SlotOf(level, entry) * per_slot_;
      }
    });
    selection_ = {{{0, size}}, size, nullptr, level.label, level.value};
  }

  // The slot of an entry, after all slots if it has none.
  int64_t SlotOf(const Level<Code, Value>& level, int64_t entry) const {
    return std::min<int64_t>(static_cast<uint32_t>(level.slot[entry]), level.num_slots);
  }

  // Leaves out the entries of slots that are differences, and those of no slot. Every part of the entries has its range.
  void SelectSome(ffi::ThreadPool& pool, const Level<Code, Value>& level, const std::vector<Origin>& origins) {
    const int64_t size = level.num_entries;
    int64_t num_labels = 0, num_values = 0;
    for (const Addition& addition : level.additions) {
      num_labels = std::max<int64_t>(num_labels, addition.label + 1);
      num_values = std::max<int64_t>(num_values, addition.value + 1);
    }
    row_.resize(size);
    label_.resize(num_labels * size);
    value_.resize(num_values * size);
    std::vector<uint8_t> is_summed(level.num_slots + 1);  // the last is for entries of no slot
    for (int64_t slot = 0; slot < level.num_slots; ++slot) is_summed[slot] = !origins[slot].is_difference();
    const int64_t num_parts = std::max<int64_t>(1, std::min(pool.num_threads(), size / kRowsPerPart));
    selection_ = {std::vector<Range>(num_parts), size, row_.data(), label_.data(), value_.data()};
    ForEach(pool, num_parts, [&](int64_t part) {
      const int64_t begin = size * part / num_parts, end = size * (part + 1) / num_parts;
      int64_t to = begin;
      for (int64_t entry = begin; entry < end; ++entry) {
        const int64_t slot = SlotOf(level, entry);
        if (!is_summed[slot]) continue;
        row_[to] = entry;
        base_[to++] = slot * per_slot_;
      }
      selection_.ranges[part] = {begin, to};
      for (int64_t at = 0; at < num_labels * size; at += size) {
        for (int64_t entry = begin; entry < to; ++entry) label_[at + entry] = level.label[at + row_[entry]];
      }
      for (int64_t at = 0; at < num_values * size; at += size) {
        for (int64_t entry = begin; entry < to; ++entry) value_[at + entry] = level.value[at + row_[entry]];
      }
    });
  }

  // Sums the cells of up to `kSideBySide` features. There is a place for entries of no slot.
  void SumPack(const Level<Code, Value>& level, const int32_t* features, int64_t count) {
    for (int64_t f = 0; f < count; ++f) tables_[features[f]].assign((level.num_slots + 1) * per_slot_, 0);
    if (count == kSideBySide) return SumFeatures<kSideBySide>(level, features);
    for (int64_t f = 0; f < count; ++f) SumFeatures<1>(level, features + f);
  }

  template <int kFeatures>
  void SumFeatures(const Level<Code, Value>& level, const int32_t* features) {
    const auto& added = level.additions;
    const bool are_plain = std::all_of(added.begin(), added.end(), [](const Addition& a) {
      return a.label < 0 && a.value >= 0;
    });
    size_t first = 0;
    for (; are_plain && first + 2 <= added.size(); first += 2) SumTwo<kFeatures>(level, features, &added[first]);
    for (; first < added.size(); ++first) Sum<kFeatures, 1, false>(level, features, &added[first]);
  }

  // Two sums of 32 bits that lie side by side are one of 64, where the lower one never falls below 0.
  template <int kFeatures>
  void SumTwo(const Level<Code, Value>& level, const int32_t* features, const Addition* additions) {
    const bool packs = sizeof(Value) == 4 && level.objective.IsNewton() && additions[0].channel < level.objective.num_classes &&
                       additions[1].channel == additions[0].channel + 1;
    packs ? Sum<kFeatures, 2, true>(level, features, additions) : Sum<kFeatures, 2, false>(level, features, additions);
  }

  // Features share the reads of bases and values, and additions those of codes.
  template <int kFeatures, int kAdditions, bool kPacked>
  void Sum(const Level<Code, Value>& level, const int32_t* features, const Addition* additions) {
    selection_.row == nullptr ? SumEntries<kFeatures, kAdditions, kPacked, false>(level, features, additions)
                              : SumEntries<kFeatures, kAdditions, kPacked, true>(level, features, additions);
  }

  // Adds a value to the lower and one to the upper half of a word.
  static void AddPacked(Value* cells, Value lower, Value upper) {
    uint64_t both;
    std::memcpy(&both, cells, sizeof(both));
    both += static_cast<uint64_t>(upper) << 32 | static_cast<uint32_t>(lower);
    std::memcpy(cells, &both, sizeof(both));
  }

  template <int kFeatures, int kAdditions, bool kPacked, bool kSome>
  __attribute__((noinline)) void SumEntries(const Level<Code, Value>& level, const int32_t* features,
                                            const Addition* additions) {
    const Code* codes[kFeatures];
    Value* cells[kFeatures];
    for (int f = 0; f < kFeatures; ++f) {
      codes[f] = level.codes + features[f] * level.num_rows;
      cells[f] = tables_[features[f]].data() + additions[0].channel;
    }
    const int64_t num_channels = level.objective.num_channels;
    const int32_t* const row = selection_.row;
    const int32_t* const label = additions[0].label < 0 ? nullptr : selection_.label + additions[0].label * selection_.stride;
    const Value* values[kAdditions];
    int64_t channel[kAdditions];
    for (int a = 0; a < kAdditions; ++a) {
      const bool counts_row = additions[a].value == kCountsRow;
      values[a] = counts_row ? nullptr : selection_.value + additions[a].value * selection_.stride;
      channel[a] = additions[a].channel - additions[0].channel;
    }
    for (const Range range : selection_.ranges) {
      for (int64_t entry = range.begin; entry < range.end; ++entry) {
        const int64_t at = base_[entry] + (label ? label[entry] : 0), of_code = kSome ? row[entry] : entry;
        Value added[kAdditions];
        for (int a = 0; a < kAdditions; ++a) added[a] = values[a] ? values[a][entry] : 1;
#pragma GCC unroll 4
        for (int f = 0; f < kFeatures; ++f) {
          Value* const own = cells[f] + at + level.InTable(codes[f][of_code]) * num_channels;
          if constexpr (kPacked) {
            AddPacked(own, added[0], added[1]);
          } else {
            for (int a = 0; a < kAdditions; ++a) own[channel[a]] += added[a];
          }
        }
      }
    }
  }

  void Subtract(const std::vector<Origin>& origins, int32_t feature) {
    for (size_t slot = 0; slot < origins.size(); ++slot) {
      if (!origins[slot].is_difference()) continue;
      Value* const to = tables_[feature].data() + slot * per_slot_;
      const Value* const whole = above_[feature].data() + origins[slot].parent * per_slot_;
      const Value* const other = tables_[feature].data() + origins[slot].sibling * per_slot_;
      for (int64_t cell = 0; cell < per_slot_; ++cell) to[cell] = whole[cell] - other[cell];
    }
  }

  std::vector<Split> SplitsOn(Search<Code, Value>& search, const Level<Code, Value>& level, int32_t feature) const {
    std::vector<Split> splits;
    for (int64_t slot = 0; slot < level.num_slots; ++slot) {
      search.Open(slot);
      const Value* const cells = tables_[feature].data() + slot * per_slot_;
      splits.push_back(search.IsOpen(feature) ? search.OnHistogram(feature, cells) : Split());
    }
    return splits;
  }

  int64_t per_slot_ = 0;
  std::vector<std::vector<Value>> tables_, above_;  // of every feature
  std::vector<int32_t> base_, row_, label_;
  std::vector<Value> value_;
  Selection selection_{};
};

}  // namespace jaxtree

#endif  // JAXTREE_NATIVE_ROW_ORDER_H_
