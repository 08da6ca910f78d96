// Which nodes are split next, and the loop of growth.
//
// Trees grow level by level, or one tree node by node. Where leaves are limited splits are made best-first; level by level
// this means that after every level the splits are dropped that best-first growth will not make, see
// `jaxtree/growth/device/best_first.py`, where it is said why none of them would be made. Node by node, threads that are free
// take splits whose turn comes later; those whose turn does not come are dropped in the end.

#ifndef JAXTREE_NATIVE_GROW_DRIVER_H_
#define JAXTREE_NATIVE_GROW_DRIVER_H_

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <vector>

#include "tree/node_table.h"

namespace jaxtree {

// The saving of a node without a pending split.
constexpr double kNoSplit = -1;

enum class GrowthOrder { kLevels, kNodes };

template <typename Value>
class Driver {
 public:
  // `table` has the roots. `max_leaf_nodes` has the limit of each, or is null.
  Driver(GrowthOrder order, NodeTable<Value>& table, const int32_t* max_leaf_nodes)
      : order_(order), table_(table), max_leaf_nodes_(max_leaf_nodes), num_roots_(table.num_nodes) {
    assert(order == GrowthOrder::kLevels || num_roots_ == 1);
  }

  // Tells of a split that the limits of a node allow, with what it saves.
  void Push(int32_t node, int32_t num_branches, double saved) {
    assert(0 <= node && node < table_.num_nodes);
    if (max_leaf_nodes_ != nullptr) {
      saved_.resize(std::max<size_t>(saved_.size(), table_.num_nodes), kNoSplit);
      num_branches_.resize(saved_.size());
      saved_[node] = saved;
      num_branches_[node] = num_branches;
      // The turn of a child comes after that of its parent.
      if (order_ == GrowthOrder::kNodes && table_.parent[node] != node) return;
    }
    waiting_.push_back(node);
  }

  // The nodes whose splits are recorded next; none when growth ends. Growth by nodes has `most` of them, or fewer.
  const std::vector<int32_t>& Pop(int64_t most = 1) {
    next_.clear();
    if (order_ == GrowthOrder::kLevels) PopLevel();
    else max_leaf_nodes_ == nullptr ? PopLast(most) : PopBest(most);
    return next_;
  }

  // Of growth by nodes: how many of these may be followed by splits of their children.
  int64_t num_followed() const { return num_followed_; }

  // Whether the one tree of growth by nodes may have another leaf.
  bool HasLeavesLeft() const { return max_leaf_nodes_ == nullptr || num_leaves_ < max_leaf_nodes_[0]; }

 private:
  // Orders the greatest saving first, and of equal ones that of the first node.
  auto Later() const {
    return [this](int32_t a, int32_t b) { return saved_[a] != saved_[b] ? saved_[a] < saved_[b] : ComesBefore(b, a); };
  }

  // Whether a node comes before another in the order of levels, whatever the order in which they were made.
  bool ComesBefore(int32_t a, int32_t b) const {
    if (table_.depth[a] != table_.depth[b]) return table_.depth[a] < table_.depth[b];
    while (table_.parent[a] != table_.parent[b]) a = table_.parent[a], b = table_.parent[b];
    return a < b;
  }

  void PopLevel() {
    next_.swap(waiting_);
    if (max_leaf_nodes_ == nullptr) return;
    DropSplits();
    next_.erase(std::remove_if(next_.begin(), next_.end(), [this](int32_t node) { return !IsMade(node); }), next_.end());
  }

  // All are split: those that came last, whose histograms are in a near cache.
  void PopLast(int64_t most) {
    for (; static_cast<int64_t>(next_.size()) < most && !waiting_.empty(); waiting_.pop_back()) {
      next_.push_back(waiting_.back());
    }
    num_followed_ = next_.size();
  }

