// The table of nodes, and the sums of entries at them.

#ifndef JAXTREE_NATIVE_TREE_NODE_TABLE_H_
#define JAXTREE_NATIVE_TREE_NODE_TABLE_H_

#include <algorithm>
#include <array>
#include <cassert>
#include <cstdint>
#include <limits>
#include <vector>

#include "input/table.h"


namespace jaxtree {

constexpr int32_t kCodesPerWord = 32;

// The fields of a table that are whole numbers, by the names that Python reads them by, see `jaxtree_growth_fields`.
#define JAXTREE_NODES(FIELD)                                                                          \
  FIELD(feature) FIELD(code) FIELD(next_code) FIELD(split_kind) FIELD(missing_code) FIELD(missing_branch) \
  FIELD(first_child) FIELD(num_children) FIELD(parent) FIELD(depth) FIELD(root) FIELD(num_rows)

constexpr int kNumNumbers = [] {
#define JAXTREE_FIELD(name) +1
  return 0 JAXTREE_NODES(JAXTREE_FIELD);
#undef JAXTREE_FIELD
}();

// Sums over entries, of nodes that follow one another.
template <typename Value>
struct NodeSums {
  Value* sums;
  int32_t* num_rows;
  int64_t *low, *high;
};

// Memory of such sums.
template <typename Value>
struct OwnedNodeSums {
  std::vector<Value> sums;
  std::vector<int32_t> num_rows;
  std::vector<int64_t> low, high;

  OwnedNodeSums(int64_t num_nodes, int64_t num_channels, bool compares)
      : sums(num_nodes * num_channels), num_rows(num_nodes),
        low(compares ? num_nodes : 0, std::numeric_limits<int64_t>::max()),
        high(compares ? num_nodes : 0, std::numeric_limits<int64_t>::min()) {}

  NodeSums<Value> View() { return {sums.data(), num_rows.data(), low.data(), high.data()}; }
};

// The arrays of the tree, one place a node; blank at the beginning.
template <typename Value>
struct NodeTable {
  int64_t capacity, num_words, num_channels;
#define JAXTREE_FIELD(name) int32_t* name;
  JAXTREE_NODES(JAXTREE_FIELD)
#undef JAXTREE_FIELD
  uint32_t* subset;
  double* gain;
  Value* sums;
  int64_t *low, *high;  // of the identities; null where sums tell whether a node is mixed
  int32_t num_nodes;

  // The whole numbers, in the order of their names.
  std::array<int32_t**, kNumNumbers> Numbers() {
#define JAXTREE_FIELD(name) &name,
    return {JAXTREE_NODES(JAXTREE_FIELD)};
#undef JAXTREE_FIELD
  }

  bool Compares() const { return low != nullptr; }

  const Value* SumsOf(int32_t node) const { return sums + node * num_channels; }

  // The place where the sums of a node and those after it are counted.
  NodeSums<Value> SumsFrom(int32_t node) const {
    if (!Compares()) return {sums + node * num_channels, num_rows + node, nullptr, nullptr};
    return {sums + node * num_channels, num_rows + node, low + node, high + node};
  }

  // Sums of some nodes apart from the table, which a thread fills.
  OwnedNodeSums<Value> BlankSums(int64_t num_nodes) const { return {num_nodes, num_channels, Compares()}; }

  // Adds sums of some nodes to the table, the first of them being `node`.
  void AddSums(const NodeSums<Value>& own, int32_t node, int64_t num_nodes) const {
    const NodeSums<Value> to = SumsFrom(node);
    for (int64_t at = 0; at < num_nodes * num_channels; ++at) to.sums[at] += own.sums[at];
    for (int64_t at = 0; at < num_nodes; ++at) to.num_rows[at] += own.num_rows[at];
    for (int64_t at = 0; at < (Compares() ? num_nodes : 0); ++at) {
      to.low[at] = std::min(to.low[at], own.low[at]);
      to.high[at] = std::max(to.high[at], own.high[at]);
    }
  }

  // A branch that a node with children has, for any code: of an array on a device codes are not checked before growth.
  int32_t BranchOf(int32_t node, int32_t value) const {
    assert(num_children[node] > 0);
    if (value == missing_code[node]) return std::clamp(missing_branch[node], 0, num_children[node] - 1);
    switch (split_kind[node]) {
      case kThreshold: return value > code[node];
      case kMultiway: return std::clamp(value, 0, num_children[node] - 1);
      case kSubset: {
        const uint32_t own = std::clamp<int64_t>(value, 0, kCodesPerWord * num_words - 1);
        return subset[node * num_words + own / kCodesPerWord] >> (own % kCodesPerWord) & 1;
      }
      default: return value == code[node];
    }
  }
};

}  // namespace jaxtree

#endif  // JAXTREE_NATIVE_TREE_NODE_TABLE_H_
