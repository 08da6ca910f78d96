// Growth of one tree node by node, best-first where leaves are limited.
// The rows of a node lie side by side, as numbers of rows. The child of fewer rows is summed, and the other is the difference
// from their parent. No node is looked at that the tree does not ask for.

#include "grow/leaf_wise.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

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
constexpr int64_t kMostRows = 1 << 19;

// A split that waits to be made.
struct PendingSplit {
  Split split;
  std::vector<int32_t> left;         // a cell with the sums of branch 0
  int32_t histogram = kNoHistogram;  // of the node
};

struct Workspace {
  FinderMemory of_finder;
  RowMemory used, others;
};

Workspace& WorkspaceOfThread() {
  static thread_local Workspace workspace;
  return workspace;
}

class LeafWiseGrower {
 public:
  LeafWiseGrower(Threads& pool, const Growth<Code, Value>& growth, NodeRoom<Value>& result)
      : pool_(pool), level_(growth.level), entries_(growth.entries), leaf_(growth.leaf), result_(result),
        room_(result.table()), table_(room_.table()), nodes_(level_, growth.open, growth.root_seed, table_),
        driver_(GrowthOrder::kNodes, table_, level_.rules.MostLeaves()), space_(WorkspaceOfThread()),
        rows_(pool, space_.used), others_(pool, space_.others), finder_(pool, level_, space_.of_finder), histograms_(space_.of_finder.histograms) {
    const int32_t* const limit = level_.rules.MostLeaves();
    const int32_t most_leaves = limit != nullptr ? std::max(limit[0], 1) : kUsualLeaves;
    const int64_t most_nodes = most_leaves < kUsualLeaves ? 2 * most_leaves - 1 : 1;
    room_.MakeRoomFor(most_nodes);
    pending_.reserve(most_nodes);
    // A search is asked for the only slot, by histograms.
    level_.slot = leaf_;
    level_.node = &node_;
  }

  bool Run() {
    GrowTrees(driver_, *this);
    bool is_complete = true;
    FindLeaves(CopyNodes(table_, LevelOrder(), result_, is_complete));
    return is_complete;
  }

  void OpenRoots() {
    const int64_t num_rows = entries_.size;
    finder_.ReadRows(entries_.value, num_rows);
    for (int64_t channel = 0; channel < table_.num_channels; ++channel) {
      table_.sums[channel] = SumOf(pool_, entries_.value + channel * num_rows, num_rows);
    }
    table_.num_rows[0] = rows_.Open(entries_.value, num_rows, true);
    if (table_.num_rows[0] < num_rows) others_.Open(entries_.value, num_rows, false);
    pending_.resize(1);
    nodes_.HandDown(0);
    if (!nodes_.MaySplit(0) || !driver_.HasLeavesLeft()) return;
    NodeHistogram& root = space_.of_finder.nodes[0];
    Open(0, histograms_.Acquire(), root);
    Fill(root, true, nullptr);
    Choose(root);
  }

  // Makes the split that a node has waited for, and looks for those of the children.
  bool Split(const std::vector<int32_t>& nodes) {
    const int32_t node = nodes[0];
    room_.MakeRoomFor(table_.num_nodes + 2);
    nodes_.Record(node, pending_[node].split);
    pending_.resize(table_.num_nodes);
    PutSums(node);
    nodes_.HandDown(table_.first_child[node]);
    Divide(node);
    if (driver_.HasLeavesLeft()) LookAtChildren(node);
    return true;
  }

 private:
  void PutSums(int32_t node) {
    const int32_t left = table_.first_child[node], right = left + 1;
    const CellLayout& layout = finder_.layout();
    const std::vector<int32_t>& of_left = pending_[node].left;
    for (int64_t channel = 0; channel < table_.num_channels; ++channel) {
      const Value whole = table_.sums[node * table_.num_channels + channel], own = of_left[layout.lane[channel]];
      table_.sums[left * table_.num_channels + channel] = own;
      table_.sums[right * table_.num_channels + channel] = whole - own;
    }
    table_.num_rows[left] = of_left[layout.of_rows];
    table_.num_rows[right] = table_.num_rows[node] - table_.num_rows[left];
  }

