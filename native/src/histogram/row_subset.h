// The entries that are summed at a level in the order of the rows, all of them or some, and what each adds.

#ifndef JAXTREE_NATIVE_HISTOGRAM_ROW_SUBSET_H_
#define JAXTREE_NATIVE_HISTOGRAM_ROW_SUBSET_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "common/memory.h"
#include "common/parallel.h"
#include "evaluate/split_finder.h"
#include "xla/ffi/api/ffi.h"

namespace jaxtree {

// Where the sums of a slot come from: its entries, or the sums of its parent less those of its sibling.
struct Origin {
  int32_t parent = -1, sibling = -1;  // slots of the level above and of this one; -1 for its entries

  bool is_difference() const { return parent >= 0; }
};

// Numbers of 32 bits that a processor adds at once.
constexpr int64_t kLanes = 4;

// Derivatives of 32 bits lie side by side: as a *vector*, of two numbers, or of as many times four as there must be.
template <typename Code, typename Value>
bool AddsVectors(const Level<Code, Value>& level) {
  const auto& added = level.rules.additions;
  if (sizeof(Value) != sizeof(int32_t) || !level.rules.objective.IsNewton()) return false;
  for (size_t at = 0; at < added.size(); ++at) {
    if (added[at].label >= 0 || added[at].channel != static_cast<int32_t>(at)) return false;
  }
  return true;
}

inline int64_t WidthOfVector(int64_t num_channels) {
  return num_channels == 2 ? 2 : (num_channels + kLanes - 1) / kLanes * kLanes;
}

template <typename Code, typename Value>
class RowSubset {
 public:
  // Every part of the entries has its range.
  std::vector<Range> ranges;
  int64_t stride = 0, width = 0;    // of a channel of values; of a vector, 0 where values are no vectors
  const int32_t *slot = nullptr;    // of every entry; the number of slots where it has none
  const int32_t *row = nullptr;     // null for all rows
  const int32_t *label = nullptr;
  const Value* value = nullptr;     // vectors, or a row of the array for each channel

  // Takes memory for a table.
  void Open(Memory& memory, const Level<Code, Value>& level) {
    if (slot_ != nullptr) return;
    const int64_t size = level.num_entries;
    slot_ = memory.Take<int32_t>(size);
    row_ = memory.Take<int32_t>(size);
    for (const Addition& addition : level.rules.additions) {
      num_labels_ = std::max<int64_t>(num_labels_, addition.label + 1);
      num_values_ = std::max<int64_t>(num_values_, addition.value + 1);
    }
    width = AddsVectors(level) ? WidthOfVector(level.rules.additions.size()) : 0;
    if (width > 0) vector_ = memory.Take<Value>(width * size);
    label_ = memory.Take<int32_t>(num_labels_ * size);
    value_ = memory.Take<Value>((width > 0 ? width : num_values_) * size);
  }

  // The vector that a row adds, where values are vectors.
  const Value* VectorOf(int64_t row) const { return vector_ + row * width; }

  void SelectAll(Threads& pool, const Level<Code, Value>& level) {
    const int64_t size = level.num_entries;
    ForEachPart(pool, NumParts(pool, size), size, [&](int64_t, int64_t begin, int64_t end) {
      for (int64_t entry = begin; entry < end; ++entry) slot_[entry] = SlotOf(level.slot[entry], level.num_slots);
      if (width > 0) MakeVectors(level, begin, end);
    });
    ranges = {{0, size}};
    stride = size;
    slot = slot_, row = nullptr, label = level.label, value = width > 0 ? vector_ : level.value;
  }

  // Leaves out the entries of slots that are differences, and those of no slot. `slot_of(part, entry)` returns the slot of
  // an entry, or a number below 0.
  template <typename SlotOfEntry>
  void SelectSome(Threads& pool, const Level<Code, Value>& level, const std::vector<Origin>& origins,
                  const SlotOfEntry& slot_of) {
    const int64_t size = level.num_entries, num_slots = origins.size(), num_parts = NumParts(pool, size);
    std::vector<uint8_t> is_summed(num_slots + 1);  // the last is for entries of no slot
    for (int64_t slot = 0; slot < num_slots; ++slot) is_summed[slot] = !origins[slot].is_difference();
    ranges.assign(num_parts, {});
    stride = size;
    slot = slot_, row = row_, label = label_, value = value_;
    ForEachPart(pool, num_parts, size, [&](int64_t part, int64_t begin, int64_t end) {
      int64_t to = begin;
      for (int64_t entry = begin; entry < end; ++entry) {
        const int64_t own = SlotOf(slot_of(part, entry), num_slots);
        row_[to] = entry;
        slot_[to] = own;
        to += is_summed[own];
      }
      ranges[part] = {begin, to};
      CopyAdditions(level, begin, to);
    });
  }

 private:
  // The slot, after all slots if there is none.
  static int64_t SlotOf(int32_t slot, int64_t num_slots) { return std::min<int64_t>(static_cast<uint32_t>(slot), num_slots); }

  void MakeVectors(const Level<Code, Value>& level, int64_t begin, int64_t end) {
    const int64_t num_channels = level.rules.additions.size();
    for (int64_t channel = 0; channel < width; ++channel) {
      const bool is_padding = channel >= num_channels;
      const int32_t from = is_padding ? kCountsRow : level.rules.additions[channel].value;
      const Value* const values = from == kCountsRow ? nullptr : level.value + from * level.num_entries;
      for (int64_t entry = begin; entry < end; ++entry) {
        vector_[entry * width + channel] = values ? values[entry] : !is_padding;
      }
    }
  }

  void CopyAdditions(const Level<Code, Value>& level, int64_t begin, int64_t end) {
    if (width == 2) return CopyVectors<2>(begin, end);
    if (width == kLanes) return CopyVectors<kLanes>(begin, end);
    if (width > 0) {
      for (int64_t entry = begin; entry < end; ++entry) {
        std::copy_n(vector_ + row_[entry] * width, width, value_ + entry * width);
      }
      return;
    }
    for (int64_t at = 0; at < num_labels_ * stride; at += stride) {
      for (int64_t entry = begin; entry < end; ++entry) label_[at + entry] = level.label[at + row_[entry]];
    }
    for (int64_t at = 0; at < num_values_ * stride; at += stride) {
      for (int64_t entry = begin; entry < end; ++entry) value_[at + entry] = level.value[at + row_[entry]];
    }
  }

  template <int kWidth>
  void CopyVectors(int64_t begin, int64_t end) {
    for (int64_t entry = begin; entry < end; ++entry) {
      std::copy_n(vector_ + int64_t{row_[entry]} * kWidth, kWidth, value_ + entry * kWidth);
    }
  }

  int64_t num_labels_ = 0, num_values_ = 0;
  int32_t *slot_ = nullptr, *row_ = nullptr, *label_ = nullptr;
  Value *vector_ = nullptr, *value_ = nullptr;  // the vectors of all rows; what the selected entries add
};

}  // namespace jaxtree

#endif  // JAXTREE_NATIVE_HISTOGRAM_ROW_SUBSET_H_
