// Growth of trees, level by level, from the entries at the roots to the last split. In row order the sums of children often
// follow from the histogram of the split.

#ifndef JAXTREE_NATIVE_GROW_LEVEL_WISE_H_
#define JAXTREE_NATIVE_GROW_LEVEL_WISE_H_

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "common/memory.h"
#include "common/parallel.h"
#include "evaluate/level_finder.h"
#include "grow/driver.h"
#include "grow/growth.h"
#include "histogram/level_histograms.h"
#include "partition/entry_partitioner.h"
#include "tree/node_table.h"
#include "tree/node_updater.h"
#include "tree/scratch_tree.h"

namespace jaxtree {

// The most codes that are put side by side once more, and the rows of which they are together.
constexpr int64_t kMostCodesSideBySide = int64_t{1} << 28, kRowsTurnedTogether = 64;

template <typename Code, typename Value>
class LevelWiseGrower {
 public:
  LevelWiseGrower(Threads& pool, const Growth<Code, Value>& growth, NodeRoom<Value>& result, Memory& memory)
      : pool_(pool), level_(growth.level), most_slots_in_row_order_(growth.most_slots_in_row_order),
        finds_leaves_(growth.leaf != nullptr), result_(result), scratch_(result.table()),
        room_(level_.rules.is_best_first ? static_cast<NodeRoom<Value>&>(scratch_) : result), table_(room_.table()),
        nodes_(level_, growth.open, growth.root_seed, table_),
        driver_(GrowthOrder::kLevels, table_, level_.rules.MostLeaves()),
        rows_(pool, level_.table, level_.rules.split.shares_missing(), growth.entries, table_, nodes_, growth.leaf,
              growth.leaf != nullptr ? growth.leaf : memory.Take<int32_t>(growth.entries.size)),
        histograms_(memory) {
    if (PutsCodesSideBySide(growth.entries.size)) PutCodesSideBySide();
  }

  // Returns whether the table had room for all nodes; if not, it holds a smaller tree.
  bool Run() {
    GrowTrees(driver_, *this);
    std::vector<int32_t> place;
    if (level_.rules.is_best_first) {
      std::vector<int32_t> order(table_.num_nodes);
      std::iota(order.begin(), order.end(), 0);
      place = CopyNodes(table_, order, result_, is_complete_);
    }
    if (finds_leaves_) rows_.FindLeaves(frontier_, place);
    return is_complete_;
  }

  void OpenRoots() {
    rows_.CountRoots();
    OpenFrontier(0);
    rows_.GiveSlots(frontier_);
    if (!rows_.entries().are_in_row_order || !StaysInRowOrder()) rows_.SortBySlot(frontier_);
    FindSplits();
  }

  // Splits nodes of the level, sends their entries to the children, and finds the splits of these.
  bool Split(const std::vector<int32_t>& nodes) {
    const int32_t first = table_.num_nodes;
    RecordSplits(nodes);
    const bool knows_sums = rows_.is_in_row_order() && KnowsSums();
    knows_sums ? SumChildren() : rows_.CountChildren(frontier_, first);
    OpenFrontier(first);
    knows_sums ? FollowSplits() : rows_.MoveToChildren(frontier_);
    if (rows_.is_in_row_order() && !StaysInRowOrder()) rows_.SortBySlot(frontier_);
    if (is_complete_) FindSplits();
    return is_complete_;
  }

 private:
  // Whether vectors are added to the cells of codes, and there are at least as many entries as rows.
  bool PutsCodesSideBySide(int64_t num_entries) const {
    const Table<Code>& table = level_.table;
    const bool are_few = table.num_rows * table.num_features <= kMostCodesSideBySide;
    return are_few && num_entries >= table.num_rows && table.codes_of_rows == nullptr &&
           EntryVectors<Code, Value>::WidthFor(level_.rules) > 0;
  }

  void PutCodesSideBySide() {
    Table<Code>& table = level_.table;
    const int64_t num_features = table.num_features;
    codes_of_rows_.resize(table.num_rows * num_features);
    ForEachPart(pool_, NumParts(pool_, table.num_rows), table.num_rows, [&](int64_t, int64_t begin, int64_t end) {
      for (int64_t first = begin; first < end; first += kRowsTurnedTogether) {
        const int64_t last = std::min(first + kRowsTurnedTogether, end);
        for (int64_t feature = 0; feature < num_features; ++feature) {
          const Code* const column = table.ColumnOf(feature);
          for (int64_t row = first; row < last; ++row) codes_of_rows_[row * num_features + feature] = column[row];
        }
      }
    });
    table.codes_of_rows = codes_of_rows_.data();
  }

  // Opens the frontier of the nodes from `first` on.
  void OpenFrontier(int32_t first) {
    nodes_.HandDown(first);
    frontier_.parents.swap(frontier_.nodes);
    frontier_.nodes.clear();
    frontier_.slot_of_node.assign(table_.num_nodes - first, kNoSlot);
    frontier_.first_node = first;
    for (int32_t node = first; node < table_.num_nodes; ++node) {
      if (!nodes_.MaySplit(node)) continue;
      frontier_.slot_of_node[node - first] = frontier_.nodes.size();
      frontier_.nodes.push_back(node);
    }
    origins_.assign(frontier_.nodes.size(), Origin());
    if (first > 0 && rows_.is_in_row_order()) TraceOrigins();
  }

