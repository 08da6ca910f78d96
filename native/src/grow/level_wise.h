// Growth of trees, level by level, from the entries at the roots to the last split.
//
// An entry is a row with a weight on its way down a tree. While levels have few nodes, entries stay in the order of the
// rows, and each knows the slot of its node. Later they are sorted: the entries of a node that may be split lie side by
// side, and those of leaves are dropped. In row order the sums of children often follow from the histogram of the split. Where
// rows are shared among branches, entries are sorted from the start, and one that is sent to several children becomes more.

#ifndef JAXTREE_NATIVE_GROW_LEVEL_WISE_H_
#define JAXTREE_NATIVE_GROW_LEVEL_WISE_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <mutex>
#include <numeric>
#include <utility>
#include <vector>

#include "common/memory.h"
#include "common/parallel.h"
#include "evaluate/level_finder.h"
#include "evaluate/split_finder.h"
#include "grow/best_first.h"
#include "histogram/level_histograms.h"
#include "partition/entries.h"
#include "partition/shared_rows.h"
#include "tree/node_table.h"
#include "tree/node_updater.h"
#include "xla/ffi/api/ffi.h"

namespace jaxtree {

constexpr int32_t kNoSlot = -1;
// In place of a slot: the entry is in no tree.
constexpr int32_t kNowhere = std::numeric_limits<int32_t>::min();
// Fewer entries are not worth another thread.
constexpr int64_t kEntriesPerPart = 1 << 14;
// Threads count apart, and add up afterwards, where there are this many times as many entries as cells.
constexpr int64_t kEntriesPerCell = 16;

template <typename Code, typename Value>
class LevelWiseGrower {
 public:
  // Of `level` the table and the rules are set. `leaf` has a place for the node where each row ends, or is null.
  LevelWiseGrower(Threads& pool, const Level<Code, Value>& level, const Limits<Value>& limits, const OpenRules& open,
         const Entries<Value>& entries, const uint32_t* root_seed, int64_t most_slots_in_row_order,
         NodeTable<Value>& table, int32_t* leaf, Memory& memory)
      : pool_(pool), level_(level), limits_(limits), entries_(entries), most_slots_in_row_order_(most_slots_in_row_order),
        result_(table), room_(table), table_(limits.max_leaf_nodes ? room_.table() : table),
        nodes_(level_, limits, open, root_seed, table_), histograms_(memory), best_first_(limits.max_leaf_nodes), leaf_(leaf),
        slot_(leaf != nullptr ? leaf : memory.Take<int32_t>(entries.size)) {}

  // Returns whether the table had room for all nodes; if not, it holds a smaller tree.
  bool Run() {
    OpenRoots();
    while (!frontier_.empty() && is_complete_) {
      FindSplits();
      if (limits_.max_leaf_nodes != nullptr) DropSplits();
      const int32_t first = table_.num_nodes;
      RecordSplits();
      is_in_row_order_ ? SendInRowOrder(first) : SendSorted(first);
    }
    if (limits_.max_leaf_nodes != nullptr) {
      std::vector<int32_t> order(table_.num_nodes);
      std::iota(order.begin(), order.end(), 0);
      place_ = CopyNodes(table_, order, result_, is_complete_);
    }
    if (leaf_ != nullptr) FindLeaves();
    return is_complete_;
  }

 private:
  // Some entries of one node, which one thread sends to the children.
  struct Piece {
    int32_t node;
    bool is_whole;  // whether they are all entries of the node
    int64_t begin, end;
    int64_t first;  // of its branches in `next_`
    bool has_shared = false;  // entries that go to every branch
  };

  void Add(int64_t entry, int64_t node, const NodeSums<Value>& to) const {
    entries_.Add(entry, node, table_.num_channels, to);
  }

  // Adds every entry to its node, the nodes being those from `first` on; `node_of` returns -1 for entries that have none.
  template <typename NodeOf>
  void CountEntries(int32_t first, int64_t num_nodes, const NodeOf& node_of) {
    const auto count = [&](int64_t begin, int64_t end, const NodeSums<Value>& to) {
      for (int64_t entry = begin; entry < end; ++entry) {
        const int32_t node = node_of(entry);
        if (node >= 0) Add(entry, node - first, to);
      }
    };
    const int64_t num_parts = std::min(pool_.num_threads(), entries_.size / kEntriesPerPart);
    if (num_parts < 2 || num_nodes * (table_.num_channels + 1) * kEntriesPerCell * num_parts > entries_.size) {
      return count(0, entries_.size, table_.SumsFrom(first));
    }
    std::vector<OwnedNodeSums<Value>> own(num_parts, table_.BlankSums(num_nodes));
    ForEach(pool_, num_parts, [&](int64_t part) {
      count(entries_.size * part / num_parts, entries_.size * (part + 1) / num_parts, own[part].View());
    });
    for (OwnedNodeSums<Value>& part : own) table_.AddSums(part.View(), first, num_nodes);
  }

