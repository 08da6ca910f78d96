// Growth of one tree node by node, best-first where leaves are limited.
//
// The rows of a node lie side by side, as numbers of rows. The child of fewer rows is summed, and the other is the difference
// from their parent. One thread looks at no node that the tree does not ask for; where threads are free, each takes a node whose
// turn comes later, if its children do not come before it, and the tree is the same.

#include "grow/leaf_wise.h"

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "common/memory.h"
#include "common/parallel.h"
#include "evaluate/histogram_finder.h"
#include "grow/driver.h"
#include "histogram/node_histograms.h"
#include "partition/row_partitioner.h"
#include "tree/node_updater.h"
#include "tree/scratch_tree.h"

namespace jaxtree {
namespace {

using Code = HistogramSplitFinder::Code;
using Value = HistogramSplitFinder::Value;

// A table has room for the nodes of so many leaves at once.
constexpr int32_t kUsualLeaves = 1 << 8;
// More rows are read in their order, unless few of the nodes of a level are split.
constexpr int64_t kMostRows = 1 << 20;

// With fewer codes to read for a tree, one thread has done it as soon.
constexpr int64_t kLeastSideBySide = 1 << 14;

// A split that waits to be made.
struct PendingSplit {
  Split split;
  std::vector<int32_t> left;         // a cell with the sums of branch 0
  int32_t histogram = kNoHistogram;  // of the node
};

// Memory that a thread keeps from tree to tree; of what is done side by side each part has its own.
struct Workspace {
  HistogramPool histograms;
  std::vector<std::unique_ptr<FinderMemory>> of_finder;

  FinderMemory& OfFinder(size_t number) {
    while (of_finder.size() <= number) of_finder.push_back(std::make_unique<FinderMemory>());
    return *of_finder[number];
  }
};

Workspace& WorkspaceOfThread() {
  static thread_local Workspace workspace;
  return workspace;
}

// A node that is divided, and its children, whose splits are looked for. Several are beside one another.
struct Expansion {
  Expansion(Threads& pool, const Level<Code, Value>& given, HistogramPool& histograms, FinderMemory& memory)
      : level(given), finder(pool, level, histograms, memory), smaller(memory.nodes[0]), larger(memory.nodes[1]) {
    ShowOnlySlot();
  }

  Expansion(const Expansion& first, FinderMemory& memory)
      : level(first.level), finder(first.finder, level, memory), smaller(memory.nodes[0]), larger(memory.nodes[1]) {
    ShowOnlySlot();
  }

  Level<Code, Value> level;
  HistogramSplitFinder finder;
  int32_t node = 0;                // whose split is looked for
  int32_t parent = 0;
  NodeHistogram &smaller, &larger;  // the children
  bool looks_at_smaller = false, looks_at_larger = false;
  bool subtracts = false;          // the histogram of the larger child is that of the parent less the other's

  bool sums_smaller() const { return looks_at_smaller || subtracts; }

 private:
  // A search looks at one slot, which is that of `node`.
  void ShowOnlySlot() { level.node = &node; }
};

class LeafWiseGrower {
 public:
  LeafWiseGrower(Threads& pool, const Growth<Code, Value>& growth, NodeRoom<Value>& result, Memory& memory)
      : pool_(pool), level_(growth.level), entries_(growth.entries), leaf_(growth.leaf), result_(result),
        room_(result.table()), table_(room_.table()), nodes_(level_, growth.open, growth.root_seed, table_),
        driver_(GrowthOrder::kNodes, table_, level_.rules.MostLeaves()),
        draws_levels_(growth.open.samples_levels), memory_(memory), space_(WorkspaceOfThread()), rows_(pool), others_(pool),
        histograms_(space_.histograms) {
    const int32_t* const limit = level_.rules.MostLeaves();
    const int32_t most_leaves = limit != nullptr ? std::max(limit[0], 1) : kUsualLeaves;
    const int64_t most_nodes = most_leaves < kUsualLeaves ? 2 * most_leaves - 1 : 1;
    room_.MakeRoomFor(most_nodes);
    pending_.reserve(most_nodes);
    level_.slot = leaf_;
    expansions_.emplace_back(pool_, level_, space_.histograms, space_.OfFinder(0));
  }

  bool Run() {
    OpenRoot();
    while (Split(driver_.Pop(NumSideBySide()))) {
    }
    bool is_complete = true;
    const std::vector<int32_t> order = LevelOrder();
    FindLeaves(order, CopyNodes(table_, order, result_, is_complete));
    return is_complete;
  }

 private:
  // How many nodes are divided at once. Features that are drawn for a level are those of one at a time.
  int64_t NumSideBySide() const {
    const bool pays = entries_.size * level_.table.num_features >= kLeastSideBySide;
    return pays && !draws_levels_ ? NumAtOnce(pool_) : 1;
  }

