// The terms of an additive model as `jaxtree/kernels/layout.py` lays them out: every bin of a term has a place in a table.
//
// Sums over places are kept in *running form*: at a known bin of an ordered term that of all bins up to it, at a cell of a
// pair that of all cells which no axis puts behind it, and elsewhere that of the bin alone. A step of a few leaves is then
// a few numbers, and what it changes a few rows of sums.

#ifndef JAXTREE_NATIVE_ADDITIVE_TERMS_H_
#define JAXTREE_NATIVE_ADDITIVE_TERMS_H_

#include <algorithm>
#include <cstdint>
#include <vector>

namespace jaxtree {

enum class TermKind : int32_t { kOrdered = 0, kSubset = 1, kPair = 2 };

// The bins of a term in one place have 16 bits.
constexpr int64_t kMostBins = 1 << 16;

struct Terms {
  Terms(const int32_t* kinds, const int32_t* num_bins, int64_t number)
      : kinds(kinds), num_bins(num_bins), number(number), first(number + 1) {
    for (int64_t term = 0; term < number; ++term) {
      first[term + 1] = first[term] + int64_t{num_bins[2 * term]} * num_bins[2 * term + 1];
    }
  }

  TermKind kind(int64_t term) const { return static_cast<TermKind>(kinds[term]); }
  int64_t size(int64_t term) const { return first[term + 1] - first[term]; }
  int64_t num_places() const { return first[number]; }

  int64_t MostBins() const {
    int64_t most = 0;
    for (int64_t term = 0; term < number; ++term) most = std::max(most, size(term));
    return most;
  }

  // The fault of the terms; null if there is none.
  const char* Wrong() const {
    for (int64_t term = 0; term < number; ++term) {
      if (kinds[term] < 0 || kinds[term] > 2) return "kinds of terms must be 0, 1 or 2";
      if (num_bins[2 * term] < 1 || num_bins[2 * term + 1] < 1) return "terms must have bins";
      if (kind(term) != TermKind::kPair && num_bins[2 * term + 1] != 1) return "only pairs have bins on a second axis";
      if (size(term) > kMostBins) return "a term must have at most 65536 bins";
    }
    return nullptr;
  }

  const int32_t* const kinds;
  const int32_t* const num_bins;  // [term, axis]
  const int64_t number;
  std::vector<int64_t> first;
};

// Brings sums at the bins of a term into running form. Bins lie `stride` apart, and each is `width` numbers.
template <typename Value>
void MakeRunning(const Terms& terms, int64_t term, Value* sums, int64_t stride, int64_t width) {
  const int64_t first = terms.num_bins[2 * term], second = terms.num_bins[2 * term + 1];
  const auto add = [&](int64_t to, int64_t from) {
    for (int64_t at = 0; at < width; ++at) sums[to * stride + at] += sums[from * stride + at];
  };
  if (terms.kind(term) == TermKind::kOrdered) {
    for (int64_t bin = 1; bin < first - 1; ++bin) add(bin, bin - 1);
  } else if (terms.kind(term) == TermKind::kPair) {
    for (int64_t row = 0; row < first * second; row += second) {
      for (int64_t bin = row + 1; bin < row + second; ++bin) add(bin, bin - 1);
    }
    for (int64_t bin = second; bin < first * second; ++bin) add(bin, bin - second);
  }
}

// The inverse, of one number a bin.
template <typename Value>
void MakePlain(const Terms& terms, int64_t term, Value* sums) {
  const int64_t first = terms.num_bins[2 * term], second = terms.num_bins[2 * term + 1];
  if (terms.kind(term) == TermKind::kOrdered) {
    for (int64_t bin = first - 2; bin > 0; --bin) sums[bin] -= sums[bin - 1];
  } else if (terms.kind(term) == TermKind::kPair) {
    for (int64_t bin = first * second - 1; bin >= second; --bin) sums[bin] -= sums[bin - second];
    for (int64_t row = 0; row < first * second; row += second) {
      for (int64_t bin = row + second - 1; bin > row; --bin) sums[bin] -= sums[bin - 1];
    }
  }
}

// Finds the bins of rows from their codes.
template <typename Code>
struct BinnedRows {
  const Terms& terms;
  const int32_t* features;  // [term, axis], -1 for none
  const uint16_t* bins;     // [term, axis, code]
  const Code* codes;        // [feature, row]; rows may be followed by others
  int64_t num_codes, num_features, num_rows, stride;

  // The fault of the terms; null if there is none.
  const char* Wrong() const {
    for (int64_t at = 0; at < 2 * terms.number; ++at) {
      const bool may_be_none = at % 2 == 1 && terms.kind(at / 2) != TermKind::kPair;
      if (features[at] >= num_features || (features[at] < 0) != may_be_none) return "terms must be of features that exist";
      const uint16_t* const own = bins + at * num_codes;
      if (*std::max_element(own, own + num_codes) >= terms.num_bins[at]) return "bins must be those of their term";
    }
    return nullptr;
  }

  // Whether some rows have codes of a feature that have no bins.
  bool HaveOtherCodes(int64_t feature, int64_t begin, int64_t end) const {
    const Code* const own = codes + feature * stride;
    Code most = 0;
    for (int64_t row = begin; row < end; ++row) most = std::max(most, own[row]);
    return most >= num_codes;
  }

  // Calls put(at, bin) for the rows row_at(0), ..., row_at(count - 1).
  template <typename RowAt, typename Put>
  void ForRows(int64_t term, int64_t count, const RowAt& row_at, const Put& put) const {
    const Code* const one = codes + features[2 * term] * stride;
    const uint16_t* const bins_of_one = bins + 2 * term * num_codes;
    if (terms.kind(term) != TermKind::kPair) {
      for (int64_t at = 0; at < count; ++at) put(at, bins_of_one[one[row_at(at)]]);
      return;
    }
    const Code* const other = codes + features[2 * term + 1] * stride;
    const uint16_t* const bins_of_other = bins_of_one + num_codes;
    const uint32_t second = terms.num_bins[2 * term + 1];
    for (int64_t at = 0; at < count; ++at) {
      const int64_t row = row_at(at);
      put(at, bins_of_one[one[row]] * second + bins_of_other[other[row]]);
    }
  }
};

}  // namespace jaxtree

#endif  // JAXTREE_NATIVE_ADDITIVE_TERMS_H_