  // Divides the rows of a node, and those that only go its way, among its children.
  void Divide(int32_t node) {
    const jaxtree::Split& split = pending_[node].split;
    const int32_t left = table_.first_child[node];
    const Code* const codes = level_.table.ColumnOf(split.feature);
    rows_.Divide(node, left, codes, finder_.BranchesOf(split, split.missing_branch));
    if (rows_.SizeOf(0) == entries_.size) return;
    const bool is_resolved = split.missing_branch != kUnresolved;
    const int32_t missing_branch = is_resolved ? split.missing_branch : nodes_.HeaviestBranch(node);
    others_.Divide(node, left, codes, finder_.BranchesOf(split, missing_branch));
  }

  void LookAtChildren(int32_t node) {
    const int32_t left = table_.first_child[node], right = left + 1;
    const bool left_is_smaller = rows_.SizeOf(left) <= rows_.SizeOf(right);
    const int32_t smaller = left_is_smaller ? left : right, larger = left_is_smaller ? right : left;
    const bool looks_at_smaller = nodes_.MaySplit(smaller), looks_at_larger = nodes_.MaySplit(larger);
    const int32_t whole = std::exchange(pending_[node].histogram, kNoHistogram);
    const bool subtracts = looks_at_larger && whole != kNoHistogram;
    if (whole != kNoHistogram && !subtracts) histograms_.Release(whole);
    NodeHistogram &of_smaller = space_.of_finder.nodes[0], &of_larger = space_.of_finder.nodes[1];
    if (looks_at_larger) Open(larger, subtracts ? whole : histograms_.Acquire(), of_larger);
    if (looks_at_smaller || subtracts) {
      Open(smaller, histograms_.Acquire(), of_smaller);
      Fill(of_smaller, looks_at_smaller, subtracts ? &of_larger : nullptr);
      looks_at_smaller ? Choose(of_smaller) : histograms_.Release(of_smaller.histogram);
    }
    if (looks_at_larger && !subtracts) Fill(of_larger, true, nullptr);
    if (looks_at_larger) Choose(of_larger);
  }

  void Open(int32_t node, int32_t histogram, NodeHistogram& of_node) {
    nodes_.Show(table_.depth[node], level_);
    finder_.Open(node, histogram, of_node);
  }

  void Fill(NodeHistogram& filled, bool is_looked_at, NodeHistogram* sibling) {
    const int64_t size = rows_.SizeOf(filled.node);
    finder_.Fill(size == entries_.size ? nullptr : rows_.RowsOf(filled.node), size, filled, is_looked_at, sibling);
  }

  // Finds the split of a node, which waits from here on if it is allowed.
  void Choose(NodeHistogram& of_node) {
    node_ = of_node.node;
    PendingSplit pending{finder_.Best(of_node, 0), {}, of_node.histogram};
    const double gain = pending.split.gain;
    if (!nodes_.IsAllowed(node_, gain)) return histograms_.Release(of_node.histogram);
    pending.left = finder_.SumsOfLeft(pending.split, of_node);
    if (histograms_.IsFull()) histograms_.Release(std::exchange(pending.histogram, kNoHistogram));
    pending_[node_] = std::move(pending);
    driver_.Push(node_, 2, nodes_.SavedBy(node_, gain));
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
  void FindLeaves(const std::vector<int32_t>& place) const {
    FindLeaves(rows_, place);
    if (rows_.SizeOf(0) < entries_.size) FindLeaves(others_, place);
  }

  void FindLeaves(const RowPartitioner& partitioner, const std::vector<int32_t>& place) const {
    ForEachIf(entries_.size >= kLeastMovedByThreads, pool_, table_.num_nodes, [&](int64_t node) {
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
  NodeTable<Value>& table_;  // the nodes in the order in which they are made
  NodeUpdater<Code, Value> nodes_;
  Driver<Value> driver_;
  Workspace& space_;
  RowPartitioner rows_, others_;       // those that the tree is grown on, and those that only go its way
  HistogramSplitFinder finder_;
  HistogramPool& histograms_;

  std::vector<PendingSplit> pending_;  // of every node
  int32_t node_ = 0;                   // whose split is chosen
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

bool GrowLeafWise(Threads& pool, const Growth<Code, Value>& growth, NodeRoom<Value>& result) {
  return LeafWiseGrower(pool, growth, result).Run();
}

}  // namespace jaxtree