  void OpenRoot() {
    const int64_t num_rows = entries_.size;
    Expansion& first = expansions_[0];
    first.finder.ReadRows(memory_, entries_.value, num_rows);
    for (int64_t channel = 0; channel < table_.num_channels; ++channel) {
      table_.sums[channel] = SumOf(pool_, entries_.value + channel * num_rows, num_rows);
    }
    table_.num_rows[0] = rows_.Open(memory_, entries_.value, num_rows, true);
    if (table_.num_rows[0] < num_rows) others_.Open(memory_, entries_.value, num_rows, false);
    pending_.resize(1);
    nodes_.HandDown(0);
    if (!nodes_.MaySplit(0) || !driver_.HasLeavesLeft()) return;
    Open(first, 0, histograms_.Acquire(), first.smaller);
    Fill(first, first.smaller, true, nullptr);
    Choose(first, first.smaller);
    Settle(first.smaller);
  }

  // Makes splits that nodes have waited for, and looks for those of the children. Returns whether there was one.
  bool Split(const std::vector<int32_t>& nodes) {
    const auto count = static_cast<int64_t>(nodes.size()), num_followed = driver_.num_followed();
    room_.MakeRoomFor(table_.num_nodes + 2 * count);
    for (int64_t at = 0; at < count; ++at) Record(nodes[at], at);
    for (int64_t at = 0; at < num_followed; ++at) OpenChildren(expansions_[at]);
    ForEach(pool_, count, [&](int64_t at) {
      Divide(expansions_[at]);
      if (at < num_followed) LookAtChildren(expansions_[at]);
    });
    for (int64_t at = 0; at < num_followed; ++at) SettleChildren(expansions_[at]);
    return count > 0;
  }

  void Record(int32_t node, int64_t number) {
    if (static_cast<int64_t>(expansions_.size()) <= number) expansions_.emplace_back(expansions_[0], space_.OfFinder(number));
    expansions_[number].parent = node;
    nodes_.Record(node, pending_[node].split);
    pending_.resize(table_.num_nodes);
    rows_.MakeRoomFor(table_.num_nodes);
    others_.MakeRoomFor(table_.num_nodes);
    PutSums(node);
    nodes_.HandDown(table_.first_child[node]);
  }

  void PutSums(int32_t node) {
    const int32_t left = table_.first_child[node], right = left + 1;
    const CellLayout& layout = expansions_[0].finder.layout();
    const std::vector<int32_t>& of_left = pending_[node].left;
    for (int64_t channel = 0; channel < table_.num_channels; ++channel) {
      const Value whole = table_.sums[node * table_.num_channels + channel], own = of_left[layout.lane[channel]];
      table_.sums[left * table_.num_channels + channel] = own;
      table_.sums[right * table_.num_channels + channel] = whole - own;
    }
    table_.num_rows[left] = of_left[layout.of_rows];
    table_.num_rows[right] = table_.num_rows[node] - table_.num_rows[left];
  }

  // Gives the children histograms.
  void OpenChildren(Expansion& own) {
    const int32_t left = table_.first_child[own.parent], right = left + 1;
    const bool left_is_smaller = table_.num_rows[left] <= table_.num_rows[right];
    const int32_t smaller = left_is_smaller ? left : right, larger = left_is_smaller ? right : left;
    own.looks_at_smaller = nodes_.MaySplit(smaller), own.looks_at_larger = nodes_.MaySplit(larger);
    const int32_t whole = std::exchange(pending_[own.parent].histogram, kNoHistogram);
    own.subtracts = own.looks_at_larger && whole != kNoHistogram;
    if (whole != kNoHistogram && !own.subtracts) histograms_.Release(whole);
    if (own.looks_at_larger) Open(own, larger, own.subtracts ? whole : histograms_.Acquire(), own.larger);
    if (own.sums_smaller()) Open(own, smaller, histograms_.Acquire(), own.smaller);
  }

  void Open(Expansion& own, int32_t node, int32_t histogram, NodeHistogram& of_node) {
    nodes_.Show(table_.depth[node], own.level);
    own.finder.Open(node, histogram, of_node);
  }

  // Divides the rows of a node, and those that only go its way, among its children.
  void Divide(Expansion& own) {
    const jaxtree::Split& split = pending_[own.parent].split;
    const int32_t left = table_.first_child[own.parent];
    const Code* const codes = level_.table.ColumnOf(split.feature);
    rows_.Divide(own.parent, left, codes, own.finder.BranchesOf(split, split.missing_branch));
    assert(rows_.SizeOf(left) == table_.num_rows[left]);
    if (rows_.SizeOf(0) == entries_.size) return;
    const bool is_resolved = split.missing_branch != kUnresolved;
    const int32_t missing_branch = is_resolved ? split.missing_branch : nodes_.HeaviestBranch(own.parent);
    others_.Divide(own.parent, left, codes, own.finder.BranchesOf(split, missing_branch));
  }

