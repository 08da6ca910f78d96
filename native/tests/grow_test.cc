// Which node is split next, and whole trees: both orders of growth make the same.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "check.h"
#include "grow/driver.h"
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

// Which of the three splits of a complete tree of depth 2 are made that save so much; 0 is the root.
std::vector<bool> MadeByLevels(const Problem& problem, int32_t max_leaves, const std::vector<double>& saved) {
  ScratchTree<Value> tree = Complete(problem);
  tree.table().num_nodes = 1;
  Driver<Value> driver(GrowthOrder::kLevels, tree.table(), &max_leaves);
  tree.table().num_nodes = 3;
  driver.Push(0, 2, saved[0]);
  if (driver.Pop().empty()) return {false, false, false};
  driver.Push(1, 2, saved[1]);
  driver.Push(2, 2, saved[2]);
  const std::vector<int32_t> level = driver.Pop();
  const auto is_made = [&](int32_t node) { return std::count(level.begin(), level.end(), node) > 0; };
  return {tree.table().num_children[0] > 0, is_made(1), is_made(2)};
}

// The same where nodes are split one after another, or some of them side by side.
std::vector<bool> MadeByNodes(const Problem& problem, int32_t max_leaves, const std::vector<double>& saved, int64_t most) {
  ScratchTree<Value> tree = Complete(problem);
  tree.table().num_nodes = 1;
  Driver<Value> driver(GrowthOrder::kNodes, tree.table(), &max_leaves);
  tree.table().num_nodes = 7;
  int32_t* const num_children = tree.table().num_children;
  std::fill_n(num_children, 7, 0);
  if (driver.HasLeavesLeft()) driver.Push(0, 2, saved[0]);
  for (std::vector<int32_t> next; !(next = driver.Pop(most)).empty();) {
    CHECK(static_cast<int64_t>(next.size()) <= most);
    for (const int32_t node : next) {
      num_children[node] = 2;
      if (node > 0) continue;
      // The second child first: the order in which nodes are recorded decides nothing.
      driver.Push(2, 2, saved[2]);
      driver.Push(1, 2, saved[1]);
    }
  }
  return {num_children[0] > 0, num_children[1] > 0, num_children[2] > 0};
}

TEST(Grow_best_first_makes_the_splits_that_save_most) {
  const Problem problem(10, 1, 3);
  const auto check = [&](const auto& made) {
    CHECK(made(problem, 1, {9, 1, 5}) == (std::vector<bool>{false, false, false}));
    CHECK(made(problem, 2, {9, 1, 5}) == (std::vector<bool>{true, false, false}));
    CHECK(made(problem, 3, {9, 1, 5}) == (std::vector<bool>{true, false, true}));
    CHECK(made(problem, 3, {1, 5, 5}) == (std::vector<bool>{true, true, false}));  // of equal ones the first
    CHECK(made(problem, 4, {9, 1, 5}) == (std::vector<bool>{true, true, true}));
  };
  check(MadeByLevels);
  for (const int64_t most : {1, 2}) {
    check([=](const Problem& own, int32_t max_leaves, const std::vector<double>& saved) {
      return MadeByNodes(own, max_leaves, saved, most);
    });
  }
}

TEST(Grow_splits_whose_turn_does_not_come_are_dropped) {
  const Problem problem(10, 1, 3);
  const int32_t max_leaves = 4;
  ScratchTree<Value> tree = Complete(problem);
  NodeTable<Value>& nodes = tree.table();
  std::fill_n(nodes.num_children, 7, 0);
  nodes.num_nodes = 1;
  Driver<Value> driver(GrowthOrder::kNodes, nodes, &max_leaves);
  const auto split = [&](int32_t node) { nodes.num_children[node] = 2, nodes.num_nodes += 2; };
  driver.Push(0, 2, 9);
  CHECK(driver.Pop(2) == std::vector<int32_t>{0});
  CHECK_EQ(driver.num_followed(), 1);
  split(0);
  driver.Push(1, 2, 5);
  driver.Push(2, 2, 4);
  CHECK(driver.Pop(2) == (std::vector<int32_t>{1, 2}));
  CHECK_EQ(driver.num_followed(), 1);  // the second would be the last one
  split(1), split(2);
  driver.Push(3, 2, 8);
  CHECK(driver.Pop(2) == std::vector<int32_t>{3});
  CHECK_EQ(driver.num_followed(), 0);
  nodes.first_child[3] = 7;
  split(3);
  CHECK(driver.Pop(2).empty());
  CHECK_EQ(nodes.num_children[1], 2);
  CHECK_EQ(nodes.num_children[2], 0);
}

TEST(Grow_a_later_level_drops_a_split_that_saves_less) {
  const Problem problem(10, 1, 3);
  const int32_t max_leaves = 4;
  ScratchTree<Value> tree = Complete(problem);
  NodeTable<Value>& nodes = tree.table();
  nodes.num_nodes = 1;
  Driver<Value> driver(GrowthOrder::kLevels, nodes, &max_leaves);
  const auto split = [&](int32_t node) { nodes.num_children[node] = 2, nodes.num_nodes += 2; };
  driver.Push(0, 2, 9);
  CHECK(driver.Pop() == std::vector<int32_t>{0});
  split(0);
  driver.Push(1, 2, 5);
  driver.Push(2, 2, 4);
  CHECK(driver.Pop() == (std::vector<int32_t>{1, 2}));
  split(1), split(2);
  driver.Push(3, 2, 8);
  CHECK(driver.Pop() == std::vector<int32_t>{3});
  CHECK_EQ(nodes.num_children[1], 2);
  CHECK_EQ(nodes.num_children[2], 0);
}

