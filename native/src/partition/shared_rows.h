// Rows whose value is missing at a split, of which every branch gets a share (C4.5): its part of the known weight.

#ifndef JAXTREE_NATIVE_PARTITION_SHARED_ROWS_H_
#define JAXTREE_NATIVE_PARTITION_SHARED_ROWS_H_

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "evaluate/split_scorer.h"
#include "partition/entries.h"
#include "tree/node_table.h"

namespace jaxtree {

// In place of a branch: the entry goes to all. A feature of so many codes, the missing one among them, has fewer branches.
constexpr uint16_t kEveryBranch = std::numeric_limits<uint16_t>::max();

// The shares of the children of a level, as `_shares` of `jaxtree/growth/device/routing.py` cuts them: along the cumulative known
// weight, so that the last child receives the remainder of rounding.
template <typename Value>
class Shares {
 public:
  // Reads the known weight of the children from `first` on: the sums of the entries that have been sent to them so far.
  template <typename WeightOf>
  void Open(const NodeTable<Value>& table, int32_t first, const WeightOf& weight_of) {
    first_ = first;
    known_.clear();
    for (int32_t child = first; child < table.num_nodes; ++child) {
      const bool has_elder = child > first && table.parent[child] == table.parent[child - 1];
      known_.push_back(weight_of(child) + (has_elder ? known_.back() : 0));
    }
  }

  // Calls give(branch, values) for every branch of a node that gets a share of an entry; `values` are memory for these.
  template <typename Give>
  void ForBranches(const NodeTable<Value>& table, int32_t node, const Entries<Value>& entries, int64_t entry,
                   std::vector<Value>& values, const Give& give) const {
    const Value* const known = known_.data() + (table.first_child[node] - first_);
    const int32_t num_branches = table.num_children[node];
    const Value all = known[num_branches - 1];
    for (int32_t branch = 0; branch < num_branches; ++branch) {
      const Value before = branch == 0 ? 0 : known[branch - 1];
      if (known[branch] == before) continue;
      for (int64_t at = 0; at < entries.num_values; ++at) {
        const Value own = entries.value[at * entries.size + entry];
        values[at] = Cut(own, known[branch], all) - Cut(own, before, all);
      }
      // An entry without weight is none.
      if (values[0] > 0) give(branch, values.data());
    }
  }

 private:
  static Value Cut(Value value, Value known, Value all) {
    if (known == all) return value;
    constexpr double kMost = static_cast<double>(std::numeric_limits<Value>::max() / 2);
    const double share = static_cast<double>(known) / static_cast<double>(all);
    return static_cast<Value>(Held(std::floor(static_cast<double>(value) * share), -kMost, kMost));
  }

  int32_t first_ = 0;
  std::vector<Value> known_;  // of every child: the known weight of it and of the siblings before it
};

}  // namespace jaxtree

#endif  // JAXTREE_NATIVE_PARTITION_SHARED_ROWS_H_
