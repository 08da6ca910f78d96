// Growth of one tree node by node, best-first where leaves are limited.
//
// The rows of a node lie side by side, as numbers of rows. Of two children the one of fewer rows is summed, and the other
// is the difference from their parent. No node is looked at that the tree does not ask for.

#include "grow/leaf_wise.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "common/parallel.h"
#include "evaluate/histogram_finder.h"
#include "grow/best_first.h"
#include "histogram/node_histograms.h"
#include "tree/node_updater.h"

namespace jaxtree {
namespace {

using Code = HistogramSplitFinder::Code;
using Value = HistogramSplitFinder::Value;

// A table has room for the nodes of so many leaves at once.
constexpr int32_t kUsualLeaves = 1 << 8;
constexpr int32_t kNoLimit = std::numeric_limits<int32_t>::max();
// With fewer rows to move, another thread costs more to wake than it saves.
constexpr int64_t kLeastMovedByThreads = 1 << 16;
// More rows are read in their order, unless few of the nodes of a level are split.
constexpr int64_t kMostRows = 1 << 19;

// Rows of a node: those that it is grown on, and those that only go its way.
struct Rows {
  Range used, others;
};

// A split that waits to be made.
struct PendingSplit {
  Split split;
  std::vector<int32_t> left;         // a cell with the sums of branch 0
  int32_t histogram = kNoHistogram;  // of the node
  double saved = 0;
};

struct Workspace {
  FinderMemory of_finder;
  std::vector<int32_t> used, others, moved;  // rows
};

Workspace& WorkspaceOfThread() {
  static thread_local Workspace workspace;
  return workspace;
}

class LeafWiseGrower {
 public:
  LeafWiseGrower(Threads& pool, const RowGrowth& growth, NodeTable<Value>& result)
      : pool_(pool), level_(growth.level), entries_(growth.entries), leaf_(growth.leaf), result_(result), room_(result),
        table_(room_.table()), nodes_(level_, growth.limits, growth.open, growth.root_seed, table_),
        space_(WorkspaceOfThread()), finder_(pool, level_, space_.of_finder), histograms_(space_.of_finder.histograms),
        most_leaves_(growth.limits.max_leaf_nodes ? std::max(growth.limits.max_leaf_nodes[0], 1) : kNoLimit) {
    const int64_t most_nodes = most_leaves_ < kUsualLeaves ? 2 * most_leaves_ - 1 : 1;
    room_.MakeRoomFor(most_nodes);
    rows_.reserve(most_nodes);
    found_.reserve(most_nodes);
    // A search is asked for the only slot, by histograms.
    level_.slot = leaf_;
    level_.node = &node_;
  }

  bool Run() {
    OpenRoot();
    while (!waiting_.empty() && num_leaves_ < most_leaves_) Split(Next());
    bool is_complete = true;
    const std::vector<int32_t> place = CopyNodes(table_, LevelOrder(), result_, is_complete);
    ForEachIf(entries_.size >= kLeastMovedByThreads, pool_, table_.num_nodes, [&](int64_t node) {
      if (table_.num_children[node] > 0) return;
      const auto [used, others] = rows_[node];
      for (int64_t at = used.begin; at < used.end; ++at) leaf_[space_.used[at]] = place[node];
      for (int64_t at = others.begin; at < others.end; ++at) leaf_[space_.others[at]] = place[node];
    });
    return is_complete;
  }

 private:
  void OpenRoot() {
    const int64_t num_rows = entries_.size;
    for (auto* rows : {&space_.used, &space_.others, &space_.moved}) rows->resize(num_rows);
    finder_.ReadRows(entries_.value, num_rows);
    int64_t num_used = 0, num_others = 0;
    for (int64_t row = 0; row < num_rows; ++row) {
      const bool is_used = entries_.value[row] > 0;
      space_.used[num_used] = space_.others[num_others] = row;
      num_used += is_used;
      num_others += !is_used;
    }
    for (int64_t channel = 0; channel < table_.num_channels; ++channel) {
      const Value* const values = entries_.value + channel * num_rows;
      Value sum = 0;
      for (int64_t row = 0; row < num_rows; ++row) sum += values[row];
      table_.sums[channel] = sum;
    }
    table_.num_rows[0] = num_used;
    rows_.assign(1, {{0, num_used}, {0, num_others}});
    found_.resize(1);
    nodes_.HandDown(0);
    if (!nodes_.MaySplit(0) || most_leaves_ < 2) return;
    NodeHistogram& root = space_.of_finder.of_node[0];
    Open(0, histograms_.Acquire(), root);
    Fill(root, true, nullptr);
    Choose(root);
  }

