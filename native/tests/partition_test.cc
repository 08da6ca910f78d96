// Where entries go at a split, and the sums that they leave there.

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "check.h"
#include "partition/entries.h"
#include "partition/row_partitioner.h"
#include "partition/shared_rows.h"
#include "pool.h"
#include "problem.h"
#include "tree/node_table.h"

namespace jaxtree {
namespace {

using test::Problem;
using test::Value;

// A tree whose root has children.
ScratchTree<Value> SplitRoot(const Problem& problem, SplitKind kind, int32_t code, int32_t num_children) {
  ScratchTree<Value> tree = problem.tree(1 + num_children);
  NodeTable<Value>& nodes = tree.table();
  nodes.split_kind[0] = kind;
  nodes.code[0] = code;
  nodes.missing_code[0] = 9;
  nodes.missing_branch[0] = 0;
  nodes.first_child[0] = 1;
  nodes.num_children[0] = num_children;
  nodes.num_nodes = 1 + num_children;
  for (int32_t child = 1; child <= num_children; ++child) nodes.parent[child] = 0;
  return tree;
}

TEST(Partition_every_kind_of_split_has_a_branch_for_any_code) {
  const Problem problem(10, 1, 9);
  ScratchTree<Value> threshold = SplitRoot(problem, kThreshold, 4, 2), one = SplitRoot(problem, kOneVsRest, 4, 2);
  ScratchTree<Value> words = SplitRoot(problem, kSubset, 0, 2), all = SplitRoot(problem, kMultiway, 0, 3);
  words.table().subset[0] = 0b10100;
  const auto branch = [](ScratchTree<Value>& tree, int32_t code) { return tree.table().BranchOf(0, code); };
  CHECK_EQ(branch(threshold, 4), 0);
  CHECK_EQ(branch(threshold, 5), 1);
  CHECK_EQ(branch(threshold, 9), 0);
  CHECK_EQ(branch(one, 4), 1);
  CHECK_EQ(branch(one, 5), 0);
  CHECK_EQ(branch(words, 2), 1);
  CHECK_EQ(branch(words, 3), 0);
  CHECK_EQ(branch(words, 1000), 0);
  CHECK_EQ(branch(all, 2), 2);
  CHECK_EQ(branch(all, 1000), 2);
}

TEST(Partition_entries_add_to_their_node_in_any_parts) {
  const Problem problem(100, 1, 5);
  const Entries<Value> entries = problem.entries();
  ScratchTree<Value> tree = problem.tree(2);
  NodeTable<Value>& nodes = tree.table();
  nodes.num_nodes = 2;
  for (int64_t row = 0; row < 50; ++row) entries.Add(row, row % 2, 2, nodes.SumsFrom(0));
  OwnedNodeSums<Value> part = nodes.BlankSums(2);
  for (int64_t row = 50; row < 100; ++row) entries.Add(row, row % 2, 2, part.View());
  nodes.AddSums(part.View(), 0, 2);
  Value expected[4] = {};
  for (int64_t row = 0; row < 100; ++row) {
    for (int channel = 0; channel < 2; ++channel) expected[2 * (row % 2) + channel] += problem.value[channel * 100 + row];
  }
  for (int at = 0; at < 4; ++at) CHECK_EQ(nodes.sums[at], expected[at]);
  CHECK_EQ(nodes.num_rows[0], 50);
}

// The rows of every branch stay in their order, whether one thread moves them or several do.
TEST(Partition_rows_of_a_node_are_divided_in_their_order) {
  constexpr int64_t kRows = 3 * kLeastMovedByThreads;
  const Problem problem(kRows, 1, 5);
  std::vector<int32_t> weight(kRows, 1);
  for (int64_t row = 0; row < kRows; row += 7) weight[row] = 0;
  BranchOfCode branch{};
  branch[1] = branch[4] = 1;
  for (const int64_t num_threads : {1, 4}) {
    test::Pool pool(num_threads);
    Threads threads = pool.threads();
    Memory memory(nullptr, 0);
    RowPartitioner rows(threads), others(threads);
    const int64_t count = rows.Open(memory, weight.data(), kRows, true);
    CHECK_EQ(count, std::accumulate(weight.begin(), weight.end(), int64_t{0}));
    CHECK_EQ(others.Open(memory, weight.data(), kRows, false), kRows - count);
    for (int64_t at = 0; at < kRows - count; ++at) CHECK_EQ(others.RowsOf(0)[at], 7 * at);
    rows.MakeRoomFor(3);
    rows.Divide(0, 1, problem.codes.data(), branch);
    CHECK_EQ(rows.SizeOf(1) + rows.SizeOf(2), count);
    for (const int32_t child : {1, 2}) {
      std::vector<int32_t> expected;
      for (int32_t row = 0; row < kRows; ++row) {
        if (weight[row] > 0 && branch[problem.codes[row]] == child - 1) expected.push_back(row);
      }
      CHECK(std::equal(expected.begin(), expected.end(), rows.RowsOf(child), rows.RowsOf(child) + rows.SizeOf(child)));
    }
  }
}

TEST(Partition_shares_of_an_entry_add_up_to_it) {
  const Problem problem(100, 1, 5);
  const Entries<Value> entries = problem.entries();
  ScratchTree<Value> tree = SplitRoot(problem, kMultiway, 0, 3);
  const NodeTable<Value>& nodes = tree.table();
  // The middle child has no known weight: it gets no share.
  const Value known[] = {0, 5, 0, 8};
  Shares<Value> shares;
  shares.Open(nodes, 1, [&](int32_t child) { return known[child]; });
  std::vector<Value> memory(2);
  for (int64_t entry = 0; entry < 100; ++entry) {
    Value sums[2] = {};
    shares.ForBranches(nodes, 0, entries, entry, memory, [&](int32_t branch, const Value* share) {
      CHECK(branch != 1);
      for (int channel = 0; channel < 2; ++channel) sums[channel] += share[channel];
    });
    if (problem.value[entry] < 3) continue;  // a share without weight is none
    CHECK_EQ(sums[0], problem.value[entry]);
    CHECK_EQ(sums[1], problem.value[100 + entry]);
  }
}

}  // namespace
}  // namespace jaxtree
