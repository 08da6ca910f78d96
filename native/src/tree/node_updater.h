// The nodes of trees that grow: which of them may be split, what the table records of a split, and what children inherit.

#ifndef JAXTREE_NATIVE_TREE_NODE_UPDATER_H_
#define JAXTREE_NATIVE_TREE_NODE_UPDATER_H_

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "evaluate/open_features.h"
#include "evaluate/split_finder.h"
#include "evaluate/split_scorer.h"
#include "tree/node_table.h"

namespace jaxtree {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

template <typename Code, typename Value>
class NodeUpdater {
 public:
  // Of `level` the table of codes and the rules are read. `table` has the roots.
  NodeUpdater(const Level<Code, Value>& level, const OpenRules& open, const uint32_t* root_seed, NodeTable<Value>& table)
      : level_(level), limits_(level.rules.limits), table_(table), open_(open, table.num_nodes),
        scorer_(level.rules.objective) {
    const Rules<Value>& rules = level.rules;
    const bool draws_some = rules.samples_features || open.samples_levels || rules.samples_thresholds;
    const bool draws = draws_some || rules.draws_ties || rules.draws_scores;
    if (draws) seed_.assign(root_seed, root_seed + table.num_nodes);
    // Where a node looks at few features, what those above it have learned saves it some.
    const bool asks = level.rules.samples_features && !level.rules.objective.IsNewton();
    if (asks) num_words_ = (level.table.num_features + kFeaturesPerWord - 1) / kFeaturesPerWord;
    if (level.table.monotone) lower_.assign(table.num_nodes, -kInfinity), upper_.assign(table.num_nodes, kInfinity);
  }

  Value WeightOf(int32_t node) const {
    const Value* const sums = table_.SumsOf(node);
    Value weight = sums[0];
    for (int32_t c = 1; c < level_.rules.objective.num_classes; ++c) weight += sums[c];
    return weight;
  }

  bool MaySplit(int32_t node) const {
    const int32_t root = table_.root[node];
    return IsMixed(node) && WeightOf(node) >= limits_.split_weight[root] && HasEnoughForTwo(node) &&
           table_.num_rows[node] >= limits_.split_rows[root] && table_.depth[node] < limits_.max_depth[root];
  }

  // Whether the limits allow a split of a node that gains so much.
  bool IsAllowed(int32_t node, double gain) const {
    const int32_t root = table_.root[node];
    const double whole = std::max(static_cast<double>(WeightOf(root)), 1.0);
    const double decrease = gain * static_cast<double>(WeightOf(node)) / whole;
    return gain >= 0 && gain >= limits_.min_gain[root] && decrease >= limits_.min_impurity_decrease[root];
  }

  // The gain by which best-first growth chooses a split.
  double SavedBy(int32_t node, double gain) const {
    return gain * (static_cast<double>(WeightOf(node)) * level_.rules.objective.weight_unit);
  }

  int32_t BranchesOf(int32_t feature) const {
    if (level_.table.kind[feature] != kMultiway) return 2;
    return std::max(level_.rules.split.separates_missing() ? level_.table.missing_code[feature] : level_.table.num_codes[feature], 1);
  }

  // Stores a split, and appends the children, for which the table must have room.
  void Record(int32_t node, const Split& split) {
    const int32_t num_branches = BranchesOf(split.feature);
    assert(0 <= node && node < table_.num_nodes && table_.num_nodes + num_branches <= table_.capacity);
    assert(0 <= split.feature && split.feature < level_.table.num_features);
    assert(static_cast<int64_t>(split.subset.size()) <= table_.num_words);
    table_.feature[node] = split.feature;
    table_.code[node] = split.code;
    table_.next_code[node] = split.next_code;
    table_.split_kind[node] = level_.table.kind[split.feature];
    table_.missing_code[node] = level_.table.missing_code[split.feature];
    table_.missing_branch[node] = split.missing_branch;
    table_.gain[node] = split.gain;
    std::copy(split.subset.begin(), split.subset.end(), table_.subset + node * table_.num_words);
    table_.first_child[node] = table_.num_nodes;
    table_.num_children[node] = num_branches;
    for (int32_t branch = 0; branch < num_branches; ++branch) AddChild(node, branch);
  }

  // Gives the nodes from `first` on, whose sums are known, what they inherit from their parents.
  void HandDown(int32_t first) {
    if (level_.table.monotone) HandDownBounds(first);
    open_.HandDown(table_, first);
    constants_.resize(table_.num_nodes * num_words_);
    for (int32_t node = first; node < table_.num_nodes && first > 0; ++node) {
      std::copy_n(constants_.data() + table_.parent[node] * num_words_, num_words_, constants_.data() + node * num_words_);
    }
  }

