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
  const int32_t* next_separable;  // null if all neighbours may be separated
};

// The whole numbers of every feature, by the names that Python passes them by, see `jaxtree_growth_fields`.
#define JAXTREE_FEATURES(FIELD) FIELD(kind) FIELD(num_codes) FIELD(missing_code) FIELD(in_average) FIELD(monotone)

// Codes are [feature, row], and perhaps once more [row, feature].
template <typename Code>
struct Table {
  const Code* codes;
  int64_t num_features, num_rows, num_bins;
#define JAXTREE_FIELD(name) const int32_t* name;  // `monotone` is null without monotone features
  JAXTREE_FEATURES(JAXTREE_FIELD)
#undef JAXTREE_FIELD
  const int32_t* next_separable;     // of every feature and code, or null
  const double* position;            // the same
  int64_t num_apart, num_positions;  // of a feature
  const Code* codes_of_rows;         // null where they are there once

  // Reads numbers [field, feature] in the order of the names.
  void ReadFeatures(const int32_t* numbers) {
#define JAXTREE_FIELD(name) name = numbers, numbers += num_features;
    JAXTREE_FEATURES(JAXTREE_FIELD)
#undef JAXTREE_FIELD
    const bool is_monotone = std::any_of(monotone, monotone + num_features, [](int32_t sign) { return sign != 0; });
    if (!is_monotone) monotone = nullptr;
  }

  static constexpr int64_t NumFields() {
#define JAXTREE_FIELD(name) +1
    return 0 JAXTREE_FEATURES(JAXTREE_FIELD);
#undef JAXTREE_FIELD
  }

  const Code* ColumnOf(int32_t feature) const { return codes + feature * num_rows; }

  // A code of an array on a device is not checked before growth; one past the table must not reach past the cells.
  int32_t InTable(Code code) const { return std::clamp<int32_t>(code, 0, num_bins - 1); }

  Feature FeatureAt(int32_t number) const {
    return {number, kind[number], missing_code[number], monotone ? monotone[number] : 0,
            next_separable ? next_separable + number * num_apart : nullptr};
  }

  bool HasKind(SplitKind own) const { return std::count(kind, kind + num_features, own) > 0; }
};

}  // namespace jaxtree

#endif  // JAXTREE_NATIVE_INPUT_TABLE_H_