  // The best that are not recorded, of those whose turn comes if their children save less than they do.
  void PopBest(int64_t most) {
    while (HasLeavesLeft() && !waiting_.empty() && IsRecorded(waiting_.front())) MakeFirst();
    num_followed_ = 0;
    std::vector<int32_t> first;
    for (int64_t leaves = num_leaves_ + 1; leaves <= max_leaf_nodes_[0] && !waiting_.empty(); ++leaves) {
      first.push_back(TakeFirst());
      if (IsRecorded(first.back())) continue;
      next_.push_back(first.back());
      num_followed_ += leaves < max_leaf_nodes_[0];
      if (static_cast<int64_t>(next_.size()) == most) break;
    }
    for (const int32_t node : first) Insert(node);
    if (!next_.empty()) return;
    for (const int32_t node : waiting_) table_.num_children[node] = 0;
  }

  bool IsRecorded(int32_t node) const { return table_.num_children[node] > 0; }

  // Makes the best split, after which the turn of the children may come.
  void MakeFirst() {
    const int32_t node = TakeFirst(), first = table_.first_child[node];
    ++num_leaves_;
    for (int32_t child = first; child < first + table_.num_children[node]; ++child) {
      if (IsMade(child)) Insert(child);
    }
  }

  void Insert(int32_t node) {
    waiting_.push_back(node);
    std::push_heap(waiting_.begin(), waiting_.end(), Later());
  }

  int32_t TakeFirst() {
    std::pop_heap(waiting_.begin(), waiting_.end(), Later());
    const int32_t node = waiting_.back();
    waiting_.pop_back();
    return node;
  }

  bool IsMade(int32_t node) const { return node < static_cast<int32_t>(saved_.size()) && saved_[node] != kNoSplit; }

  // Makes all splits again, best-first, and forgets those that are not reached, whose nodes become leaves.
  void DropSplits() {
    std::vector<double> made(saved_.size(), kNoSplit);
    for (int32_t root = 0; root < num_roots_; ++root) MakeSplits(root, made);
    saved_.swap(made);
    for (int32_t node = 0; node < table_.num_nodes; ++node) {
      if (!IsMade(node)) table_.num_children[node] = 0;
    }
  }

  void MakeSplits(int32_t root, std::vector<double>& made) const {
    std::vector<int32_t> heap;
    const auto push = [&](int32_t node) {
      if (!IsMade(node)) return;
      heap.push_back(node);
      std::push_heap(heap.begin(), heap.end(), Later());
    };
    push(root);
    for (int64_t num_leaves = 1; !heap.empty();) {
      std::pop_heap(heap.begin(), heap.end(), Later());
      const int32_t node = heap.back();
      heap.pop_back();
      num_leaves += num_branches_[node] - 1;
      if (num_leaves > max_leaf_nodes_[root]) return;
      made[node] = saved_[node];
      for (int32_t branch = 0; branch < table_.num_children[node]; ++branch) push(table_.first_child[node] + branch);
    }
  }

  const GrowthOrder order_;
  NodeTable<Value>& table_;
  const int32_t* const max_leaf_nodes_;
  const int32_t num_roots_;
  int64_t num_leaves_ = 1, num_followed_ = 0;  // of growth by nodes
  std::vector<int32_t> waiting_, next_;   // nodes; those that wait for their turn are a heap
  std::vector<double> saved_;             // by the splits of nodes, where leaves are limited
  std::vector<int32_t> num_branches_;     // of these splits
};

// The loop of growth. An updater tells the driver of the splits of roots; it makes those that the driver chooses, and tells
// of those of the children. It returns false where the table has no room for more nodes.
template <typename Value, typename Updater>
void GrowTrees(Driver<Value>& driver, Updater& updater) {
  updater.OpenRoots();
  for (;;) {
    const std::vector<int32_t>& nodes = driver.Pop();
    if (nodes.empty() || !updater.Split(nodes)) return;
  }
}

}  // namespace jaxtree

#endif  // JAXTREE_NATIVE_GROW_DRIVER_H_