TEST(Grow_nodes_of_a_tree_are_copied_without_gaps) {
  const Problem problem(10, 1, 3);
  ScratchTree<Value> from = Complete(problem), to = problem.tree(7);
  from.table().num_children[1] = 0;
  bool is_complete = true;
  const std::vector<int32_t> place = CopyNodes(from.table(), {0, 1, 2, 3, 4, 5, 6}, to, is_complete);
  CHECK(is_complete);
  CHECK_EQ(to.table().num_nodes, 5);
  // Rows below node 1 now end there.
  CHECK(place == (std::vector<int32_t>{0, 1, 2, 1, 1, 3, 4}));
}

// A tree in memory of its own, or in arrays that have no more room than they are given.
struct Grown {
  ScratchTree<Value> own;
  std::unique_ptr<LentRoom<Value>> lent;
  std::vector<int32_t> leaf;
  bool is_complete = false;

  Grown(const Problem& problem, int64_t capacity) : own(problem.tree(std::max<int64_t>(capacity, 1))), leaf(problem.num_rows) {
    if (capacity > 0) lent = std::make_unique<LentRoom<Value>>(own.table());
  }

  NodeRoom<Value>& room() { return lent ? static_cast<NodeRoom<Value>&>(*lent) : own; }
  NodeTable<Value>& table() { return room().table(); }
};

Growth<test::Code, Value> GrowthOf(const Problem& problem, int64_t most_slots_in_row_order, int32_t* leaf) {
  return {problem.level, problem.open, problem.entries(), &problem.seed, most_slots_in_row_order, leaf};
}

Grown LevelWise(Threads threads, const Problem& problem, int64_t most_slots_in_row_order, int64_t capacity = 0) {
  Grown grown(problem, capacity);
  Memory memory(nullptr, 0);
  const auto growth = GrowthOf(problem, most_slots_in_row_order, grown.leaf.data());
  grown.is_complete = LevelWiseGrower<test::Code, Value>(threads, growth, grown.room(), memory).Run();
  return grown;
}

Grown LeafWise(Threads threads, const Problem& problem, int64_t capacity = 0) {
  Grown grown(problem, capacity);
  const auto growth = GrowthOf(problem, 0, grown.leaf.data());
  CHECK(GrowsLeafWise(growth, grown.table()));
  Memory memory(nullptr, 0);
  grown.is_complete = GrowLeafWise(threads, growth, grown.room(), memory);
  return grown;
}

void CheckAlike(Grown& own, Grown& other) {
  NodeTable<Value> &a = own.table(), &b = other.table();
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
  const NodeTable<Value>& nodes = grown.table();
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
    problem.level.rules.is_best_first = max_leaves > 0;
    problem.level.rules.limits.max_leaf_nodes = {max_leaves};
    Grown in_row_order = LevelWise(Threads(), problem, 1 << 20), sorted = LevelWise(Threads(), problem, 2);
    Grown by_leaves = LeafWise(Threads(), problem), in_threads = LevelWise(pool.threads(), problem, 4);
    Grown leaves_in_threads = LeafWise(pool.threads(), problem);
    std::vector<test::Code> codes_of_rows;
    for (int64_t row = 0; row < problem.num_rows; ++row) {
      for (int64_t feature = 0; feature < 6; ++feature) codes_of_rows.push_back(problem.codes[feature * problem.num_rows + row]);
    }
    problem.level.table.codes_of_rows = codes_of_rows.data();
    Grown by_rows = LeafWise(Threads(), problem), rows_in_threads = LeafWise(pool.threads(), problem);
    CHECK(in_row_order.is_complete);
    CHECK(max_leaves > 0 ? in_row_order.table().num_nodes == 17 : in_row_order.table().num_nodes > 50);
    CheckLeaves(problem, in_row_order);
    for (Grown* other : {&sorted, &by_leaves, &in_threads, &leaves_in_threads, &by_rows, &rows_in_threads}) {
      CheckAlike(in_row_order, *other);
    }
  }
}

TEST(Grow_trees_are_the_same_on_any_number_of_threads) {
  // More threads than packs of columns: rows are divided, too.
  const Problem problem(20000, 6, 250, 3);
  Grown one = LeafWise(Threads(), problem);
  for (const int64_t number : {2, 4, 9}) {
    test::Pool pool(number);
    Grown other = LeafWise(pool.threads(), problem);
    CheckAlike(one, other);
  }
}

TEST(Grow_a_table_that_is_full_holds_a_smaller_tree) {
  const Problem problem(2000, 3, 11);
  const auto check = [&](Grown grown) {
    CHECK(!grown.is_complete);
    CHECK(grown.table().num_nodes <= 8);
    CheckLeaves(problem, grown);
  };
  check(LevelWise(Threads(), problem, 1 << 20, 8));
  check(LeafWise(Threads(), problem, 8));
}

}  // namespace
}  // namespace jaxtree
