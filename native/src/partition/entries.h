// The entries of a growth: rows with a weight on their way down the trees.

#ifndef JAXTREE_NATIVE_PARTITION_ENTRIES_H_
#define JAXTREE_NATIVE_PARTITION_ENTRIES_H_

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <utility>
#include <vector>

#include "evaluate/split_finder.h"
#include "tree/node_table.h"

namespace jaxtree {

// A channel of values lies side by side. This many entries at a time, whole channels are read one after the other, so that many
// channels are not read from another place of memory for every entry.
constexpr int64_t kEntriesPerBlock = 256;

// Columns of `size` entries each: XLA's arrays at first, own ones once entries are sorted.
template <typename Value>
struct Entries {
  int64_t size;
  const int32_t *row, *root, *label;  // null rows: entry e is row e; null roots: all are at the first
  const int64_t* identity;  // tells targets apart
  const Value* value;
  int64_t num_labels, num_values;
  bool are_in_row_order;
  std::vector<Addition> additions;  // to the sums of a node
  bool adds_one_label;              // and nothing else, see `Rules`
  bool adds_two_values;             // and nothing else: each to a channel of its own

  int32_t RowOf(int64_t entry) const { return row == nullptr ? entry : row[entry]; }
  int32_t RootOf(int64_t entry) const { return root == nullptr ? 0 : root[entry]; }

  // Adds entries to the sums of their nodes: node_of(entry) is asked for each of them, and is below 0 for one of no node.
  template <typename NodeOf>
  void AddEach(int64_t begin, int64_t end, int64_t num_channels, const NodeSums<Value>& to, const NodeOf& node_of) const {
    if (additions.size() < kLeastOfVector) {
      for (int64_t entry = begin; entry < end; ++entry) {
        const int32_t node = node_of(entry);
        if (node >= 0) Add(entry, node, num_channels, to);
      }
      return;
    }
    int32_t node[kEntriesPerBlock];
    for (int64_t first = begin; first < end; first += kEntriesPerBlock) {
      const int64_t last = std::min(first + kEntriesPerBlock, end);
      for (int64_t entry = first; entry < last; ++entry) {
        const int32_t own = node[entry - first] = node_of(entry);
        if (own < 0) continue;
        ++to.num_rows[own];
        if (to.low != nullptr) Compare(entry, own, to);
      }
      for (const Addition& addition : additions) {
        const int32_t* const own_label = addition.label < 0 ? nullptr : label + addition.label * size;
        Value* const sums = to.sums + addition.channel;
        for (int64_t entry = first; entry < last; ++entry) {
          if (node[entry - first] < 0) continue;
          const int64_t channel = node[entry - first] * num_channels + (own_label ? own_label[entry] : 0);
          sums[channel] += value[addition.value * size + entry];
        }
      }
    }
  }

  // Whether each value is added to the channel of its place, and nothing else.
  bool AddsValuesInOrder() const {
    for (size_t at = 0; at < additions.size(); ++at) {
      const Addition& own = additions[at];
      if (own.label >= 0 || own.channel != static_cast<int32_t>(at) || own.value != own.channel) return false;
    }
    return identity == nullptr;
  }

  // Adds an entry to the sums of a node.
  void Add(int64_t entry, int64_t node, int64_t num_channels, const NodeSums<Value>& to) const {
    Value* const sums = to.sums + node * num_channels;
    ++to.num_rows[node];
    if (adds_one_label) {
      sums[label[entry]] += value[entry];
      return;
    }
    if (adds_two_values) {
      sums[0] += value[entry];
      sums[1] += value[size + entry];
      return;
    }
    AddValues(entry, sums, [&](int64_t number) { return value[number * size + entry]; });
    if (to.low != nullptr) Compare(entry, node, to);
  }

  // The same of an entry of other values, a share of its own.
  void AddShare(int64_t entry, const Value* share, int64_t node, int64_t num_channels, const NodeSums<Value>& to) const {
    ++to.num_rows[node];
    AddValues(entry, to.sums + node * num_channels, [&](int64_t number) { return share[number]; });
    if (to.low != nullptr) Compare(entry, node, to);
  }