  // If two siblings may be split, the one of more weight is the difference of its parent and the other.
  void TraceOrigins() {
    for (const int32_t parent : split_slots_) {
      const int32_t node = table_.first_child[frontier_.parents[parent]];
      if (table_.num_children[frontier_.parents[parent]] != 2) continue;
      const int32_t left = frontier_.SlotOf(node), right = frontier_.SlotOf(node + 1);
      if (left == kNoSlot || right == kNoSlot) continue;
      const bool left_is_heavier = nodes_.WeightOf(node) > nodes_.WeightOf(node + 1);
      origins_[left_is_heavier ? left : right] = {parent, left_is_heavier ? right : left};
    }
  }

  bool StaysInRowOrder() const {
    return frontier_.nodes.empty() || static_cast<int64_t>(frontier_.nodes.size()) <= most_slots_in_row_order_;
  }

  void FindSplits() {
    if (frontier_.nodes.empty()) return;
    rows_.Show(level_);
    level_.node = frontier_.nodes.data();
    level_.num_slots = frontier_.nodes.size();
    nodes_.Show(table_.depth[frontier_.nodes[0]], level_);
    splits_.assign(frontier_.nodes.size(), jaxtree::Split());
    if (rows_.is_in_row_order()) histograms_.FindSplits(pool_, level_, origins_, splits_);
    else SplitSlots(pool_, level_, splits_);
    for (size_t slot = 0; slot < splits_.size(); ++slot) {
      const int32_t node = frontier_.nodes[slot];
      const jaxtree::Split& split = splits_[slot];
      if (!nodes_.IsAllowed(node, split.gain)) continue;
      driver_.Push(node, nodes_.BranchesOf(split.feature), nodes_.SavedBy(node, split.gain));
    }
  }

  // Stores splits, and appends the children in the order of their parents. Nodes whose children do not fit into the table
  // become leaves.
  void RecordSplits(const std::vector<int32_t>& nodes) {
    split_slots_.clear();
    for (const int32_t node : nodes) {
      const int32_t slot = frontier_.SlotOf(node);
      const int64_t num_nodes = table_.num_nodes + nodes_.BranchesOf(splits_[slot].feature);
      if (!room_.MakeRoomFor(num_nodes)) {
        is_complete_ = false;
        return;
      }
      nodes_.Record(node, splits_[slot]);
      split_slots_.push_back(slot);
    }
  }

  // Whether the sums of a histogram are those of a node, so that they need not be counted.
  bool KnowsSums() const {
    const auto &of_splits = level_.rules.additions, &of_nodes = rows_.entries().additions;
    const Objective& objective = level_.rules.objective;
    return !table_.Compares() && table_.num_channels + objective.counts_rows == objective.num_channels &&
           of_splits.size() == of_nodes.size() + objective.counts_rows &&
           std::equal(of_nodes.begin(), of_nodes.end(), of_splits.begin());
  }

  // The sums of the children of the level, from the histograms of the splits; the rows, too, where these are counted.
  void SumChildren() {
    for (const int32_t slot : split_slots_) {
      const int32_t node = frontier_.nodes[slot];
      histograms_.ForCodesOf(level_, slot, table_.feature[node], [&](int32_t code, const Value* sums) {
        const int32_t child = table_.first_child[node] + table_.BranchOf(node, code);
        Value* const to = table_.sums + child * table_.num_channels;
        for (int64_t c = 0; c < table_.num_channels; ++c) to[c] += sums[c];
        if (level_.rules.objective.counts_rows) table_.num_rows[child] += sums[table_.num_channels];
      });
    }
  }

  // Sends the entries to the children, and selects those that the next level sums.
  void FollowSplits() {
    const bool selects = !frontier_.nodes.empty() && StaysInRowOrder();
    rows_.FollowSplits(frontier_, table_, [&](const auto& follow) {
      if (selects) return histograms_.SelectSome(pool_, level_, origins_, follow);
      const int64_t size = rows_.entries().size;
      ForEachPart(pool_, NumParts(pool_, size), size, [&](int64_t part, int64_t begin, int64_t end) {
        for (int64_t entry = begin; entry < end; ++entry) follow(part, entry);
      });
    });
  }

  Threads& pool_;
  Level<Code, Value> level_;
  const int64_t most_slots_in_row_order_;
  const bool finds_leaves_;
  NodeRoom<Value>& result_;
  ScratchTree<Value> scratch_;  // of the nodes of trees that grow best-first
  NodeRoom<Value>& room_;       // the result, or that
  NodeTable<Value>& table_;
  NodeUpdater<Code, Value> nodes_;
  Driver<Value> driver_;
  EntryPartitioner<Code, Value> rows_;
  LevelHistograms<Code, Value> histograms_;

  bool is_complete_ = true;
  std::vector<Code> codes_of_rows_;
  Frontier frontier_;
  std::vector<jaxtree::Split> splits_;  // of every slot
  std::vector<int32_t> split_slots_;    // those that were split
  std::vector<Origin> origins_;         // of every slot, while entries are in row order
};

}  // namespace jaxtree

#endif  // JAXTREE_NATIVE_GROW_LEVEL_WISE_H_
