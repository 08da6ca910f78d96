// Which node is split next, and whole trees: both orders of growth make the same.

#include <cstdint>
#include <vector>

#include "check.h"
#include "grow/best_first.h"
#include "grow/leaf_wise.h"
#include "grow/level_wise.h"
#include "pool.h"
#include "problem.h"

namespace jaxtree {
namespace {

using test::Problem;
using test::Value;

// A tree of depth 2 whose every inner node was split: 0 -> 1, 2; 1 -> 3, 4; 2 -> 5, 6.
ScratchTree<Value> Complete(const Problem& problem) {
  ScratchTree<Value> tree = problem.tree(7);
  NodeTable<Value>& nodes = tree.table();
  nodes.num_nodes = 7;
  for (int32_t node = 0; node < 3; ++node) {
    nodes.first_child[node] = 2 * node + 1;
    nodes.num_children[node] = 2;
    nodes.parent[2 * node + 1] = nodes.parent[2 * node + 2] = node;
  }
  return tree;
}

TEST(Grow_best_first_makes_the_splits_that_save_most) {
  const Problem problem(10, 1, 3);
  const auto made = [&](int32_t max_leaves, std::vector<double> saved) {
    ScratchTree<Value> tree = Complete(problem);
    BestFirst order(&max_leaves);
    for (int32_t node = 0; node < 3; ++node) order.Offer(node, 2, saved[node]);
    order.Choose(tree.table(), 1);
    std::vector<bool> own;
    for (int32_t node = 0; node < 3; ++node) own.push_back(order.IsMade(node) && tree.table().num_children[node] > 0);
    return own;
  };
  CHECK(made(1, {9, 1, 5}) == (std::vector<bool>{false, false, false}));
  CHECK(made(2, {9, 1, 5}) == (std::vector<bool>{true, false, false}));
  CHECK(made(3, {9, 1, 5}) == (std::vector<bool>{true, false, true}));
  CHECK(made(3, {1, 5, 5}) == (std::vector<bool>{true, true, false}));  // of equal ones the first
  CHECK(made(4, {9, 1, 5}) == (std::vector<bool>{true, true, true}));
}

TEST(Grow_nodes_of_a_tree_are_copied_without_gaps) {
  const Problem problem(10, 1, 3);
  ScratchTree<Value> from = Complete(problem), to = problem.tree(7);
  from.table().num_children[1] = 0;
  bool is_complete = true;
  const std::vector<int32_t> place = CopyNodes(from.table(), {0, 1, 2, 3, 4, 5, 6}, to.table(), is_complete);
  CHECK(is_complete);
  CHECK_EQ(to.table().num_nodes, 5);
  // What stood below node 1 ends there.
  CHECK(place == (std::vector<int32_t>{0, 1, 2, 1, 1, 3, 4}));
}

struct Grown {
  ScratchTree<Value> tree;
  std::vector<int32_t> leaf;
  bool is_complete = false;

  explicit Grown(const Problem& problem, int64_t capacity) : tree(problem.tree(capacity)), leaf(problem.num_rows) {}
};

Grown LevelWise(Threads threads, const Problem& problem, int64_t most_slots_in_row_order, int64_t capacity = 200) {
  Grown grown(problem, capacity);
  Memory memory(nullptr, 0);
  grown.is_complete = LevelWiseGrower<test::Code, Value>(threads, problem.level, problem.limits, problem.open, problem.entries(),
                                                         &problem.seed, most_slots_in_row_order, grown.tree.table(),
                                                         grown.leaf.data(), memory).Run();
  return grown;
}

Grown LeafWise(Threads threads, const Problem& problem, int64_t capacity = 200) {
  Grown grown(problem, capacity);
  const Entries<Value> entries = problem.entries();
  const RowGrowth growth{problem.level, problem.limits, problem.open, entries, &problem.seed, grown.leaf.data()};
  CHECK(GrowsLeafWise(growth, grown.tree.table()));
  grown.is_complete = GrowLeafWise(threads, growth, grown.tree.table());
  return grown;
}

void CheckAlike(Grown& own, Grown& other) {
  NodeTable<Value> &a = own.tree.table(), &b = other.tree.table();
  CHECK(own.is_complete == other.is_complete && own.leaf == other.leaf);
  CHECK_EQ(a.num_nodes, b.num_nodes);
  const auto numbers_of_a = a.Numbers(), numbers_of_b = b.Numbers();
  for (size_t field = 0; field < numbers_of_a.size(); ++field) {
    CHECK(std::equal(*numbers_of_a[field], *numbers_of_a[field] + a.num_nodes, *numbers_of_b[field]));
  }
  CHECK(std::equal(a.gain, a.gain + a.num_nodes, b.gain));
  CHECK(std::equal(a.sums, a.sums + a.num_nodes * a.num_channels, b.sums));
}

// Every leaf has the sums of the rows that are said to end there.
void CheckLeaves(const Problem& problem, Grown& grown) {
  const NodeTable<Value>& nodes = grown.tree.table();
  std::vector<Value> sums(2 * nodes.num_nodes);
  for (int64_t row = 0; row < problem.num_rows; ++row) {
    for (int c = 0; c < 2; ++c) sums[2 * grown.leaf[row] + c] += problem.value[c * problem.num_rows + row];
  }
  for (int32_t node = 0; node < nodes.num_nodes; ++node) {
    for (int c = 0; c < 2; ++c) CHECK_EQ(sums[2 * node + c], nodes.num_children[node] > 0 ? 0 : nodes.sums[2 * node + c]);
  }
}

TEST(Grow_trees_are_the_same_in_every_order_of_rows_and_nodes) {
  test::Pool pool(3);
  for (const int32_t max_leaves : {0, 9}) {
    Problem problem(40'000, 6, 23, max_leaves);
    problem.value[5] = problem.value[40'005] = 0;  // a row that is in no tree
    if (max_leaves > 0) problem.limits.max_leaf_nodes = &max_leaves;
    Grown in_row_order = LevelWise(Threads(), problem, 1 << 20), sorted = LevelWise(Threads(), problem, 2);
    Grown by_leaves = LeafWise(Threads(), problem), in_threads = LevelWise(pool.threads(), problem, 4);
    Grown leaves_in_threads = LeafWise(pool.threads(), problem);
    CHECK(in_row_order.is_complete);
    CHECK(max_leaves > 0 ? in_row_order.tree.table().num_nodes == 17 : in_row_order.tree.table().num_nodes > 50);
    CheckLeaves(problem, in_row_order);
    for (Grown* other : {&sorted, &by_leaves, &in_threads, &leaves_in_threads}) CheckAlike(in_row_order, *other);
  }
}

TEST(Grow_a_table_that_is_full_holds_a_smaller_tree) {
  const Problem problem(2000, 3, 11);
  const auto check = [&](Grown grown) {
    CHECK(!grown.is_complete);
    CHECK(grown.tree.table().num_nodes <= 8);
    CheckLeaves(problem, grown);
  };
  check(LevelWise(Threads(), problem, 1 << 20, 8));
  check(LeafWise(Threads(), problem, 8));
}

}  // namespace
}  // namespace jaxtree
