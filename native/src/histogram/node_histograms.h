// Histograms of the nodes of one tree: of every feature the sums of all rows up to each code.
//
// Sums up to a code are what thresholds are scored by, and of two siblings those of one are those of the parent less those
// of the other.

#ifndef JAXTREE_NATIVE_HISTOGRAM_NODE_HISTOGRAMS_H_
#define JAXTREE_NATIVE_HISTOGRAM_NODE_HISTOGRAMS_H_

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>
#include <vector>

#include "common/memory.h"
#include "common/parallel.h"
#include "common/simd.h"
#include "evaluate/split_finder.h"
#include "histogram/packed_rows.h"
#include "histogram/sparse_columns.h"
#include "partition/row_partitioner.h"

namespace jaxtree {

// Where a cell has what: of one score the second derivative, the gradient and the number of rows; of several first a
// second derivative for each, behind which are the rows, and in the other half the gradients.
struct CellLayout {
  int64_t width;                // of a cell
  int32_t num_scores, of_rows;
  std::vector<int32_t> lane;    // of every channel of an objective that counts rows

  bool has_one_score() const { return num_scores == 1; }
  bool is_possible() const { return width > 0; }

  // The layout for so many scores and second derivatives, which is not possible of too many.
  static CellLayout For(int32_t num_scores, int32_t num_curvatures) {
    constexpr int64_t kMostHalf = 32;
    if (num_scores == 1) return {4, 1, 2, {0, 1, 2}};
    int64_t half = 4;
    while (half < num_scores + 1) half *= 2;
    CellLayout layout{half > kMostHalf ? 0 : 2 * half, num_scores, num_scores, {}};
    for (int32_t curvature = 0; curvature < num_curvatures; ++curvature) layout.lane.push_back(curvature);
    for (int32_t score = 0; score < num_scores; ++score) layout.lane.push_back(half + score);
    layout.lane.push_back(num_scores);
    return layout;
  }
};

// Calls run(a constant of the width).
template <typename Run>
void ForWidth(int64_t width, const Run& run) {
  switch (width) {
    case 4: return run(std::integral_constant<int, 4>());
    case 8: return run(std::integral_constant<int, 8>());
    case 16: return run(std::integral_constant<int, 16>());
    case 32: return run(std::integral_constant<int, 32>());
    default: return run(std::integral_constant<int, 64>());
  }
}

constexpr int32_t kNoUsual = -1;

// The features of a histogram. The cells of a feature follow those of the one before it.
struct HistogramColumns {
  struct Column {
    const uint8_t* codes;
    int64_t first, num_codes;  // cells
    int32_t usual;             // the code of nearly all rows, or `kNoUsual`
  };

  std::vector<Column> columns;
  int64_t num_cells = 0;

  int64_t size() const { return columns.size(); }

  Range CellsOf(Range some) const {
    return {columns[some.begin].first, columns[some.end - 1].first + columns[some.end - 1].num_codes};
  }

  void Append(const uint8_t* codes, int64_t num_codes, int32_t usual) {
    columns.push_back({codes, num_cells, num_codes, usual});
    num_cells += num_codes;
  }
};

// Histograms of nodes that wait are kept in so many bytes.
constexpr int64_t kBytesOfHistograms = 1 << 25;
constexpr int32_t kNoHistogram = -1;

// Memory for histograms, of one thread; it stays from tree to tree, so that its pages are there already.
class HistogramPool {
 public:
  // From here on no histogram is taken, and each has so many cells of a width.
  void Open(int64_t num_cells, int64_t width) {
    // A byte that is no code of its feature reaches past the last cell.
    const int64_t size = (num_cells + kMostCodes) * width;
    if (size > size_) all_.clear(), size_ = size;
    free_.clear();
    for (size_t at = 0; at < all_.size(); ++at) free_.push_back(all_.size() - 1 - at);
  }

  // A histogram that holds anything.
  int32_t Acquire() {
    if (free_.empty()) {
      all_.emplace_back(static_cast<int32_t*>(::operator new[](size_ * sizeof(int32_t), std::align_val_t(kAlignment))));
      free_.push_back(all_.size() - 1);
    }
    const int32_t taken = free_.back();
    free_.pop_back();
    return taken;
  }

  void Release(int32_t histogram) { free_.push_back(histogram); }

  // Whether those that are taken use up the memory, so that a node that waits should give its own back.
  bool IsFull() const {
    return static_cast<int64_t>((all_.size() - free_.size()) * size_ * sizeof(int32_t)) > kBytesOfHistograms;
  }

  int32_t* At(int32_t histogram) const {
    assert(0 <= histogram && histogram < static_cast<int64_t>(all_.size()));
    return all_[histogram].get();
  }

