// The description of the nodes of a tree of many classes: only nodes that were made are looked at, where a program of fixed
// shapes would look at all that the table has room for.

#ifndef JAXTREE_NATIVE_TREE_DESCRIBE_H_
#define JAXTREE_NATIVE_TREE_DESCRIBE_H_

#include <cstdint>
#include <cstring>
#include <vector>

#include "common/parallel.h"
#include "evaluate/split_scorer.h"
#include "tree/node_table.h"

namespace jaxtree {

// Places for the weight of every node, in units, and its impurity; null where they are not asked for.
template <typename Value>
struct Described {
  Value* weight;
  double* impurity;
};

// Turns the sums of classes into their weights where these have a unit, in the same place.
template <typename Value>
void ApplyUnit(const Objective& objective, Value* sums, int64_t count) {
  if constexpr (sizeof(Value) == sizeof(double)) {
    for (int64_t at = 0; at < count && objective.is_scaled; ++at) {
      const double weight = static_cast<double>(sums[at]) * objective.weight_unit;
      std::memcpy(sums + at, &weight, sizeof(weight));
    }
  }
}

template <typename Value>
void Describe(Threads& pool, const Objective& objective, const NodeTable<Value>& table, const Described<Value>& described) {
  if (described.impurity == nullptr) return;
  const int64_t num_parts = NumParts(pool, table.num_nodes * table.num_channels);
  ForEachPart(pool, num_parts, table.num_nodes, [&](int64_t, int64_t begin, int64_t end) {
    SplitScorer<Value> scorer(objective);
    std::vector<int32_t> place(objective.num_classes);
    for (int64_t node = begin; node < end; ++node) {
      Value* const sums = table.sums + node * table.num_channels;
      if (objective.num_outputs == 1) {
        scorer.OpenPresent(sums, 0, 0, place);
      } else {
        scorer.Open(sums, table.num_rows[node], 0, 0);
      }
      described.weight[node] = scorer.WeightOf(scorer.total().data());
      described.impurity[node] = scorer.Impurity();
      ApplyUnit(objective, sums, table.num_channels);
    }
  });
}

}  // namespace jaxtree

#endif  // JAXTREE_NATIVE_TREE_DESCRIBE_H_