  void OpenRoots() {
    const int32_t num_roots = table_.num_nodes;
    CountEntries(0, num_roots, [&](int64_t entry) {
      const int32_t root = entries_.RootOf(entry);
      return slot_[entry] = entries_.value[entry] > 0 && root >= 0 && root < num_roots ? root : kNowhere;
    });
    OpenFrontier(0);
    GiveSlots(0);
    is_in_row_order_ = entries_.are_in_row_order;
    if (!is_in_row_order_ || !StaysInRowOrder()) SortBySlot();
  }

  // Opens the frontier of the nodes from `first` on.
  void OpenFrontier(int32_t first) {
    nodes_.HandDown(first);
    parents_.swap(frontier_);
    frontier_.clear();
    origins_.clear();
    slot_of_node_.assign(table_.num_nodes - first, kNoSlot);
    for (int32_t node = first; node < table_.num_nodes; ++node) {
      if (!nodes_.MaySplit(node)) continue;
      slot_of_node_[node - first] = frontier_.size();
      frontier_.push_back(node);
      origins_.emplace_back();
    }
    if (is_in_row_order_) TraceOrigins(first);
  }

  // Gives every slot the places of its entries when they are sorted.
  void PlaceSlots() {
    start_.clear();
    stop_.clear();
    int64_t before = 0;
    for (const int32_t node : frontier_) {
      start_.push_back(before);
      stop_.push_back(before += table_.num_rows[node]);
    }
  }

  // Of two siblings that may be split the one of more weight is the difference of its parent and the other.
  void TraceOrigins(int32_t first) {
    for (const int32_t parent : split_slots_) {
      const int32_t node = table_.first_child[parents_[parent]];
      if (table_.num_children[parents_[parent]] != 2) continue;
      const int32_t left = slot_of_node_[node - first], right = slot_of_node_[node + 1 - first];
      if (left == kNoSlot || right == kNoSlot) continue;
      const bool left_is_heavier = nodes_.WeightOf(node) > nodes_.WeightOf(node + 1);
      origins_[left_is_heavier ? left : right] = {parent, left_is_heavier ? right : left};
    }
  }

  void FindSplits() {
    level_.row = entries_.row;
    level_.label = entries_.label;
    level_.value = entries_.value;
    level_.num_entries = entries_.size;
    level_.slot = is_in_row_order_ ? slot_ : nullptr;
    level_.node = frontier_.data();
    level_.start = start_.data();
    level_.stop = stop_.data();
    level_.num_slots = frontier_.size();
    nodes_.Show(table_.depth[frontier_[0]], level_);
    splits_.assign(frontier_.size(), Split());
    if (is_in_row_order_) return histograms_.FindSplits(pool_, level_, origins_, splits_);
    SplitSlots(pool_, level_, splits_);
  }

  // Drops the splits that best-first growth does not reach, of this level and of those above.
  void DropSplits() {
    int64_t num_children = 0;
    for (size_t slot = 0; slot < frontier_.size(); ++slot) {
      const int32_t node = frontier_[slot], num_branches = nodes_.BranchesOf(splits_[slot].feature);
      if (!nodes_.IsAllowed(node, splits_[slot].gain)) continue;
      best_first_.Offer(node, num_branches, nodes_.SavedBy(node, splits_[slot].gain));
    }
    best_first_.Choose(table_, result_.num_nodes);
    for (size_t slot = 0; slot < frontier_.size(); ++slot) {
      if (!best_first_.IsMade(frontier_[slot])) splits_[slot].gain = -kInfinity;
      else num_children += nodes_.BranchesOf(splits_[slot].feature);
    }
    room_.MakeRoomFor(table_.num_nodes + num_children);
  }