 private:
  struct Delete {
    void operator()(int32_t* cells) const { ::operator delete[](cells, std::align_val_t(kAlignment)); }
  };

  int64_t size_ = 0;
  std::vector<std::unique_ptr<int32_t[], Delete>> all_;
  std::vector<int32_t> free_;
};

// In the loops below what does not change is copied first: a compiler that cannot know that cells are not that would read it
// again and again.

// Rows that are added to histograms: those from `begin` to before `end` of a list, or of the table. With one score `added` has
// the packed number at the place of each in the list; with several, a cell for every row of the table.
struct AddedRows {
  const int32_t* rows;  // the list; null for all rows of the table
  const int32_t* added;
  int64_t begin, end;
  PackedFormat packed = {};  // of one score

  AddedRows Block(int64_t block, int64_t num_blocks) const {
    const int64_t count = end - begin;
    return Part(begin + count * block / num_blocks, begin + count * (block + 1) / num_blocks);
  }

  AddedRows Part(int64_t first, int64_t stop) const { return {rows, added, first, std::min(stop, end), packed}; }
};

// A cell as vectors.
template <int kWidth>
struct CellOf {
  static constexpr int kLength = std::min(kWidth, 16), kNumLanes = kWidth / kLength;
  typedef int32_t Lanes __attribute__((vector_size(kLength * sizeof(int32_t))));
};

// Sums rows of several scores in the cells of a feature, but for rows of its usual code.
template <int kWidth, bool kAll>
inline __attribute__((always_inline)) void AddCells(const HistogramColumns::Column& column, const AddedRows& rows,
                                                    int32_t* cells) {
  using Cell = CellOf<kWidth>;
  const AddedRows own_rows = rows;
  const uint8_t* const codes = column.codes;
  const int32_t usual = column.usual;
  int32_t* const own = cells + column.first * kWidth;
  std::fill_n(own, column.num_codes * kWidth, 0);
  for (int64_t at = own_rows.begin; at < own_rows.end; ++at) {
    const int64_t row = kAll ? at : own_rows.rows[at];
    const int32_t code = codes[row];
    if (code == usual) continue;
    const int32_t* const added = own_rows.added + row * kWidth;
    int32_t* const cell = own + int64_t{code} * kWidth;
#pragma GCC unroll 16
    for (int lane = 0; lane < kWidth; lane += Cell::kLength) {
      typename Cell::Lanes sum, more;
      std::memcpy(&sum, cell + lane, sizeof(sum));
      std::memcpy(&more, added + lane, sizeof(more));
      sum += more;
      std::memcpy(cell + lane, &sum, sizeof(sum));
    }
  }
}

// Adds packed rows to the sums of features that stand side by side, each of which has room for all codes of a byte; of a
// feature by itself not those of its usual code. Returns how many rows were added.
template <int kFeatures, bool kAll>
inline __attribute__((always_inline)) int64_t AddPacked(const HistogramColumns::Column* columns, const AddedRows& rows,
                                                        uint64_t* sums) {
  const AddedRows own_rows = rows;
  const uint8_t* codes[kFeatures];
  for (int feature = 0; feature < kFeatures; ++feature) codes[feature] = columns[feature].codes;
  const int32_t usual = columns->usual;
  const bool has_usual = kFeatures == 1 && usual != kNoUsual;
  int64_t count = 0;
  for (int64_t at = own_rows.begin; at < own_rows.end && has_usual; ++at) {
    const uint8_t code = codes[0][kAll ? at : own_rows.rows[at]];
    if (code == usual) continue;
    uint64_t own;
    std::memcpy(&own, own_rows.added + 2 * at, sizeof(own));
    sums[code] += own;
    ++count;
  }
  if (has_usual) return count;
  for (int64_t at = own_rows.begin; at < own_rows.end; ++at) {
    uint64_t own;
    std::memcpy(&own, own_rows.added + 2 * at, sizeof(own));
    const int64_t row = kAll ? at : own_rows.rows[at];
#pragma GCC unroll 8
    for (int feature = 0; feature < kFeatures; ++feature) sums[feature * kMostCodes + codes[feature][row]] += own;
  }
  return own_rows.end - own_rows.begin;
}

// Rows whose codes lie side by side, [row, feature], and what they add to a cell of one score.
struct RowBlock {
  const uint8_t* codes;
  const int32_t* added;
  int64_t num_features, size;
};

// Rows of a block, which is in a near cache.
constexpr int64_t kRowsOfBlock = 512;

class RowCopies {
 public:
  explicit RowCopies(int64_t num_features) : codes_(kRowsOfBlock * num_features), num_features_(num_features) {}

