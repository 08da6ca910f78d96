// Features of which nearly all rows have one code, such as those of one-hot encoded words: only the others are summed.

#ifndef JAXTREE_NATIVE_HISTOGRAM_SPARSE_COLUMNS_H_
#define JAXTREE_NATIVE_HISTOGRAM_SPARSE_COLUMNS_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "evaluate/split_finder.h"

namespace jaxtree {

// At most one row of so many has another code than the usual one.
constexpr int64_t kRowsPerRare = 8;
// Whether a code is usual is asked of so many rows first.
constexpr int64_t kRowsAsked = 64;
constexpr int64_t kRowsCompared = 16;

// The rows of a feature that have another code than the usual one, in ascending order.
struct SparseColumn {
  bool is_found = false;
  int32_t usual = 0;
  std::vector<int32_t> rows;
};

// The code that all but fewer than so many of `kRowsAsked` rows have, at most half of them; -1 if there is none.
template <typename Code>
int32_t UsualOfSome(const Code* codes, int64_t num_rows, int64_t most_others = kRowsAsked / 2) {
  std::array<int32_t, kRowsAsked> some;
  for (int64_t at = 0; at < kRowsAsked; ++at) some[at] = codes[num_rows * at / kRowsAsked];
  std::nth_element(some.begin(), some.begin() + kRowsAsked / 2, some.end());
  const int32_t median = some[kRowsAsked / 2];
  return std::count(some.begin(), some.end(), median) > kRowsAsked - most_others ? median : -1;
}

template <typename Code, typename Value>
SparseColumn FindSparseColumn(const Level<Code, Value>& level, int32_t feature) {
  const Code* const codes = level.table.ColumnOf(feature);
  const int64_t num_rows = level.table.num_rows, most = num_rows / kRowsPerRare;
  const int32_t usual = num_rows < kRowsAsked ? -1 : UsualOfSome(codes, num_rows);
  SparseColumn rare;
  if (usual < 0 || usual >= level.table.num_codes[feature]) return rare;
  rare.usual = usual;
  for (int64_t first = 0; first < num_rows; first += kRowsCompared) {
    const int64_t stop = std::min(first + kRowsCompared, num_rows);
    uint32_t differs = 0;
    for (int64_t row = first; row < stop; ++row) differs |= codes[row] ^ usual;
    if (differs == 0) continue;
    for (int64_t row = first; row < stop; ++row) {
      if (codes[row] != usual) rare.rows.push_back(row);
    }
    if (static_cast<int64_t>(rare.rows.size()) > most) return {};
  }
  rare.is_found = true;
  return rare;
}

}  // namespace jaxtree

#endif  // JAXTREE_NATIVE_HISTOGRAM_SPARSE_COLUMNS_H_
