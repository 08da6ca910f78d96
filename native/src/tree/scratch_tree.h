// Rooms for the nodes of trees; those of which not all stay are copied into the result when growth ends.

#ifndef JAXTREE_NATIVE_TREE_SCRATCH_TREE_H_
#define JAXTREE_NATIVE_TREE_SCRATCH_TREE_H_

#include <algorithm>
#include <array>
#include <cassert>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "tree/node_table.h"

namespace jaxtree {

// A table of nodes, and the room that it has or makes.
template <typename Value>
class NodeRoom {
 public:
  explicit NodeRoom(const NodeTable<Value>& table) : table_(table) {}
  virtual ~NodeRoom() = default;

  NodeTable<Value>& table() { return table_; }

  // Returns whether there is room for so many nodes.
  virtual bool MakeRoomFor(int64_t num_nodes) = 0;

 protected:
  // The roots, which are all nodes at first, of trees of their own.
  void NumberRoots() {
    std::iota(table_.parent, table_.parent + table_.num_nodes, 0);
    std::iota(table_.root, table_.root + table_.num_nodes, 0);
  }

  NodeTable<Value> table_;
};

// Blank arrays that are lent, and have no more room.
template <typename Value>
class LentRoom : public NodeRoom<Value> {
 public:
  explicit LentRoom(const NodeTable<Value>& table) : NodeRoom<Value>(table) { this->NumberRoots(); }

  bool MakeRoomFor(int64_t num_nodes) override { return num_nodes <= this->table_.capacity; }
};

// A table that grows.
template <typename Value>
class ScratchTree : public NodeRoom<Value> {
 public:
  // Has the roots of another table, which it is like in all but its room.
  explicit ScratchTree(const NodeTable<Value>& like) : ScratchTree(like, like.Compares()) {}

  ScratchTree(const NodeTable<Value>& like, bool compares) : NodeRoom<Value>(like), compares_(compares) {
    MakeRoomFor(like.num_nodes);
    this->NumberRoots();
  }

  // The arrays move with it, and a copy would point to those of the other.
  ScratchTree(ScratchTree&&) = default;
  ScratchTree(const ScratchTree&) = delete;

  bool MakeRoomFor(int64_t num_nodes) override {
    if (num_nodes <= room_) return true;
    room_ = std::max(2 * room_, num_nodes);
    table_.capacity = room_;
    const auto numbers = table_.Numbers();
    for (size_t field = 0; field < numbers.size(); ++field) *numbers[field] = Resized(numbers_[field], 1);
    table_.gain = Resized(gain_, 1);
    table_.subset = Resized(subset_, table_.num_words);
    table_.sums = Resized(sums_, table_.num_channels);
    if (compares_) {
      table_.low = Resized(low_, 1, std::numeric_limits<int64_t>::max());
      table_.high = Resized(high_, 1, std::numeric_limits<int64_t>::min());
    }
    return true;
  }

 private:
  template <typename T>
  T* Resized(std::vector<T>& values, int64_t width, T blank = 0) {
    values.resize(room_ * width, blank);
    return values.data();
  }

  using NodeRoom<Value>::table_;

  const bool compares_;
  int64_t room_ = 0;
  std::array<std::vector<int32_t>, kNumNumbers> numbers_;
  std::vector<double> gain_;
  std::vector<uint32_t> subset_;
  std::vector<Value> sums_;
  std::vector<int64_t> low_, high_;
};

// Copies the nodes that are left of trees into a blank table that has the roots, in an order in which parents come first. Nodes whose children
// do not fit become leaves.
//
// Returns the new number of every node; of one that is gone, that of the lowest node above it that is left.
template <typename Value>
std::vector<int32_t> CopyNodes(const NodeTable<Value>& from, const std::vector<int32_t>& order, NodeRoom<Value>& room,
                               bool& is_complete) {
  NodeTable<Value>& to = room.table();
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
    if (!room.MakeRoomFor(to.num_nodes + num_children)) {
      is_complete = false;
      continue;
    }
    to.first_child[own] = first_child[node] = std::exchange(to.num_nodes, to.num_nodes + num_children);
    to.num_children[own] = num_children;
    to.feature[own] = from.feature[node];
    to.code[own] = from.code[node];
    to.next_code[own] = from.next_code[node];
    to.split_kind[own] = from.split_kind[node];
    to.missing_code[own] = from.missing_code[node];
    to.missing_branch[own] = from.missing_branch[node];
    to.gain[own] = from.gain[node];
    std::copy_n(from.subset + node * from.num_words, from.num_words, to.subset + own * to.num_words);
  }
  return place;
}

}  // namespace jaxtree

#endif  // JAXTREE_NATIVE_TREE_SCRATCH_TREE_H_