  // A block of packed rows, `kRowsOfBlock` at most; those of the table are read where they lie. Rows of a list are fetched before
  // they are copied, as a processor does not know which come next.
  inline __attribute__((always_inline)) RowBlock Of(const uint8_t* codes, const AddedRows& some) {
    const AddedRows own = some;
    const int64_t size = own.end - own.begin;
    for (int64_t at = 0; at < size; ++at) {
      const int64_t row = own.rows ? own.rows[own.begin + at] : own.begin + at;
      if (own.rows) Copy(codes, own, own.begin + at, at);
      uint64_t packed;
      std::memcpy(&packed, own.added + 2 * row, sizeof(packed));
      own.packed.UnpackRow(packed, added_ + kWidth * at);
    }
    return {own.rows ? codes_.data() : codes + own.begin * num_features_, added_, num_features_, size};
  }

 private:
  static constexpr int64_t kWidth = 4, kAhead = 16;

  inline __attribute__((always_inline)) void Copy(const uint8_t* codes, const AddedRows& own, int64_t number, int64_t at) {
    const int64_t row = own.rows[number], later = own.rows[std::min(number + kAhead, own.end - 1)];
    __builtin_prefetch(codes + later * num_features_);
    __builtin_prefetch(own.added + 2 * later);
    const uint8_t* const from = codes + row * num_features_;
    uint8_t* const to = codes_.data() + at * num_features_;
    // Tables are padded to multiples of eight features.
    int64_t feature = 0;
    for (; feature + 8 <= num_features_; feature += 8) std::memcpy(to + feature, from + feature, 8);
    for (; feature < num_features_; ++feature) to[feature] = from[feature];
  }

  std::vector<uint8_t> codes_;
  int32_t added_[kWidth * kRowsOfBlock];
  const int64_t num_features_;
};

// Adds rows to the cells of features that stand side by side.
template <int kFeatures>
inline __attribute__((always_inline)) void AddBlock(const HistogramColumns::Column* columns, const int32_t* feature,
                                                    const RowBlock& block, int32_t* cells) {
  using Cell = CellOf<4>::Lanes;
  const RowBlock own_block = block;
  const uint8_t* codes[kFeatures];
  int32_t* own[kFeatures];
  for (int at = 0; at < kFeatures; ++at) {
    codes[at] = own_block.codes + feature[at];
    own[at] = cells + columns[at].first * 4;
  }
  for (int64_t row = 0, place = 0; row < own_block.size; ++row, place += own_block.num_features) {
    Cell added;
    std::memcpy(&added, own_block.added + 4 * row, sizeof(added));
#pragma GCC unroll 4
    for (int at = 0; at < kFeatures; ++at) {
      int32_t* const cell = own[at] + int64_t{codes[at][place]} * 4;
      Cell sum;
      std::memcpy(&sum, cell, sizeof(sum));
      sum += added;
      std::memcpy(cell, &sum, sizeof(sum));
    }
  }
}

// Gives the usual code of a feature what the others leave of the sums of all rows.
template <int kWidth>
inline void FillUsual(const HistogramColumns::Column& column, const int32_t* total, int32_t* cells) {
  int32_t* const own = cells + column.first * kWidth;
  int32_t* const usual = own + column.usual * kWidth;
  std::copy_n(total, kWidth, usual);
  for (int64_t code = 0; code < column.num_codes; ++code) {
    if (code == column.usual) continue;
    for (int lane = 0; lane < kWidth; ++lane) usual[lane] -= own[code * kWidth + lane];
  }
}

template <int kWidth>
inline void SumUp(const HistogramColumns::Column& column, int32_t* cells) {
  using Cell = CellOf<kWidth>;
  int32_t* own = cells + column.first * kWidth;
  typename Cell::Lanes sum[Cell::kNumLanes] = {};
  for (const int32_t* const end = own + column.num_codes * kWidth; own < end; own += kWidth) {
    for (int lane = 0; lane < Cell::kNumLanes; ++lane) {
      typename Cell::Lanes alone;
      std::memcpy(&alone, own + Cell::kLength * lane, sizeof(alone));
      sum[lane] += alone;
      std::memcpy(own + Cell::kLength * lane, sum + lane, sizeof(alone));
    }
  }
}

// Sums of packed rows by the codes of some features.
template <int kFeatures>
struct PackedSums {
  alignas(kAlignment) uint64_t sums[kFeatures * kMostCodes];