  // Whether a node comes before another in the order of levels, in which `BestFirst` numbers them.
  bool ComesBefore(int32_t a, int32_t b) const {
    if (table_.depth[a] != table_.depth[b]) return table_.depth[a] < table_.depth[b];
    while (table_.parent[a] != table_.parent[b]) a = table_.parent[a], b = table_.parent[b];
    return a < b;
  }

  bool SavesLess(int32_t a, int32_t b) const {
    if (found_[a].saved != found_[b].saved) return found_[a].saved < found_[b].saved;
    return ComesBefore(b, a);
  }

  void Wait(int32_t node) {
    waiting_.push_back(node);
    if (most_leaves_ == kNoLimit) return;
    std::push_heap(waiting_.begin(), waiting_.end(), [this](int32_t a, int32_t b) { return SavesLess(a, b); });
  }

  // Takes out of those that wait the split that saves most, of equal ones that of the first node. Where all are made, it is
  // the last one, whose histogram is in a near cache.
  int32_t Next() {
    if (most_leaves_ != kNoLimit) {
      std::pop_heap(waiting_.begin(), waiting_.end(), [this](int32_t a, int32_t b) { return SavesLess(a, b); });
    }
    const int32_t node = waiting_.back();
    waiting_.pop_back();
    return node;
  }

  // Makes the split that a node has waited for, and looks for those of the children.
  void Split(int32_t node) {
    room_.MakeRoomFor(table_.num_nodes + 2);
    nodes_.Record(node, found_[node].split);
    ++num_leaves_;
    rows_.resize(table_.num_nodes);
    found_.resize(table_.num_nodes);
    PutSums(node);
    nodes_.HandDown(table_.first_child[node]);
    Divide(node);
    if (num_leaves_ < most_leaves_) LookAtChildren(node);
  }

  void PutSums(int32_t node) {
    const int32_t left = table_.first_child[node], right = left + 1;
    const CellLayout& layout = finder_.layout();
    const std::vector<int32_t>& of_left = found_[node].left;
    for (int64_t channel = 0; channel < table_.num_channels; ++channel) {
      const Value whole = table_.sums[node * table_.num_channels + channel], own = of_left[layout.lane[channel]];
      table_.sums[left * table_.num_channels + channel] = own;
      table_.sums[right * table_.num_channels + channel] = whole - own;
    }
    table_.num_rows[left] = of_left[layout.of_rows];
    table_.num_rows[right] = table_.num_rows[node] - table_.num_rows[left];
  }

  void LookAtChildren(int32_t node) {
    const int32_t left = table_.first_child[node], right = left + 1;
    const bool left_is_smaller = rows_[left].used.size() <= rows_[right].used.size();
    const int32_t smaller = left_is_smaller ? left : right, larger = left_is_smaller ? right : left;
    const bool looks_at_smaller = nodes_.MaySplit(smaller), looks_at_larger = nodes_.MaySplit(larger);
    const int32_t whole = std::exchange(found_[node].histogram, kNoHistogram);
    const bool subtracts = looks_at_larger && whole != kNoHistogram;
    if (whole != kNoHistogram && !subtracts) histograms_.Release(whole);
    NodeHistogram &of_smaller = space_.of_finder.of_node[0], &of_larger = space_.of_finder.of_node[1];
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
    const Range range = rows_[filled.node].used;
    const int32_t* const rows = range.size() == entries_.size ? nullptr : space_.used.data() + range.begin;
    finder_.Fill(rows, range.size(), filled, is_looked_at, sibling);
  }

  // Finds the split of a node, which waits from here on if it is allowed.
  void Choose(NodeHistogram& of_node) {
    node_ = of_node.node;
    PendingSplit found{finder_.Best(of_node, 0), {}, of_node.histogram, 0};
    if (!nodes_.IsAllowed(node_, found.split.gain)) return histograms_.Release(of_node.histogram);
    found.left = finder_.SumsOfLeft(found.split, of_node);
    found.saved = nodes_.SavedBy(node_, found.split.gain);
    if (histograms_.IsFull()) histograms_.Release(std::exchange(found.histogram, kNoHistogram));
    found_[node_] = std::move(found);
    Wait(node_);
  }