 private:
  template <typename ValueOf>
  void AddValues(int64_t entry, Value* sums, const ValueOf& value_of) const {
    for (const Addition& addition : additions) {
      const int32_t own = addition.label < 0 ? 0 : label[addition.label * size + entry];
      sums[addition.channel + own] += value_of(addition.value);
    }
  }

  void Compare(int64_t entry, int64_t node, const NodeSums<Value>& to) const {
    to.low[node] = std::min(to.low[node], identity[entry]);
    to.high[node] = std::max(to.high[node], identity[entry]);
  }
};

// The own memory of sorted entries.
template <typename Value>
class EntryColumns {
 public:
  // Copies entries to their places: place_of(entry) is asked for each of them, and is below 0 for one that is left out.
  template <typename PlaceOf>
  void PutEach(const Entries<Value>& entries, int64_t begin, int64_t end, const PlaceOf& place_of) {
    int64_t place[kEntriesPerBlock], from[kEntriesPerBlock];
    for (int64_t first = begin; first < end; first += kEntriesPerBlock) {
      const int64_t last = std::min(first + kEntriesPerBlock, end);
      int64_t number = 0;
      for (int64_t entry = first; entry < last; ++entry) {
        from[number] = entry;
        place[number] = place_of(entry);
        assert(place[number] < size_);
        number += place[number] >= 0;
      }
      for (int64_t own = 0; own < number; ++own) PutRow(entries, from[own], place[own]);
      for (int64_t at = 0, to = 0; at < entries.num_values * entries.size; at += entries.size, to += size_) {
        const Value* const values = entries.value + at;
        Value* const moved = value_.data() + to;
        for (int64_t own = 0; own < number; ++own) moved[place[own]] = values[from[own]];
      }
    }
  }

  // The same of an entry of other values, a share of its own.
  void PutShare(const Entries<Value>& entries, int64_t entry, const Value* share, int64_t place) {
    PutRow(entries, entry, place);
    for (int64_t at = 0; at < entries.num_values; ++at) value_[at * size_ + place] = share[at];
  }

  // Copies entries of one label and one value each, one after another, to the places of their two branches; those of a
  // branch without a place are left out.
  void PutDivided(const Entries<Value>& entries, int64_t begin, int64_t end, const uint16_t* branch, const int64_t* places) {
    int64_t next[2] = {places[0], places[1]};
    if (next[0] < 0 && next[1] < 0) return;
    const bool is_kept[2] = {next[0] >= 0, next[1] >= 0};
    const int32_t *const row = entries.row, *const label = entries.label;
    const Value* const value = entries.value;
    int32_t *const to_row = row_.data(), *const to_label = label_.data();
    Value* const to_value = value_.data();
    for (int64_t entry = begin; entry < end; ++entry) {
      const int32_t own = branch[entry];
      if (!is_kept[own]) continue;
      const int64_t place = next[own]++;
      assert(place < size_);
      to_row[place] = row[entry];
      to_label[place] = label[entry];
      to_value[place] = value[entry];
    }
  }

  // Makes room for so many entries.
  void Resize(const Entries<Value>& entries, int64_t size) {
    size_ = size;
    row_.resize(size);
    label_.resize(entries.num_labels * size);
    identity_.resize(entries.identity == nullptr ? 0 : size);
    value_.resize(entries.num_values * size);
  }

  // From here on the entries are read from this memory.
  void ReadFrom(Entries<Value>& entries) const {
    entries.size = size_;
    entries.row = row_.data();
    entries.label = label_.data();
    entries.identity = identity_.empty() ? nullptr : identity_.data();
    entries.value = value_.data();
  }

 private:
  void PutRow(const Entries<Value>& entries, int64_t entry, int64_t place) {
    row_[place] = entries.RowOf(entry);
    for (int64_t at = 0, to = 0; at < entries.num_labels * entries.size; at += entries.size, to += size_) {
      label_[to + place] = entries.label[at + entry];
    }
    if (entries.identity != nullptr) identity_[place] = entries.identity[entry];
  }

  int64_t size_ = 0;
  std::vector<int32_t> row_, label_;
  std::vector<int64_t> identity_;
  std::vector<Value> value_;
};

}  // namespace jaxtree

#endif  // JAXTREE_NATIVE_PARTITION_ENTRIES_H_