  // Stores the splits that the limits allow, and appends the children in the order of their parents. Nodes whose children
  // do not fit into the table become leaves.
  void RecordSplits() {
    split_slots_.clear();
    for (size_t slot = 0; slot < frontier_.size(); ++slot) {
      const Split& split = splits_[slot];
      const int32_t node = frontier_[slot];
      if (!nodes_.IsAllowed(node, split.gain)) continue;
      if (table_.num_nodes + nodes_.BranchesOf(split.feature) > table_.capacity) {
        is_complete_ = false;
        return;
      }
      nodes_.Record(node, split);
      split_slots_.push_back(slot);
    }
  }

  int32_t BranchOf(int64_t entry, int32_t node) const {
    return table_.BranchOf(node, level_.table.ColumnOf(table_.feature[node])[entries_.RowOf(entry)]);
  }

  // Sends every entry to its child. A slot in `slot_` is turned into the child's, or into ~node where there is none.
  void SendInRowOrder(int32_t first) {
    if (KnowsSums()) {
      SumChildren(first);
      OpenFrontier(first);
      FollowSplits(first);
    } else {
      CountEntries(first, table_.num_nodes - first, [&](int64_t entry) {
        if (slot_[entry] < 0) return kNoSlot;
        const int32_t node = frontier_[slot_[entry]];
        const bool is_split = table_.num_children[node] > 0;
        slot_[entry] = is_split ? table_.first_child[node] + BranchOf(entry, node) : ~node;
        return is_split ? slot_[entry] : kNoSlot;
      });
      OpenFrontier(first);
      GiveSlots(first);
    }
    if (!StaysInRowOrder()) SortBySlot();
  }

  bool StaysInRowOrder() const {
    return frontier_.empty() || static_cast<int64_t>(frontier_.size()) <= most_slots_in_row_order_;
  }

  // Whether the sums of a histogram are those of a node, so that they need not be counted.
  bool KnowsSums() const {
    const auto &of_splits = level_.rules.additions, &of_nodes = entries_.additions;
    return !table_.Compares() && table_.num_channels + level_.rules.objective.counts_rows == level_.rules.objective.num_channels &&
           of_splits.size() == of_nodes.size() + level_.rules.objective.counts_rows &&
           std::equal(of_nodes.begin(), of_nodes.end(), of_splits.begin());
  }

  // The sums of the children of the level, from the histograms of the splits; the rows, too, where these are counted.
  void SumChildren(int32_t first) {
    for (const int32_t slot : split_slots_) {
      const int32_t node = frontier_[slot];
      histograms_.ForCodesOf(level_, slot, table_.feature[node], [&](int32_t code, const Value* sums) {
        const int32_t child = table_.first_child[node] + table_.BranchOf(node, code);
        Value* const to = table_.sums + child * table_.num_channels;
        for (int64_t c = 0; c < table_.num_channels; ++c) to[c] += sums[c];
        if (level_.rules.objective.counts_rows) table_.num_rows[child] += sums[table_.num_channels];
      });
    }
  }

  // Where the entries of the slots of a level go, by their codes.
  struct Routing {
    std::vector<const Code*> column;   // of every slot
    std::vector<int32_t> end_of_code;  // of every slot and code: the child after `first`; behind all, a slot not split
    std::vector<int32_t> next;         // of every end: its slot, or ~node
  };

  Routing RoutingFrom(int32_t first) const {
    const int64_t num_children = table_.num_nodes - first;
    Routing routing{{}, std::vector<int32_t>(parents_.size() * level_.table.num_bins), std::vector<int32_t>(num_children)};
    for (int32_t child = 0; child < num_children; ++child) {
      routing.next[child] = slot_of_node_[child] == kNoSlot ? ~(first + child) : slot_of_node_[child];
    }
    for (size_t slot = 0; slot < parents_.size(); ++slot) {
      const int32_t node = parents_[slot];
      const bool is_split = table_.num_children[node] > 0;
      routing.column.push_back(level_.table.ColumnOf(table_.feature[node]));
      for (int32_t code = 0; code < level_.table.num_bins; ++code) {
        routing.end_of_code[slot * level_.table.num_bins + code] =
            is_split ? table_.first_child[node] + table_.BranchOf(node, code) - first : routing.next.size();
      }
      if (!is_split) routing.next.push_back(~node);
    }
    return routing;
  }