  // Divides the rows of a node among its children.
  void Divide(int32_t node) {
    const jaxtree::Split& split = found_[node].split;
    const int32_t left = table_.first_child[node];
    const Code* const codes = level_.table.ColumnOf(split.feature);
    const auto [used, others] = rows_[node];
    const int64_t middle = DivideRows(space_.used, used, codes, finder_.BranchesOf(split, split.missing_branch));
    const bool is_resolved = split.missing_branch != kUnresolved;
    const int32_t missing_branch = is_resolved ? split.missing_branch : nodes_.HeaviestBranch(node);
    const int64_t other_middle = DivideRows(space_.others, others, codes, finder_.BranchesOf(split, missing_branch));
    rows_[left] = {{used.begin, middle}, {others.begin, other_middle}};
    rows_[left + 1] = {{middle, used.end}, {other_middle, others.end}};
  }

  // Moves rows of branch 0 to the front, and returns where the others begin. Every part of the rows is divided by itself.
  int64_t DivideRows(std::vector<int32_t>& rows, Range range, const Code* codes, const HistogramSplitFinder::BranchOfCode& branch) {
    int32_t *const own = rows.data() + range.begin, *const moved = space_.moved.data();
    const int64_t num_parts = range.size() < kLeastMovedByThreads ? 1 : NumParts(pool_, range.size());
    std::vector<Range> first(num_parts), second(num_parts);
    ForEachPart(pool_, num_parts, range.size(), [&](int64_t part, int64_t begin, int64_t end) {
      int64_t to_first = begin, to_second = begin;
      for (int64_t at = begin; at < end; ++at) {
        const int32_t row = own[at];
        const int64_t is_moved = branch[codes[row]];
        own[to_first] = moved[to_second] = row;
        to_first += 1 - is_moved;
        to_second += is_moved;
      }
      first[part] = {begin, to_first};
      second[part] = {begin, to_second};
    });
    int64_t to = 0;
    for (const Range part : first) {
      if (part.begin > to) std::copy(own + part.begin, own + part.end, own + to);
      to += part.size();
    }
    const int64_t middle = range.begin + to;
    for (const Range part : second) {
      std::copy(moved + part.begin, moved + part.end, own + to);
      to += part.size();
    }
    return middle;
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

  Threads& pool_;
  Level<Code, Value> level_;
  const Entries<Value>& entries_;
  int32_t* const leaf_;
  NodeTable<Value>& result_;
  ScratchTree<Value> room_;
  NodeTable<Value>& table_;  // the nodes in the order in which they are made
  NodeUpdater<Code, Value> nodes_;
  Workspace& space_;
  HistogramSplitFinder finder_;
  HistogramPool& histograms_;
  const int32_t most_leaves_;

  int32_t num_leaves_ = 1;
  std::vector<Rows> rows_;        // of every node
  std::vector<PendingSplit> found_;      // of every node
  std::vector<int32_t> waiting_;  // nodes whose splits wait, as a heap
  int32_t node_ = 0;              // whose split is chosen
};

}  // namespace

bool GrowsLeafWise(const RowGrowth& growth, const NodeTable<Value>& table) {
  const Level<Code, Value>& level = growth.level;
  const Objective& objective = level.rules.objective;
  if (!objective.IsNewton() || !CellLayout::For(objective.num_outputs, objective.num_classes).is_possible()) return false;
  const bool are_rows = growth.leaf && !growth.entries.row && !growth.entries.root && table.num_nodes == 1;
  const bool is_binary = std::count(level.table.kind, level.table.kind + level.table.num_features, kMultiway) == 0;
  const bool has_few_rows = level.table.num_rows <= kMostRows || growth.limits.max_leaf_nodes != nullptr;
  return are_rows && is_binary && has_few_rows && level.table.num_bins <= kMostCodes && !level.rules.samples_thresholds;
}

bool GrowLeafWise(Threads& pool, const RowGrowth& growth, NodeTable<Value>& table) {
  return LeafWiseGrower(pool, growth, table).Run();
}

}  // namespace jaxtree
