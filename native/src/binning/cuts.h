// Where the bins of a column begin among its numbers in ascending order; jaxtree/table/binning.py says by which rules, and does
// the same with the same bits.

#ifndef JAXTREE_NATIVE_BINNING_CUTS_H_
#define JAXTREE_NATIVE_BINNING_CUTS_H_

#include <algorithm>
#include <cstdint>
#include <vector>

namespace jaxtree {

// How much of the bin at an end of a column lies beyond each cut through it, outwards.
struct Tail {
  const double* share;
  int64_t size;
};

template <typename Real>
class Cutter {
 public:
  // Ascending numbers.
  Cutter(const Real* ordered, int64_t size, int64_t max_bins) : ordered_(ordered), size_(size), max_bins_(max_bins) {}

  // Whether every distinct number has a bin.
  bool is_exact() const { return size_ == 0 || CountDistinct(0, size_) <= max_bins_; }

  // The number of distinct ones between two places.
  int64_t CountDistinct(int64_t begin, int64_t end) const {
    int64_t count = 1;
    for (int64_t at = begin + 1; at < end; ++at) count += ordered_[at] != ordered_[at - 1];
    return count;
  }

  // The first place of every number.
  std::vector<int64_t> FirstOfValues() const {
    std::vector<int64_t> first;
    for (int64_t at = 0; at < size_; ++at) {
      if (at == 0 || ordered_[at] != ordered_[at - 1]) first.push_back(at);
    }
    return first;
  }

  // The first place of every bin, of equally full ones with tails.
  std::vector<int64_t> FirstOfBins(Tail low, Tail high) {
    const int64_t num_shares = max_bins_ - low.size - high.size;
    std::vector<double> places;
    for (int64_t at = low.size; at-- > 0;) places.push_back(low.share[at]);
    for (int64_t share = 1; share < num_shares; ++share) places.push_back(static_cast<double>(share));
    for (int64_t at = 0; at < high.size; ++at) places.push_back(static_cast<double>(num_shares) - high.share[at]);
    return HasFullBin() ? BetweenValues(num_shares, places) : BetweenRows(num_shares, places);
  }

 private:
  // Whether any number fills a bin by itself.
  bool HasFullBin() const {
    const auto share = static_cast<int64_t>(static_cast<double>(size_) / static_cast<double>(max_bins_));
    int64_t count = 0;
    for (int64_t at = share; at < size_; ++at) count += ordered_[at] == ordered_[at - share];
    return count > 0;
  }

  std::vector<int64_t> BetweenRows(int64_t num_shares, const std::vector<double>& places) const {
    std::vector<int64_t> bins{0};
    const double share = static_cast<double>(size_) / static_cast<double>(num_shares);
    for (const double place : places) {
      const double row = share * place;
      const auto [start, stop] = std::equal_range(ordered_, ordered_ + size_, ordered_[static_cast<int64_t>(row)]);
      const int64_t first = start - ordered_, end = stop - ordered_;
      Append(static_cast<double>(first + end) / 2 >= row ? first : end, size_, bins);
    }
    return bins;
  }

  std::vector<int64_t> BetweenValues(int64_t num_shares, const std::vector<double>& places) {
    if (first_.empty()) first_ = FirstOfValues();
    const int64_t num_values = first_.size();
    const auto count = [&](int64_t value) {
      return static_cast<double>((value + 1 < num_values ? first_[value + 1] : size_) - first_[value]);
    };
    const double share = ShareOfBin(num_shares, num_values, count);
    std::vector<double> middle(num_values);
    double sum = 0;
    for (int64_t value = 0; value < num_values; ++value) {
      const double held = std::min(count(value), share);
      sum += held;
      middle[value] = sum - held / 2;
    }
    std::vector<int64_t> values{0};
    for (const double place : places) {
      Append(std::lower_bound(middle.begin(), middle.end(), share * place) - middle.begin(), num_values, values);
    }
    for (int64_t& value : values) value = first_[value];
    return values;
  }

  // A number that fills a bin counts as one bin and no more, so that the others share the rest.
  template <typename Count>
  double ShareOfBin(int64_t num_shares, int64_t num_values, const Count& count) const {
    double share = static_cast<double>(size_) / static_cast<double>(num_shares);
    for (int64_t num_heavy = 0;;) {
      int64_t heavy = 0, rest = 0;
      for (int64_t value = 0; value < num_values; ++value) {
        const double own = count(value);
        own > share ? ++heavy : rest += static_cast<int64_t>(own);
      }
      if (heavy == num_heavy) return share;
      num_heavy = heavy;
      share = static_cast<double>(rest) / static_cast<double>(num_shares - num_heavy);
    }
  }

  static void Append(int64_t place, int64_t end, std::vector<int64_t>& places) {
    if (place < end && place != places.back()) places.push_back(place);
  }

  const Real* ordered_;
  const int64_t size_, max_bins_;
  std::vector<int64_t> first_;  // of every number, where some fill bins
};

}  // namespace jaxtree

#endif  // JAXTREE_NATIVE_BINNING_CUTS_H_
