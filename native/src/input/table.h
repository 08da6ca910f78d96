// The table of codes, and how its features may be split.

#ifndef JAXTREE_NATIVE_INPUT_TABLE_H_
#define JAXTREE_NATIVE_INPUT_TABLE_H_

#include <algorithm>
#include <cstdint>

namespace jaxtree {

// As in `jaxtree/tree/nodes.py`.
enum SplitKind : int32_t { kThreshold = 0, kMultiway = 1, kOneVsRest = 2, kSubset = 3 };

struct Feature {
  int32_t number, kind, missing_code, monotone;
  const int32_t* first_apart;  // null if all neighbours may be separated
};

// Codes are [feature, row].
template <typename Code>
struct Table {
  const Code* codes;
  int64_t num_features, num_rows, num_bins;
  const int32_t *kind, *num_codes, *missing_code, *in_average;  // of every feature
  const int32_t* monotone;                                      // the same; null without monotone features
  const int32_t* first_apart;                                   // of every feature and code, or null
  const double* position;                                       // the same
  int64_t num_apart, num_positions;                             // of a feature

  const Code* ColumnOf(int32_t feature) const { return codes + feature * num_rows; }

  // A code of an array on a device is not checked before growth; one past the table must not reach past the cells.
  int32_t InTable(Code code) const { return std::clamp<int32_t>(code, 0, num_bins - 1); }

  Feature FeatureAt(int32_t number) const {
    return {number, kind[number], missing_code[number], monotone ? monotone[number] : 0,
            first_apart ? first_apart + number * num_apart : nullptr};
  }

  bool HasKind(SplitKind own) const { return std::count(kind, kind + num_features, own) > 0; }
};

}  // namespace jaxtree

#endif  // JAXTREE_NATIVE_INPUT_TABLE_H_
