// The codes of numbers: how many edges of a column lie below each.
//
// The upper bits of a number as a float32 say which *cell* it lies in. Cells follow each other as numbers do, so that a number
// lies above all edges of lower cells; a few steps of a binary search settle which of its own cell it lies above.

#ifndef JAXTREE_NATIVE_BINNING_CODES_H_
#define JAXTREE_NATIVE_BINNING_CODES_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "binning/columns.h"
#include "common/keys.h"
#include "common/simd.h"

namespace jaxtree {

// Of a column of few rows a table of all cells would take longer to make than it saves.
constexpr int kBitsOfCell = 16, kBitsOfFewRows = 14;
constexpr int64_t kFewRows = 1 << 16;

// The bins of a column: `edges` are one fewer, `low` and `high` their ends.
struct BinsOfColumn {
  int64_t number;
  const double *edges, *low, *high;
};

// The numbers of rows that lie outside the bins that their codes name: the lowest and the highest of every bin.
struct Ends {
  std::vector<double> low, high;

  explicit Ends(int64_t number)
      : low(number, std::numeric_limits<double>::infinity()), high(number, -std::numeric_limits<double>::infinity()) {}

  void Join(int64_t bin, double number) {
    low[bin] = std::min(low[bin], number);
    high[bin] = std::max(high[bin], number);
  }
};

// Finds the codes of a column.
class Coder {
 public:
  virtual ~Coder() = default;

  // Writes the codes of at most kRowsOfTile rows, and adds those outside their bins to `ends`, unless that is null.
  virtual void Code(const Column& column, int64_t begin, int64_t end, uint16_t* codes, Ends* ends) const = 0;
};

template <typename Real>
class CoderOf : public Coder {
 public:
  using Key = KeyOf<Real>;

  CoderOf(const BinsOfColumn& bins, int64_t num_rows)
      : num_bins_(bins.number), shift_(32 - (num_rows > kFewRows ? kBitsOfCell : kBitsOfFewRows)),
        first_(size_t{1} << (32 - shift_)) {
    // Above the last edge lie known numbers up to infinity; of missing ones the key is greater.
    for (int64_t bin = 0; bin < num_bins_; ++bin) {
      const double edge = bin + 1 < num_bins_ ? bins.edges[bin] : std::numeric_limits<double>::infinity();
      edges_.push_back(MakeKey(RoundedDown(edge)));
      low_.push_back(MakeKey(-RoundedDown(-bins.low[bin])));
      high_.push_back(MakeKey(RoundedDown(bins.high[bin])));
    }
    // A missing number lies in no bin to be widened.
    low_.push_back(0);
    high_.push_back(std::numeric_limits<Key>::max());
    FillCells();
  }

  void Code(const Column& column, int64_t begin, int64_t end, uint16_t* codes, Ends* ends) const override {
    Real numbers[kRowsOfTile];
    Key keys[kRowsOfTile];
    uint32_t place[kRowsOfTile];
    const int64_t size = end - begin;
    ReadNumbers(column, begin, end, numbers);
    WithWidest([&] {
      for (int64_t row = 0; row < size; ++row) {
        keys[row] = MakeKey(numbers[row]);
        place[row] = CellOf(numbers[row]) >> shift_;
      }
    });
    for (int64_t row = 0; row < size; ++row) place[row] = first_[place[row]];
    // Without branches, which nobody could foresee.
    for (uint32_t step = first_step_; step > 0; step /= 2) {
      const Key* const edges = edges_.data() + step - 1;
      for (int64_t row = 0; row < size; ++row) place[row] += -static_cast<uint32_t>(keys[row] > edges[place[row]]) & step;
    }
    for (int64_t row = 0; row < size; ++row) codes[row] = static_cast<uint16_t>(place[row]);
    if (ends && num_bins_ > 0) Widen(keys, place, size, *ends);
  }

 private:
  // So that no number of the type compares otherwise than with the edge.
  static Real RoundedDown(double edge) {
    const auto rounded = static_cast<Real>(edge);
    return rounded > edge ? std::nextafter(rounded, -std::numeric_limits<Real>::infinity()) : rounded;
  }

  static uint32_t CellOf(Real number) { return MakeKey(static_cast<float>(number)); }

  void FillCells() {
    uint32_t next = 0, most = 0;
    for (size_t begin = 0, end; begin < edges_.size(); begin = end) {
      const uint32_t cell = CellOf(NumberOf<Real>(edges_[begin])) >> shift_;
      for (end = begin; end < edges_.size() && CellOf(NumberOf<Real>(edges_[end])) >> shift_ == cell; ++end) {}
      std::fill(first_.begin() + next, first_.begin() + cell + 1, static_cast<uint16_t>(begin));
      next = cell + 1;
      most = std::max<uint32_t>(most, end - begin);
    }
    std::fill(first_.begin() + next, first_.end(), static_cast<uint16_t>(edges_.size()));
    for (uint32_t step = 1; step <= most; step *= 2) first_step_ = step;
    // Nothing lies above the greatest key.
    edges_.insert(edges_.end(), 2 * first_step_ + 1, std::numeric_limits<Key>::max());
  }

  void Widen(const Key* keys, const uint32_t* codes, int64_t size, Ends& ends) const {
    int64_t outside = 0;
    for (int64_t row = 0; row < size; ++row) outside += (keys[row] < low_[codes[row]]) | (keys[row] > high_[codes[row]]);
    for (int64_t row = 0; outside > 0 && row < size; ++row) {
      const uint32_t code = codes[row];
      if (keys[row] < low_[code] || keys[row] > high_[code]) ends.Join(code, static_cast<double>(NumberOf<Real>(keys[row])));
    }
  }

  const int64_t num_bins_;
  const int shift_;
  std::vector<uint16_t> first_;  // of every cell: how many edges lie in lower cells
  uint32_t first_step_ = 0;
  std::vector<Key> edges_, low_, high_;
};

inline std::unique_ptr<const Coder> CoderFor(const Column& column, const BinsOfColumn& bins, int64_t num_rows) {
  if (column.is_single()) return std::make_unique<CoderOf<float>>(bins, num_rows);
  return std::make_unique<CoderOf<double>>(bins, num_rows);
}

}  // namespace jaxtree

#endif  // JAXTREE_NATIVE_BINNING_CODES_H_