  // Sends the entries, counts those of every child, and selects those that the next level sums.
  void FollowSplits(int32_t first) {
    const Routing routing = RoutingFrom(first);
    const int64_t num_parts = NumParts(pool_, entries_.size);
    std::vector<std::vector<int32_t>> count(num_parts, std::vector<int32_t>(routing.next.size()));
    const auto follow = [&](int64_t part, int64_t entry) {
      const int32_t slot = slot_[entry];
      if (slot < 0) return slot;
      const int32_t end = routing.end_of_code[slot * level_.table.num_bins + level_.table.InTable(routing.column[slot][entry])];
      ++count[part][end];
      return slot_[entry] = routing.next[end];
    };
    if (!frontier_.empty() && StaysInRowOrder()) {
      histograms_.SelectSome(pool_, level_, origins_, follow);
    } else {
      ForEachPart(pool_, num_parts, entries_.size, [&](int64_t part, int64_t begin, int64_t end) {
        for (int64_t entry = begin; entry < end; ++entry) follow(part, entry);
      });
    }
    for (int64_t child = 0; child < table_.num_nodes - first; ++child) {
      table_.num_rows[first + child] = 0;
      for (const auto& own : count) table_.num_rows[first + child] += own[child];
    }
  }

  // Gives every entry the slot of its node, or ~node where this has none.
  void GiveSlots(int32_t first) {
    ForEachPart(pool_, NumParts(pool_, entries_.size), entries_.size, [&](int64_t, int64_t begin, int64_t end) {
      for (int64_t entry = begin; entry < end; ++entry) {
        if (slot_[entry] < first) continue;
        const int32_t slot = slot_of_node_[slot_[entry] - first];
        slot_[entry] = slot == kNoSlot ? ~slot_[entry] : slot;
      }
    });
  }

  // Turns what `leaf_` holds at the end into nodes. Rows that are in no tree walk down the first one.
  void FindLeaves() const {
    const std::vector<int32_t> branch = BranchesOfMissing();
    ForEachPart(pool_, NumParts(pool_, entries_.size), entries_.size, [&](int64_t, int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const int32_t told = leaf_[row];
        if (told == kNowhere) {
          leaf_[row] = Walk(row, branch);
        } else if (is_in_row_order_) {
          leaf_[row] = told < 0 ? ~told : frontier_[told];
        }
        if (!place_.empty()) leaf_[row] = place_[leaf_[row]];
      }
    });
  }

  int32_t Walk(int64_t row, const std::vector<int32_t>& branch_of_missing) const {
    int32_t node = 0;
    while (table_.num_children[node] > 0) {
      const int32_t code = level_.table.codes[table_.feature[node] * level_.table.num_rows + row];
      const bool is_missing = code == table_.missing_code[node];
      node = table_.first_child[node] + (is_missing ? branch_of_missing[node] : table_.BranchOf(node, code));
    }
    return node;
  }

  // The branch of a missing value at every node.
  std::vector<int32_t> BranchesOfMissing() const {
    std::vector<int32_t> branch(table_.missing_branch, table_.missing_branch + table_.num_nodes);
    for (int32_t node = 0; node < table_.num_nodes; ++node) {
      if (branch[node] == kUnresolved && table_.num_children[node] > 0) branch[node] = nodes_.HeaviestBranch(node);
    }
    return branch;
  }

  // A counting sort. Every part of the entries counts its own, so that it knows where its entries of a slot begin.
  void SortBySlot() {
    PlaceSlots();
    const int64_t num_slots = frontier_.size(), num_parts = NumParts(pool_, entries_.size);
    std::vector<std::vector<int64_t>> next(num_parts, std::vector<int64_t>(num_slots));
    ForEachPart(pool_, num_parts, entries_.size, [&](int64_t part, int64_t begin, int64_t end) {
      for (int64_t entry = begin; entry < end; ++entry) {
        if (slot_[entry] >= 0) ++next[part][slot_[entry]];
      }
    });
    for (int64_t slot = 0; slot < num_slots; ++slot) {
      int64_t before = start_[slot];
      for (auto& places : next) before += std::exchange(places[slot], before);
    }
    EntryColumns<Value>& sorted = Blank(entries_.size);
    ForEachPart(pool_, num_parts, entries_.size, [&](int64_t part, int64_t begin, int64_t end) {
      for (int64_t entry = begin; entry < end; ++entry) {
        const int32_t slot = slot_[entry];
        if (slot >= 0) sorted.Put(entries_, entry, next[part][slot]++);
        // From here on leaves are those that entries have reached.
        if (leaf_ != nullptr && slot != kNowhere) leaf_[entry] = slot < 0 ? ~slot : frontier_[slot];
      }
    });
    UseBlank();
    branch_.resize(entries_.size);
    is_in_row_order_ = false;
  }

