// Growth to a number of leaves: after every level, the splits that best-first growth will not make are dropped; see
// `jaxtree/growth/loop/best_first.py`, where it is said why none of them would be made.

#ifndef JAXTREE_NATIVE_GROW_BEST_FIRST_H_
#define JAXTREE_NATIVE_GROW_BEST_FIRST_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <queue>
#include <utility>
#include <vector>

#include "tree/node_table.h"

namespace jaxtree {

// What a split saves that is not there, or no more.
constexpr double kNoSplit = -1;

// A table that grows, for nodes of which not all stay.
template <typename Value>
class ScratchTree {
 public:
  // Has the roots of another table, which it is like in all but its room.
  explicit ScratchTree(const NodeTable<Value>& like) : table_(like) {
    MakeRoomFor(like.num_nodes);
    std::iota(table_.parent, table_.parent + like.num_nodes, 0);
    std::iota(table_.root, table_.root + like.num_nodes, 0);
  }

  // The arrays move with it, and a copy would point to those of the other.
  ScratchTree(ScratchTree&&) = default;
  ScratchTree(const ScratchTree&) = delete;

  NodeTable<Value>& table() { return table_; }

  void MakeRoomFor(int64_t num_nodes) {
    if (num_nodes <= room_) return;
    room_ = std::max(2 * room_, num_nodes);
    table_.capacity = room_;
    const auto numbers = table_.Numbers();
    for (size_t field = 0; field < numbers.size(); ++field) *numbers[field] = Resized(numbers_[field], 1);
    table_.gain = Resized(gain_, 1);
    table_.subset = Resized(subset_, table_.num_words);
    table_.sums = Resized(sums_, table_.num_channels);
    if (!table_.Compares()) return;
    table_.low = Resized(low_, 1, std::numeric_limits<int64_t>::max());
    table_.high = Resized(high_, 1, std::numeric_limits<int64_t>::min());
  }

 private:
  template <typename T>
  T* Resized(std::vector<T>& values, int64_t width, T blank = 0) {
    values.resize(room_ * width, blank);
    return values.data();
  }

  NodeTable<Value> table_;
  int64_t room_ = 0;
  std::array<std::vector<int32_t>, kNumNumbers> numbers_;
  std::vector<double> gain_;
  std::vector<uint32_t> subset_;
  std::vector<Value> sums_;
  std::vector<int64_t> low_, high_;
};

// Which splits trees make that have so many leaves at most.
class BestFirst {
 public:
  explicit BestFirst(const int32_t* max_leaf_nodes) : max_leaf_nodes_(max_leaf_nodes) {}

  // Tells of a split that may be made, with what it saves.
  void Offer(int32_t node, int32_t num_branches, double saved) {
    saved_.resize(std::max<size_t>(saved_.size(), node + 1), kNoSplit);
    num_branches_.resize(saved_.size());
    saved_[node] = saved;
    num_branches_[node] = num_branches;
  }

  bool IsMade(int32_t node) const { return node < static_cast<int32_t>(saved_.size()) && saved_[node] != kNoSplit; }

  // Makes splits best-first, and forgets those that are not reached. Nodes that were split have children in the table.
  template <typename Value>
  void Choose(NodeTable<Value>& table, int32_t num_roots) {
    std::vector<double> made(saved_.size(), kNoSplit);
    for (int32_t root = 0; root < num_roots; ++root) Grow(table, root, made);
    saved_.swap(made);
    for (int32_t node = 0; node < table.num_nodes; ++node) {
      if (!IsMade(node)) table.num_children[node] = 0;
    }
  }

 private:
  template <typename Value>
  void Grow(const NodeTable<Value>& table, int32_t root, std::vector<double>& made) const {
    // What a split saves, and its node less than 0, so that of equal splits the first comes first.
    std::priority_queue<std::pair<double, int32_t>> waits;
    const auto wait = [&](int32_t node) {
      if (IsMade(node)) waits.emplace(saved_[node], -node);
    };
    wait(root);
    for (int64_t num_leaves = 1; !waits.empty();) {
      const int32_t node = -waits.top().second;
      waits.pop();
      num_leaves += num_branches_[node] - 1;
      if (num_leaves > max_leaf_nodes_[root]) return;
      made[node] = saved_[node];
      for (int32_t branch = 0; branch < table.num_children[node]; ++branch) wait(table.first_child[node] + branch);
    }
  }

  const int32_t* const max_leaf_nodes_;
  std::vector<double> saved_;
  std::vector<int32_t> num_branches_;
};

// Copies the nodes that are left of trees into a blank table, in an order in which parents come first. Nodes whose children
// do not fit become leaves.
//
// Returns the new number of every node; of one that is gone, that of the lowest node above it that is left.
template <typename Value>
std::vector<int32_t> CopyNodes(const NodeTable<Value>& from, const std::vector<int32_t>& order, NodeTable<Value>& to,
                               bool& is_complete) {
  std::vector<int32_t> place(from.num_nodes);
  // The numbers of nodes' first children in the copy, 0 of those that have none there.
  std::vector<int32_t> first_child(from.num_nodes);
  for (const int32_t node : order) {
    const int32_t parent = from.parent[node];
    if (parent != node && first_child[parent] == 0) {
      place[node] = place[parent];
      continue;
    }
    const int32_t own = place[node] = parent == node ? node : first_child[parent] + node - from.first_child[parent];
    to.parent[own] = place[parent];
    to.depth[own] = from.depth[node];
    to.root[own] = from.root[node];
    to.num_rows[own] = from.num_rows[node];
    std::copy_n(from.SumsOf(node), from.num_channels, to.sums + own * to.num_channels);
    if (from.Compares()) to.low[own] = from.low[node], to.high[own] = from.high[node];
    const int32_t num_children = from.num_children[node];
    if (num_children == 0) continue;
    if (to.num_nodes + num_children > to.capacity) {
      is_complete = false;
      continue;
    }
    to.first_child[own] = first_child[node] = std::exchange(to.num_nodes, to.num_nodes + num_children);
    to.num_children[own] = num_children;
    to.feature[own] = from.feature[node];
    to.code[own] = from.code[node];
    to.next_code[own] = from.next_code[node];
    to.kind[own] = from.kind[node];
    to.missing_code[own] = from.missing_code[node];
    to.missing_branch[own] = from.missing_branch[node];
    to.gain[own] = from.gain[node];
    std::copy_n(from.subset + node * from.num_words, from.num_words, to.subset + own * to.num_words);
  }
  return place;
}

}  // namespace jaxtree

#endif  // JAXTREE_NATIVE_GROW_BEST_FIRST_H_