  explicit PackedSums(const PackedFormat& packed) { std::fill_n(sums, kFeatures * kMostCodes, packed.start); }
};

// Adds packed rows to the cells of a feature, so few at a time that no sum reaches into another.
template <bool kAll>
inline __attribute__((always_inline)) void AddFewAtATime(const HistogramColumns::Column& column, const AddedRows& rows,
                                                         int32_t* cells) {
  const int64_t number = rows.packed.most_rows;
  for (int64_t first = rows.begin; first < rows.end; first += number) {
    PackedSums<1> few(rows.packed);
    AddPacked<1, kAll>(&column, rows.Part(first, first + number), few.sums);
    rows.packed.Unpack<false>(few.sums, column.num_codes, cells + 4 * column.first);
  }
}

// Of many codes none has more than this many times its share of most rows.
constexpr int64_t kMostShares = 32;

// Sums packed rows in the cells of features that stand side by side: as many at a time as fit into cells if codes have about
// equal shares of them; where they do not, fewer. With `is_up_to`, which no usual code allows, cells get the sums up to theirs.
template <int kFeatures, bool kAll>
inline __attribute__((always_inline)) void SumPacked(const HistogramColumns::Column* columns, const AddedRows& rows,
                                                     int32_t* cells, bool is_up_to) {
  int64_t least_codes = kMostCodes;
  for (int feature = 0; feature < kFeatures; ++feature) least_codes = std::min(least_codes, columns[feature].num_codes);
  const int64_t number = rows.packed.most_rows * std::max<int64_t>(least_codes / kMostShares, 1);
  const bool are_together = rows.end - rows.begin <= number;
  for (int64_t first = rows.begin; first == rows.begin || first < rows.end; first += number) {
    PackedSums<kFeatures> some(rows.packed);
    const AddedRows added = rows.Part(first, first + number);
    const int64_t count = AddPacked<kFeatures, kAll>(columns, added, some.sums);
    for (int feature = 0; feature < kFeatures; ++feature) {
      const HistogramColumns::Column& column = columns[feature];
      const uint64_t* const own = some.sums + feature * kMostCodes;
      int32_t* const to = cells + 4 * column.first;
      const bool are_right = rows.packed.AreRight(own, column.num_codes, count);
      if (is_up_to && are_together && are_right) {
        rows.packed.Unpack<true>(own, column.num_codes, to);
        continue;
      }
      if (first == rows.begin) std::fill_n(to, 4 * column.num_codes, 0);
      if (are_right) rows.packed.Unpack<false>(own, column.num_codes, to);
      else AddFewAtATime<kAll>(column, added, cells);
      if (is_up_to && added.end == rows.end) SumUp<4>(column, cells);
    }
  }
}

// How many features are summed side by side, so that their sums stay in a core's nearest cache.
constexpr int64_t FeaturesOfPack(int64_t width) { return width == 4 ? 4 : 1; }

// Sums rows in the cells of some features, `FeaturesOfPack` at most, which may hold anything before: those of each code. With
// `is_up_to` cells of one score get the sums up to each code, but for features that have a usual code.
template <int kWidth, bool kAll>
inline __attribute__((always_inline)) void AddPack(const HistogramColumns& columns, Range some, const AddedRows& rows,
                                                   int32_t* cells, bool is_up_to) {
  constexpr int kPack = FeaturesOfPack(kWidth);
  const HistogramColumns::Column *const own = columns.columns.data() + some.begin, *const end = own + some.size();
  if constexpr (kPack > 1) {
    const bool has_usual = std::any_of(own, end, [](const auto& column) { return column.usual != kNoUsual; });
    if (some.size() == kPack && !has_usual) return SumPacked<kPack, kAll>(own, rows, cells, is_up_to);
  }
  for (const HistogramColumns::Column* column = own; column < end; ++column) {
    if constexpr (kWidth == 4) SumPacked<1, kAll>(column, rows, cells, is_up_to && column->usual == kNoUsual);
    else AddCells<kWidth, kAll>(*column, rows, cells);
  }
}

template <int kWidth>
inline __attribute__((always_inline)) void AddColumns(const HistogramColumns& columns, Range some, const AddedRows& rows,
                                                      int32_t* cells, bool is_up_to = false) {
  rows.rows ? AddPack<kWidth, false>(columns, some, rows, cells, is_up_to)
            : AddPack<kWidth, true>(columns, some, rows, cells, is_up_to);
}

// Makes of such cells the sums up to each code. `total` has those of all rows.
template <int kWidth>
inline __attribute__((always_inline)) void SumUpColumns(const HistogramColumns& columns, Range some, const int32_t* total,
                                                        int32_t* cells, bool is_up_to = false) {
  for (int64_t at = some.begin; at < some.end; ++at) {
    const HistogramColumns::Column& column = columns.columns[at];
    if (column.usual != kNoUsual) FillUsual<kWidth>(column, total, cells);
    else if (is_up_to && kWidth == 4) continue;
    SumUp<kWidth>(column, cells);
  }
}

}  // namespace jaxtree

#endif  // JAXTREE_NATIVE_HISTOGRAM_NODE_HISTOGRAMS_H_