  // The memory that the entries are not in, with room for `size` entries.
  EntryColumns<Value>& Blank(int64_t size) {
    EntryColumns<Value>& blank = columns_[1 - in_use_];
    blank.Resize(entries_, size);
    return blank;
  }

  void UseBlank() {
    in_use_ = 1 - in_use_;
    columns_[in_use_].ReadFrom(entries_);
  }

  // Sends the entries to the children, and moves those whose nodes may be split.
  void SendSorted(int32_t first) {
    CutIntoPieces();
    ForEachGroup([&](Piece& piece) { CountPiece(piece); });
    if (level_.rules.split.shares_missing()) CountShares(first);
    OpenFrontier(first);
    if (frontier_.empty()) return;
    PlaceSlots();
    PlacePieces(first);
    // Entries that are shared out become more.
    EntryColumns<Value>& moved = Blank(level_.rules.split.shares_missing() ? stop_.back() : entries_.size);
    ForEachGroup([&](const Piece& piece) { MovePiece(piece, moved); });
    UseBlank();
    if (level_.rules.split.shares_missing()) branch_.resize(entries_.size);
  }

  void CutIntoPieces() {
    pieces_.clear();
    groups_.assign(1, 0);
    int64_t in_group = 0, num_branches = 0;
    for (size_t slot = 0; slot < frontier_.size(); ++slot) {
      const int32_t node = frontier_[slot];
      if (table_.num_children[node] == 0) continue;
      for (int64_t begin = start_[slot]; begin < stop_[slot]; begin += kEntriesPerPart) {
        const int64_t end = std::min(begin + kEntriesPerPart, stop_[slot]);
        pieces_.push_back({node, begin == start_[slot] && end == stop_[slot], begin, end, num_branches});
        num_branches += table_.num_children[node];
        if ((in_group += end - begin) < kEntriesPerPart) continue;
        groups_.push_back(pieces_.size());
        in_group = 0;
      }
    }
    if (groups_.back() < pieces_.size()) groups_.push_back(pieces_.size());
    next_.assign(num_branches, 0);
  }

  // Calls work(piece) for all pieces: those of a group, which has about `kEntriesPerPart` entries, one after another.
  template <typename Work>
  void ForEachGroup(const Work& work) {
    ForEach(pool_, groups_.size() - 1, [&](int64_t group) {
      for (size_t at = groups_[group]; at < groups_[group + 1]; ++at) work(pieces_[at]);
    });
  }

  // Adds a piece to the sums of the children, and counts its entries of every branch.
  void CountPiece(Piece& piece) {
    const int32_t first_child = table_.first_child[piece.node];
    const int32_t missing_code = table_.missing_code[piece.node];
    const bool shares = level_.rules.split.shares_missing() && table_.missing_branch[piece.node] == kAllBranches;
    const Code* const codes = level_.table.ColumnOf(table_.feature[piece.node]);
    SumPiece(piece, [&](const NodeSums<Value>& to) {
      for (int64_t entry = piece.begin; entry < piece.end; ++entry) {
        const int32_t code = codes[entries_.RowOf(entry)];
        if (shares && code == missing_code) {
          branch_[entry] = kEveryBranch;
          piece.has_shared = true;
          continue;
        }
        const int32_t branch = table_.BranchOf(piece.node, code);
        branch_[entry] = branch;
        ++next_[piece.first + branch];
        Add(entry, branch, to);
        if (leaf_ != nullptr) leaf_[entries_.RowOf(entry)] = first_child + branch;
      }
    });
  }

  // Adds the shares of the entries that go to every branch; those of all others have been added.
  void CountShares(int32_t first) {
    const auto has_shared = [](const Piece& piece) { return piece.has_shared; };
    if (std::none_of(pieces_.begin(), pieces_.end(), has_shared)) return;
    shares_.Open(table_, first, [this](int32_t child) { return nodes_.WeightOf(child); });
    ForEachGroup([&](const Piece& piece) {
      if (!piece.has_shared) return;
      SumPiece(piece, [&](const NodeSums<Value>& to) {
        ForEachShare(piece, [&](int64_t entry, int32_t branch, const Value* share) {
          ++next_[piece.first + branch];
          entries_.AddShare(entry, share, branch, table_.num_channels, to);
        });
      });
    });
  }

