// The leaves of rows that are in no tree: they walk down the first one when it is grown.

#ifndef JAXTREE_NATIVE_PARTITION_LEAVES_H_
#define JAXTREE_NATIVE_PARTITION_LEAVES_H_

#include <cstdint>
#include <vector>

#include "input/rules.h"
#include "input/table.h"
#include "tree/node_table.h"
#include "tree/node_updater.h"

namespace jaxtree {

template <typename Code, typename Value>
class LeafFinder {
 public:
  LeafFinder(const Table<Code>& codes, const NodeTable<Value>& table, const NodeUpdater<Code, Value>& nodes)
      : codes_(codes), table_(table), branch_of_missing_(table.missing_branch, table.missing_branch + table.num_nodes) {
    for (int32_t node = 0; node < table.num_nodes; ++node) {
      const bool is_unknown = branch_of_missing_[node] == kUnresolved && table.num_children[node] > 0;
      if (is_unknown) branch_of_missing_[node] = nodes.HeaviestBranch(node);
    }
  }

  int32_t LeafOf(int64_t row) const {
    int32_t node = 0;
    while (table_.num_children[node] > 0) {
      const int32_t code = codes_.ColumnOf(table_.feature[node])[row];
      const bool is_missing = code == table_.missing_code[node];
      node = table_.first_child[node] + (is_missing ? branch_of_missing_[node] : table_.BranchOf(node, code));
    }
    return node;
  }

 private:
  const Table<Code>& codes_;
  const NodeTable<Value>& table_;
  std::vector<int32_t> branch_of_missing_;  // of every node
};

}  // namespace jaxtree

#endif  // JAXTREE_NATIVE_PARTITION_LEAVES_H_
