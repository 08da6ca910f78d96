// The values of a node's entries, those of an entry side by side: a *vector*, which is added to the cells of a code at once.

#ifndef JAXTREE_NATIVE_EVALUATE_ENTRY_VECTORS_H_
#define JAXTREE_NATIVE_EVALUATE_ENTRY_VECTORS_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "common/memory.h"
#include "common/simd.h"
#include "input/level.h"

namespace jaxtree {

// From this many channels on values are brought side by side: in a level they lie a whole level apart, and each would be
// read from memory anew for every feature.
constexpr size_t kLeastOfVector = 4;
// A thread copies at most this many values.
constexpr int64_t kMostOfVectors = int64_t{1} << 24;
// Entries whose values are brought side by side together: a line of memory has so many of a channel.
constexpr int64_t kEntriesPerLine = 16;
// Up to this many entries a node reads codes that lie side by side: those of its rows stay in the nearest cache from
// feature to feature.
constexpr int64_t kMostBySide = 1 << 9;
// Vectors are of a multiple of so many numbers, or of half as many.
constexpr int64_t kLanesOfVector = 8;

// Cells that begin where a line of memory does.
template <typename Value>
class AlignedCells {
 public:
  // All are 0.
  void Resize(int64_t size) {
    if (size <= size_) return;
    own_.assign(size + kAlignment / sizeof(Value), 0);
    const auto at = reinterpret_cast<uintptr_t>(own_.data());
    first_ = own_.data() + (kAlignment - at % kAlignment) % kAlignment / sizeof(Value);
    size_ = size;
  }

  Value* data() { return first_; }

 private:
  std::vector<Value> own_;
  Value* first_ = nullptr;
  int64_t size_ = 0;
};

template <typename Code, typename Value>
class EntryVectors {
 public:
  explicit EntryVectors(const Level<Code, Value>& level)
      : level_(level), width_(level.slot != nullptr ? 0 : WidthFor(level.rules)) {}

  // The same of entries that are sorted by node: they are vectors where each value is added to the channel of its place.
  static int64_t WidthFor(const Rules<Value>& rules) {
    const std::vector<Addition>& added = rules.additions;
    for (size_t at = 0; at < added.size(); ++at) {
      if (added[at].label >= 0 || added[at].channel != static_cast<int32_t>(at)) return 0;
    }
    const int64_t size = added.size(), half = kLanesOfVector / 2;
    if (added.size() < kLeastOfVector || size != rules.objective.num_channels) return 0;
    return size <= half ? half : (size + kLanesOfVector - 1) / kLanesOfVector * kLanesOfVector;
  }

  // The numbers of a vector, which are those of a code's cells; 0 where entries are no vectors.
  int64_t width() const { return width_; }

  // From here on vectors are those of the entries from `begin` to before `end`.
  void Open(int64_t begin, int64_t end) {
    are_made_ = are_made_ && begin == begin_ && end == end_;
    begin_ = begin, end_ = end;
  }

  bool AreFew() const { return (end_ - begin_) * width_ <= kMostOfVectors; }

  // Adds the entries to the cells of their codes, and marks these as present.
  void AddTo(int32_t feature, uint8_t* present, Value* cells) {
    if (!are_made_) Make();
    const Table<Code>& table = level_.table;
    const bool reads_side_by_side = ReadsSideBySide();
    const Code* const codes = reads_side_by_side ? table.codes_of_rows + feature : table.ColumnOf(feature);
    const int32_t* const place = reads_side_by_side ? place_.data() : level_.row + begin_;
    const Value* const vectors = vectors_.data();
    const int64_t size = end_ - begin_, width = width_;
    const int32_t last_code = table.num_bins - 1;
    WithWidest([=] {
      if (width == kLanesOfVector) AddAll<kLanesOfVector>(codes, place, vectors, size, width, last_code, present, cells);
      else if (width == kLanesOfVector / 2) AddAll<kLanesOfVector / 2>(codes, place, vectors, size, width, last_code, present, cells);
      else AddAll<0>(codes, place, vectors, size, width, last_code, present, cells);
    });
  }

 private:
  bool ReadsSideBySide() const {
    const Table<Code>& table = level_.table;
    const bool have_places = table.num_rows * table.num_features <= std::numeric_limits<int32_t>::max();
    return table.codes_of_rows != nullptr && have_places && end_ - begin_ <= kMostBySide;
  }

  void Make() {
    const std::vector<Addition>& added = level_.rules.additions;
    const int64_t size = added.size();
    vectors_.Resize((end_ - begin_) * width_);
    for (int64_t first = begin_; first < end_; first += kEntriesPerLine) {
      const int64_t last = std::min(first + kEntriesPerLine, end_);
      for (int64_t channel = 0; channel < size; ++channel) {
        const int32_t from = added[channel].value;
        const Value* const values = from == kCountsRow ? nullptr : level_.value + from * level_.num_entries;
        Value* to = vectors_.data() + (first - begin_) * width_ + channel;
        for (int64_t entry = first; entry < last; ++entry, to += width_) *to = values ? values[entry] : 1;
      }
    }
    if (ReadsSideBySide()) {
      place_.clear();
      for (int64_t entry = begin_; entry < end_; ++entry) place_.push_back(level_.row[entry] * level_.table.num_features);
    }
    are_made_ = true;
  }

  // Vectors of any multiple of `kLanesOfVector` have `kWidth` 0.
  template <int kWidth>
  static inline __attribute__((always_inline)) void AddAll(const Code* codes, const int32_t* place, const Value* vectors,
                                                           int64_t size, int64_t any_width, int32_t last_code,
                                                           uint8_t* present, Value* cells) {
    constexpr int64_t kLanes = kWidth > 0 ? kWidth : kLanesOfVector;
    typedef Value Lanes __attribute__((vector_size(kLanes * sizeof(Value))));
    const int64_t width = kWidth > 0 ? kWidth : any_width;
    for (int64_t at = 0; at < size; ++at) {
      const int32_t code = std::clamp<int32_t>(codes[place[at]], 0, last_code);
      present[code] = 1;
      for (int64_t lane = 0; lane < width; lane += kLanes) {
        Lanes sum, added;
        std::memcpy(&sum, cells + code * width + lane, sizeof(sum));
        std::memcpy(&added, vectors + at * width + lane, sizeof(added));
        sum += added;
        std::memcpy(cells + code * width + lane, &sum, sizeof(sum));
      }
    }
  }

  const Level<Code, Value>& level_;
  const int64_t width_;
  int64_t begin_ = 0, end_ = 0;
  bool are_made_ = false;
  AlignedCells<Value> vectors_;
  std::vector<int32_t> place_;  // of every entry, the place of its row's codes where these lie side by side
};

}  // namespace jaxtree

#endif  // JAXTREE_NATIVE_EVALUATE_ENTRY_VECTORS_H_