  // Calls give(entry, branch, values) for every share of a piece's entries.
  template <typename Give>
  void ForEachShare(const Piece& piece, const Give& give) const {
    std::vector<Value> values(entries_.num_values);
    for (int64_t entry = piece.begin; entry < piece.end; ++entry) {
      if (branch_[entry] != kEveryBranch) continue;
      shares_.ForBranches(table_, piece.node, entries_, entry, values,
                          [&](int32_t branch, const Value* share) { give(entry, branch, share); });
    }
  }

  // Has count(sums) add to the sums of a piece's branches.
  template <typename Count>
  void SumPiece(const Piece& piece, const Count& count) {
    const int32_t num_branches = table_.num_children[piece.node], first_child = table_.first_child[piece.node];
    if (piece.is_whole) return count(table_.SumsFrom(first_child));
    OwnedNodeSums<Value> own = table_.BlankSums(num_branches);
    count(own.View());
    std::lock_guard<std::mutex> lock(sums_mutex_);
    table_.AddSums(own.View(), first_child, num_branches);
  }

  // Turns the counts of pieces into the places of their entries: those of a child begin where its slot does.
  void PlacePieces(int32_t first) {
    std::vector<int64_t> place(start_);
    for (const Piece& piece : pieces_) {
      for (int32_t branch = 0; branch < table_.num_children[piece.node]; ++branch) {
        const int32_t slot = slot_of_node_[table_.first_child[piece.node] + branch - first];
        int64_t& count = next_[piece.first + branch];
        count = slot == kNoSlot ? kNoSlot : std::exchange(place[slot], place[slot] + count);
      }
    }
  }

  void MovePiece(const Piece& piece, EntryColumns<Value>& to) {
    for (int64_t entry = piece.begin; entry < piece.end; ++entry) {
      if (piece.has_shared && branch_[entry] == kEveryBranch) continue;
      int64_t& place = next_[piece.first + branch_[entry]];
      if (place != kNoSlot) to.Put(entries_, entry, place++);
    }
    if (!piece.has_shared) return;
    ForEachShare(piece, [&](int64_t entry, int32_t branch, const Value* share) {
      int64_t& place = next_[piece.first + branch];
      if (place != kNoSlot) to.PutShare(entries_, entry, share, place++);
    });
  }

  Threads& pool_;
  Level<Code, Value> level_;
  const Limits<Value> limits_;
  Entries<Value> entries_;
  const int64_t most_slots_in_row_order_;
  NodeTable<Value>& result_;
  ScratchTree<Value> room_;                   // of the nodes of trees that grow best-first
  NodeTable<Value>& table_;                    // the result, or that
  NodeUpdater<Code, Value> nodes_;

  bool is_complete_ = true, is_in_row_order_ = false;
  std::vector<int32_t> frontier_, parents_;    // the nodes of every slot, of this level and of the one above
  std::vector<int32_t> slot_of_node_;          // of the nodes of the level
  std::vector<int64_t> start_, stop_;          // of every slot, once entries are sorted
  std::vector<Split> splits_;                  // of every slot
  std::vector<int32_t> split_slots_;           // those that were split
  std::vector<Origin> origins_;                // of every slot, while entries are in row order
  LevelHistograms<Code, Value> histograms_;
  BestFirst best_first_;
  std::vector<int32_t> place_;                 // of the nodes of such trees in the result, once they are grown
  int32_t* const leaf_;                        // of every row; while entries are in row order it is `slot_`
  int32_t* const slot_;                        // of every entry, while these are in row order
  std::vector<uint16_t> branch_;               // of every entry, once they are sorted
  EntryColumns<Value> columns_[2];                  // of sorted entries: those of this level, and of the next
  int in_use_ = 0;
  std::vector<Piece> pieces_;
  std::vector<size_t> groups_;                 // the first piece of every group, and the number of pieces
  Shares<Value> shares_;                       // of the children of the level, where rows are shared
  std::vector<int64_t> next_;                  // of every piece and branch: the entries, then the place of the next one
  std::mutex sums_mutex_;
};

}  // namespace jaxtree

#endif  // JAXTREE_NATIVE_GROW_LEVEL_WISE_H_
