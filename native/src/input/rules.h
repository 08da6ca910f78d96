// The rules of a growth: what entries add to sums, what scores a split, and what a split or a tree may do.

#ifndef JAXTREE_NATIVE_INPUT_RULES_H_
#define JAXTREE_NATIVE_INPUT_RULES_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "input/limits.h"

namespace jaxtree {

enum class Formula : int32_t { kGini = 0, kEntropy = 1, kMisclassification = 2, kSquaredError = 3, kPoisson = 4, kNewton = 5, kLinearMoments = 6 };

// The treatments of moments that the kernel has room for.
constexpr int32_t kMostArms = 8;

// The fields of `LinearMoments` of `jaxtree/growth/inputs/moments.py`.
struct Moments {
  int32_t num_arms = 0, num_outcomes = 1;
  bool has_instruments = false, is_stabilised = false;
};

// The objective that scores splits, the same for all nodes of a growth. The channels are those of splits, with that of counted
// rows. The first `num_classes`, or one where that is 0, add up to the weight; a Newton step has its second derivatives there.
struct Objective {
  Formula formula;
  int32_t num_classes, num_outputs, num_channels;
  bool counts_rows, is_scaled, is_c45;
  double weight_unit, target_unit;
  Moments moments{};  // of linear moments

  bool IsNewton() const { return formula == Formula::kNewton; }
  bool IsOfMoments() const { return formula == Formula::kLinearMoments; }
  bool IsOfNumbers() const { return formula >= Formula::kSquaredError; }
  // The channel of the first target, where targets are numbers.
  int32_t FirstTarget() const { return std::max(num_classes, 1); }
  // Whether sums are subtracted from by the node's mean before they are squared.
  bool IsCentred() const { return formula == Formula::kSquaredError && !is_scaled; }
  int32_t num_class_channels() const { return num_outputs * num_classes; }
};

// The branch of a missing value, where no branch of the node has it.
constexpr int32_t kUnresolved = -1;
constexpr int32_t kAllBranches = 1 << 30;

// As in `jaxtree/growth/inputs/bundles.py`.
enum Missing : int32_t { kBranch = 0, kLearn = 1, kFraction = 2 };
enum Selection : int32_t { kGain = 0, kGainRatio = 1, kInformation = 2 };

// The rules of missing values, the choice of features, and the number of words of a subset.
struct SplitRules {
  Missing missing;
  bool has_missing;
  Selection selection;
  int32_t num_words, num_bins;

  bool separates_missing() const { return has_missing && missing != kBranch; }
  bool shares_missing() const { return has_missing && missing == kFraction; }

  // The branch of a missing value where none is learned: `branch` where missing is a value of its own.
  int32_t DefaultBranch(int32_t branch) const {
    return missing == kBranch ? branch : missing == kLearn ? kUnresolved : kAllBranches;
  }
};

constexpr int32_t kCountsRow = -1;

// One addition of an entry: the label that is added to the channel, or -1; the channel; the value, or `kCountsRow`.
struct Addition {
  int32_t label, channel, value;

  bool operator==(const Addition& other) const {
    return label == other.label && channel == other.channel && value == other.value;
  }
};

// The rules that find a split, the same for all nodes of a root.
template <typename Value>
struct Rules {
  Objective objective;
  SplitRules split;
  bool samples_features, samples_thresholds, draws_ties, draws_scores;
  std::vector<Addition> additions;
  bool adds_one_label;   // and nothing else: the weight, to the channel of the class
  bool adds_two_values;  // to the first two channels, with or without counted rows; and there are not many codes

  RootLimits<Value> limits;
  bool is_best_first;        // whether `max_leaf_nodes` limits the trees
  const double* parameters;  // of the objective, for every root; null without any
  int64_t num_parameters;

  const double* ParametersOf(int32_t root) const { return parameters ? parameters + root * num_parameters : nullptr; }

  // The most leaves of every root; null where leaves are not limited.
  const int32_t* MostLeaves() const { return is_best_first ? limits.max_leaf_nodes.data() : nullptr; }
};

// The features that nodes may split by: sets of features that may occur together on a path, and how many a level draws.
struct OpenRules {
  int64_t num_features;
  const int32_t* num_codes;       // 0 of a feature that no node may split by
  const uint32_t* sets;           // that a feature belongs to, a bit each; null where features may meet on any path
  int64_t num_words;              // of the sets of a feature
  const int32_t* level_features;  // of every root
  bool samples_levels;
};

}  // namespace jaxtree

#endif  // JAXTREE_NATIVE_INPUT_RULES_H_