  // Shows a search the nodes as they are now; those that it looks at have a depth.
  void Show(int32_t depth, Level<Code, Value>& level) {
    open_.Draw(seed_, depth);
    level.sums = table_.sums;
    level.num_node_channels = table_.num_channels;
    level.rows_of_node = table_.num_rows;
    level.root = table_.root;
    level.seed = seed_.empty() ? nullptr : seed_.data();
    level.lower = lower_.empty() ? nullptr : lower_.data();
    level.upper = upper_.empty() ? nullptr : upper_.data();
    level.open = &open_;
    level.constants = {constants_.empty() ? nullptr : constants_.data(), num_words_};
  }

  // The heaviest child of a node, the last of equals: that of a missing value where none was seen, as in
  // `resolve_missing` of `jaxtree/growth/device/level.py`.
  int32_t HeaviestBranch(int32_t node) const {
    const int32_t first = table_.first_child[node];
    int32_t heaviest = first;
    for (int32_t child = first; child < first + table_.num_children[node]; ++child) {
      if (WeightOf(child) >= WeightOf(heaviest)) heaviest = child;
    }
    return heaviest - first;
  }

 private:
  bool IsMixed(int32_t node) const {
    if (table_.Compares()) return table_.low[node] < table_.high[node];
    if (level_.rules.objective.IsNewton() || level_.rules.objective.IsOfMoments()) return WeightOf(node) > 0;
    const int32_t num_classes = level_.rules.objective.num_classes;
    const double most = static_cast<double>(std::numeric_limits<Value>::max() / 2);
    const double slack =
        level_.rules.objective.is_c45 ? Held(std::floor(kC45Tolerance / level_.rules.objective.weight_unit), 0, most) : 0;
    const Value* sums = table_.SumsOf(node);
    for (int32_t output = 0; output < level_.rules.objective.num_outputs; ++output, sums += num_classes) {
      Value total = 0;
      for (int32_t c = 0; c < num_classes; ++c) total += sums[c];
      if (total - *std::max_element(sums, sums + num_classes) > static_cast<Value>(slack)) return true;
    }
    return false;
  }

  // Whether two branches could have the least weight and rows; C4.5's thresholds have a least weight of their own.
  bool HasEnoughForTwo(int32_t node) const {
    if (level_.rules.objective.is_c45) return true;
    const int32_t root = table_.root[node];
    const Value leaf_weight = limits_.leaf_weight[root];
    const int32_t leaf_rows = level_.rules.objective.counts_rows ? limits_.leaf_rows[root] : 0;
    return WeightOf(node) - leaf_weight >= leaf_weight && table_.num_rows[node] - leaf_rows >= leaf_rows;
  }

  void AddChild(int32_t node, int32_t branch) {
    const int32_t child = table_.num_nodes++;
    table_.parent[child] = node;
    table_.depth[child] = table_.depth[node] + 1;
    table_.root[child] = table_.root[node];
    if (!seed_.empty()) seed_.push_back(ChildHash(seed_[node], branch));
  }

  // The middle of two branches' values separates those of their descendants.
  void HandDownBounds(int32_t first) {
    lower_.resize(table_.num_nodes);
    upper_.resize(table_.num_nodes);
    for (int32_t node = first == 0 ? table_.num_nodes : first; node < table_.num_nodes; ++node) {
      const int32_t parent = table_.parent[node], left = table_.first_child[parent];
      const int32_t sign = table_.split_kind[parent] == kThreshold ? level_.table.monotone[table_.feature[parent]] : 0;
      lower_[node] = lower_[parent];
      upper_[node] = upper_[parent];
      if (sign == 0) continue;
      scorer_.SetParameters(level_.rules.ParametersOf(table_.root[node]));
      const double middle = (scorer_.MonotoneValue(table_.SumsOf(left)) + scorer_.MonotoneValue(table_.SumsOf(left + 1))) / 2;
      ((node == left) == (sign > 0) ? upper_ : lower_)[node] = middle;
    }
  }

  const Level<Code, Value>& level_;
  const RootLimits<Value>& limits_;
  NodeTable<Value>& table_;
  OpenFeatures open_;
  SplitScorer<Value> scorer_;
  int64_t num_words_ = 0;
  std::vector<uint64_t> constants_;    // `KnownConstants` of every node
  std::vector<uint32_t> seed_;         // of every node, where anything is drawn
  std::vector<double> lower_, upper_;  // bounds of every node, where a feature is monotone
};

}  // namespace jaxtree

#endif  // JAXTREE_NATIVE_TREE_NODE_UPDATER_H_