  void LookAtChildren(Expansion& own) {
    if (own.sums_smaller()) Fill(own, own.smaller, own.looks_at_smaller, own.subtracts ? &own.larger : nullptr);
    if (own.looks_at_smaller) Choose(own, own.smaller);
    if (own.looks_at_larger && !own.subtracts) Fill(own, own.larger, true, nullptr);
    if (own.looks_at_larger) Choose(own, own.larger);
  }

  void Fill(Expansion& own, NodeHistogram& filled, bool is_looked_at, NodeHistogram* sibling) {
    const int64_t size = rows_.SizeOf(filled.node);
    const int32_t* const rows = rows_.RowsOf(filled.node);
    // Rows keep their order, so that these are the first of all: padding comes last.
    const bool are_first = size > 0 && rows[size - 1] == size - 1;
    own.finder.Fill(are_first ? nullptr : rows, rows_.PlaceOf(filled.node), size, filled, is_looked_at, sibling);
  }

  // Finds the split of a node, which keeps its histogram if the split is allowed.
  void Choose(Expansion& own, NodeHistogram& of_node) {
    own.node = of_node.node;
    jaxtree::Split split = own.finder.Best(of_node, 0);
    if (!nodes_.IsAllowed(own.node, split.gain)) return;
    std::vector<int32_t> left = own.finder.SumsOfLeft(split, of_node);
    pending_[own.node] = {std::move(split), std::move(left), of_node.histogram};
  }

  void SettleChildren(const Expansion& own) {
    if (own.looks_at_smaller) Settle(own.smaller);
    else if (own.subtracts) histograms_.Release(own.smaller.histogram);
    if (own.looks_at_larger) Settle(own.larger);
  }

  // The split of a node waits from here on if it is allowed.
  void Settle(const NodeHistogram& of_node) {
    PendingSplit& pending = pending_[of_node.node];
    if (pending.histogram == kNoHistogram) return histograms_.Release(of_node.histogram);
    if (histograms_.IsFull()) histograms_.Release(std::exchange(pending.histogram, kNoHistogram));
    driver_.Push(of_node.node, 2, nodes_.SavedBy(of_node.node, pending.split.gain));
  }

  // The nodes level by level, children in the order of their parents.
  std::vector<int32_t> LevelOrder() const {
    std::vector<int32_t> order{0};
    for (size_t at = 0; at < order.size(); ++at) {
      const int32_t node = order[at], first = table_.first_child[node];
      for (int32_t child = first; child < first + table_.num_children[node]; ++child) order.push_back(child);
    }
    return order;
  }

  // Gives every row its leaf, whose number in the result is its place.
  void FindLeaves(const std::vector<int32_t>& nodes, const std::vector<int32_t>& place) const {
    FindLeaves(rows_, nodes, place);
    if (rows_.SizeOf(0) < entries_.size) FindLeaves(others_, nodes, place);
  }

  void FindLeaves(const RowPartitioner& partitioner, const std::vector<int32_t>& nodes, const std::vector<int32_t>& place) const {
    ForEachIf(entries_.size >= kLeastMovedByThreads, pool_, nodes.size(), [&](int64_t at) {
      const int32_t node = nodes[at];
      if (table_.num_children[node] > 0) return;
      const int32_t* const rows = partitioner.RowsOf(node);
      for (int64_t at = 0, size = partitioner.SizeOf(node); at < size; ++at) leaf_[rows[at]] = place[node];
    });
  }

  Threads& pool_;
  Level<Code, Value> level_;
  const Entries<Value>& entries_;
  int32_t* const leaf_;
  NodeRoom<Value>& result_;
  ScratchTree<Value> room_;
  NodeTable<Value>& table_;  // the nodes in the order in which they are recorded
  NodeUpdater<Code, Value> nodes_;
  Driver<Value> driver_;
  const bool draws_levels_;
  Memory& memory_;
  Workspace& space_;
  RowPartitioner rows_, others_;  // those that the tree is grown on, and those that only go its way
  HistogramPool& histograms_;
  std::deque<Expansion> expansions_;   // as many as have been side by side
  std::vector<PendingSplit> pending_;  // of every node
};

}  // namespace

bool GrowsLeafWise(const Growth<Code, Value>& growth, const NodeTable<Value>& table) {
  const Level<Code, Value>& level = growth.level;
  const Objective& objective = level.rules.objective;
  if (!objective.IsNewton() || !CellLayout::For(objective.num_outputs, objective.num_classes).is_possible()) return false;
  const bool are_rows = growth.leaf && !growth.entries.row && !growth.entries.root && table.num_nodes == 1;
  const bool is_binary = std::count(level.table.kind, level.table.kind + level.table.num_features, kMultiway) == 0;
  const bool has_few_rows = level.table.num_rows <= kMostRows || level.rules.is_best_first;
  return are_rows && is_binary && has_few_rows && level.table.num_bins <= kMostCodes && !level.rules.samples_thresholds;
}

bool GrowLeafWise(Threads& pool, const Growth<Code, Value>& growth, NodeRoom<Value>& result, Memory& memory) {
  return LeafWiseGrower(pool, growth, result, memory).Run();
}

}  // namespace jaxtree
