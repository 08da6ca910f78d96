// Where the entries of a level are, and how they go to the children of its nodes.
//
// While levels have few nodes, entries stay in the order of the rows, and each knows the slot of its node. Later they are
// sorted: the entries of a node that may be split lie side by side, and those of leaves are dropped. Where rows are shared
// among branches, entries are sorted from the start, and one that is sent to several children becomes more.

#ifndef JAXTREE_NATIVE_PARTITION_ENTRY_PARTITIONER_H_
#define JAXTREE_NATIVE_PARTITION_ENTRY_PARTITIONER_H_

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <limits>
#include <mutex>
#include <utility>
#include <vector>

#include "common/parallel.h"
#include "common/simd.h"
#include "input/level.h"
#include "partition/entries.h"
#include "partition/leaves.h"
#include "partition/shared_rows.h"
#include "tree/node_table.h"
#include "tree/node_updater.h"

namespace jaxtree {

constexpr int32_t kNoSlot = -1;
// In place of a slot: the entry is in no tree.
constexpr int32_t kNowhere = std::numeric_limits<int32_t>::min();
// Fewer entries are not worth another thread.
constexpr int64_t kEntriesPerPart = 1 << 14;
// Threads count apart, and add up afterwards, where there are this many times as many entries as cells.
constexpr int64_t kEntriesPerCell = 16;

// The nodes of a level that may be split. The slot of a node is its place among these.
struct Frontier {
  std::vector<int32_t> nodes, parents;  // of every slot, of this level and of the one above
  std::vector<int32_t> slot_of_node;    // of the nodes of the level, from `first_node` on
  int32_t first_node = 0;

  int32_t SlotOf(int32_t node) const {
    assert(node >= first_node && node - first_node < static_cast<int32_t>(slot_of_node.size()));
    return slot_of_node[node - first_node];
  }
};

template <typename Code, typename Value>
class EntryPartitioner {
 public:
  // `leaf` has a place for the node where each row ends, or is null; `slot` has one for each entry, and may be `leaf`.
  EntryPartitioner(Threads& pool, const Table<Code>& codes, bool shares_missing, const Entries<Value>& entries,
                   const NodeTable<Value>& table, const NodeUpdater<Code, Value>& nodes, int32_t* leaf, int32_t* slot)
      : pool_(pool), codes_(codes), shares_missing_(shares_missing), entries_(entries), table_(table), nodes_(nodes),
        leaf_(leaf), slot_(slot), adds_in_order_(entries.AddsValuesInOrder()) {}

  const Entries<Value>& entries() const { return entries_; }
  bool is_in_row_order() const { return is_in_row_order_; }

  // Has a level show the entries as they are now.
  void Show(Level<Code, Value>& level) const {
    level.row = entries_.row;
    level.label = entries_.label;
    level.value = entries_.value;
    level.num_entries = entries_.size;
    level.slot = is_in_row_order_ ? slot_ : nullptr;
    level.start = start_.data();
    level.stop = stop_.data();
  }

  // Adds the entries to their roots. From here on these know the root, until they are given slots.
  void CountRoots() {
    const int32_t num_roots = table_.num_nodes;
    CountEntries(0, num_roots, [&](int64_t entry) {
      const int32_t root = entries_.RootOf(entry);
      return slot_[entry] = entries_.value[entry] > 0 && root >= 0 && root < num_roots ? root : kNowhere;
    });
  }

  // Adds the entries of the nodes that were split to the children, whose frontier is not open yet.
  void CountChildren(const Frontier& frontier, int32_t first) {
    if (is_in_row_order_) {
      CountEntries(first, table_.num_nodes - first, [&](int64_t entry) {
        if (slot_[entry] < 0) return kNoSlot;
        const int32_t node = frontier.nodes[slot_[entry]];
        const bool is_split = table_.num_children[node] > 0;
        slot_[entry] = is_split ? table_.first_child[node] + BranchOf(entry, node) : ~node;
        return is_split ? slot_[entry] : kNoSlot;
      });
      return;
    }
    CutIntoPieces(frontier);
    ForEachGroup([&](Piece& piece) { CountPiece(piece); });
    if (shares_missing_) CountShares(first);
  }

  // Moves the entries that were counted to the slots of the children.
  void MoveToChildren(const Frontier& frontier) {
    if (is_in_row_order_) return GiveSlots(frontier);
    if (frontier.nodes.empty()) return;
    PlaceSlots(frontier);
    PlacePieces(frontier);
    // Entries that are shared out become more.
    EntryColumns<Value>& moved = Blank(shares_missing_ ? stop_.back() : entries_.size);
    ForEachGroup([&](const Piece& piece) { MovePiece(piece, moved); });
    UseBlank();
    if (shares_missing_) branch_.resize(entries_.size);
  }

  // Moves entries in row order to the slots of the children, whose sums are known, and counts them. Calls
  // for_entries(follow), which calls follow(part, entry), the slot of an entry, for all entries.
  template <typename ForEntries>
  void FollowSplits(const Frontier& frontier, NodeTable<Value>& table, const ForEntries& for_entries) {
    assert(is_in_row_order_);
    const Routing routing = RoutingOf(frontier);
    std::vector<std::vector<int32_t>> count(NumParts(pool_, entries_.size), std::vector<int32_t>(routing.next.size()));
    for_entries([&](int64_t part, int64_t entry) {
      const int32_t slot = slot_[entry];
      if (slot < 0) return slot;
      const int32_t end = routing.end_of_code[slot * codes_.num_bins + codes_.InTable(routing.column[slot][entry])];
      ++count[part][end];
      return slot_[entry] = routing.next[end];
    });
    const int32_t first = frontier.first_node;
    for (int64_t child = 0; child < table.num_nodes - first; ++child) {
      table.num_rows[first + child] = 0;
      for (const auto& own : count) table.num_rows[first + child] += own[child];
    }
  }

  // Gives every entry the slot of its node, or ~node where this has none.
  void GiveSlots(const Frontier& frontier) {
    ForEachPart(pool_, NumParts(pool_, entries_.size), entries_.size, [&](int64_t, int64_t begin, int64_t end) {
      for (int64_t entry = begin; entry < end; ++entry) {
        if (slot_[entry] < frontier.first_node) continue;
        const int32_t slot = frontier.SlotOf(slot_[entry]);
        slot_[entry] = slot == kNoSlot ? ~slot_[entry] : slot;
      }
    });
  }

  // A counting sort. Every part of the entries counts its own, so that it knows where its entries of a slot begin.
  void SortBySlot(const Frontier& frontier) {
    PlaceSlots(frontier);
    const int64_t num_slots = frontier.nodes.size(), num_parts = NumParts(pool_, entries_.size);
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
      sorted.PutEach(entries_, begin, end, [&](int64_t entry) {
        const int32_t slot = slot_[entry];
        const int64_t place = slot < 0 ? kNoSlot : next[part][slot]++;
        // From here on leaves are those that entries have reached.
        if (leaf_ != nullptr && slot != kNowhere) leaf_[entry] = slot < 0 ? ~slot : frontier.nodes[slot];
        return place;
      });
    });
    UseBlank();
    branch_.resize(entries_.size);
    is_in_row_order_ = false;
  }

  // Turns what is known of rows at the end into their leaves. Rows that are in no tree walk down the first one; `place` has
  // the numbers of nodes in the result, or is empty.
  void FindLeaves(const Frontier& frontier, const std::vector<int32_t>& place) const {
    const LeafFinder<Code, Value> finder(codes_, table_, nodes_);
    ForEachPart(pool_, NumParts(pool_, entries_.size), entries_.size, [&](int64_t, int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const int32_t told = leaf_[row];
        if (told == kNowhere) {
          leaf_[row] = finder.LeafOf(row);
        } else if (is_in_row_order_) {
          leaf_[row] = told < 0 ? ~told : frontier.nodes[told];
        }
        if (!place.empty()) leaf_[row] = place[leaf_[row]];
      }
    });
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

  // Adds every entry to its node, the nodes being those from `first` on; `node_of` returns -1 for entries that have none.
  template <typename NodeOf>
  void CountEntries(int32_t first, int64_t num_nodes, const NodeOf& node_of) {
    const auto count = [&](int64_t begin, int64_t end, const NodeSums<Value>& to) {
      entries_.AddEach(begin, end, table_.num_channels, to, [&](int64_t entry) {
        const int32_t node = node_of(entry);
        return node < 0 ? node : node - first;
      });
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

  int32_t BranchOf(int64_t entry, int32_t node) const {
    return table_.BranchOf(node, codes_.ColumnOf(table_.feature[node])[entries_.RowOf(entry)]);
  }

  // Where the entries of the slots of a level go, by their codes.
  struct Routing {
    std::vector<const Code*> column;   // of every slot
    std::vector<int32_t> end_of_code;  // of every slot and code: the child after `first`; behind all, a slot not split
    std::vector<int32_t> next;         // of every end: its slot, or ~node
  };

  Routing RoutingOf(const Frontier& frontier) const {
    const int32_t first = frontier.first_node;
    const int64_t num_children = table_.num_nodes - first;
    Routing routing{{}, std::vector<int32_t>(frontier.parents.size() * codes_.num_bins), std::vector<int32_t>(num_children)};
    for (int32_t child = 0; child < num_children; ++child) {
      routing.next[child] = frontier.slot_of_node[child] == kNoSlot ? ~(first + child) : frontier.slot_of_node[child];
    }
    for (size_t slot = 0; slot < frontier.parents.size(); ++slot) {
      const int32_t node = frontier.parents[slot];
      const bool is_split = table_.num_children[node] > 0;
      routing.column.push_back(codes_.ColumnOf(table_.feature[node]));
      for (int32_t code = 0; code < codes_.num_bins; ++code) {
        routing.end_of_code[slot * codes_.num_bins + code] =
            is_split ? table_.first_child[node] + table_.BranchOf(node, code) - first : routing.next.size();
      }
      if (!is_split) routing.next.push_back(~node);
    }
    return routing;
  }

  // Gives every slot the places of its entries when they are sorted.
  void PlaceSlots(const Frontier& frontier) {
    start_.clear();
    stop_.clear();
    int64_t before = 0;
    for (const int32_t node : frontier.nodes) {
      start_.push_back(before);
      stop_.push_back(before += table_.num_rows[node]);
    }
    assert(shares_missing_ || before <= entries_.size);
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

  void CutIntoPieces(const Frontier& frontier) {
    pieces_.clear();
    groups_.assign(1, 0);
    int64_t in_group = 0, num_branches = 0;
    for (size_t slot = 0; slot < frontier.nodes.size(); ++slot) {
      const int32_t node = frontier.nodes[slot];
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
    const bool shares = shares_missing_ && table_.missing_branch[piece.node] == kAllBranches;
    const Code* const codes = codes_.ColumnOf(table_.feature[piece.node]);
    if (!shares && IsSimple(piece.node)) return CountSimple(piece, codes);
    if (!shares && AddsChannels(piece.node)) return CountChannels(piece, codes);
    SumPiece(piece, [&](const NodeSums<Value>& to) {
      entries_.AddEach(piece.begin, piece.end, table_.num_channels, to, [&](int64_t entry) {
        const int32_t code = codes[entries_.RowOf(entry)];
        if (shares && code == missing_code) {
          branch_[entry] = kEveryBranch;
          piece.has_shared = true;
          return -1;
        }
        const int32_t branch = table_.BranchOf(piece.node, code);
        branch_[entry] = branch;
        ++next_[piece.first + branch];
        if (leaf_ != nullptr) leaf_[entries_.RowOf(entry)] = first_child + branch;
        return branch;
      });
    });
  }

  // Whether a node is split at a threshold, and its entries add their weight to one class: nearly all that forests do.
  bool IsSimple(int32_t node) const { return entries_.adds_one_label && table_.split_kind[node] == kThreshold; }

  // `CountPiece` of such a node. Which branch an entry takes cannot be foreseen: nothing branches.
  void CountSimple(Piece& piece, const Code* codes) {
    const int32_t first_child = table_.first_child[piece.node], last = table_.code[piece.node];
    const int32_t missing_code = table_.missing_code[piece.node];
    const int32_t of_missing = std::clamp(table_.missing_branch[piece.node], 0, 1);
    const int32_t *const row = entries_.row, *const label = entries_.label;
    const Value* const value = entries_.value;
    uint16_t* const branches = branch_.data();
    int32_t* const leaf = leaf_;
    SumPiece(piece, [&](const NodeSums<Value>& to) {
      Value* const sums[2] = {to.sums, to.sums + table_.num_channels};
      int32_t num_upper = 0;
      for (int64_t entry = piece.begin, end = piece.end; entry < end; ++entry) {
        const int32_t code = codes[row[entry]];
        const int32_t branch = code == missing_code ? of_missing : code > last;
        branches[entry] = branch;
        num_upper += branch;
        sums[branch][label[entry]] += value[entry];
        if (leaf != nullptr) leaf[row[entry]] = first_child + branch;
      }
      const auto num_lower = static_cast<int32_t>(piece.end - piece.begin) - num_upper;
      to.num_rows[0] += num_lower;
      to.num_rows[1] += num_upper;
      next_[piece.first] = num_lower;
      next_[piece.first + 1] = num_upper;
    });
  }

  // Whether a node is split at a threshold, and its entries add several values.
  bool AddsChannels(int32_t node) const {
    return table_.split_kind[node] == kThreshold && entries_.additions.size() >= kLeastOfVector && adds_in_order_;
  }

  // `CountPiece` of such a node: first the branches of all entries, and then channel by channel the sums of both.
  void CountChannels(Piece& piece, const Code* codes) {
    const int32_t first_child = table_.first_child[piece.node], last = table_.code[piece.node];
    const int32_t missing_code = table_.missing_code[piece.node];
    const int32_t of_missing = std::clamp(table_.missing_branch[piece.node], 0, 1);
    const int32_t* const row = entries_.row;
    uint16_t* const branches = branch_.data();
    const int64_t begin = piece.begin, end = piece.end;
    int64_t num_upper = 0;
    for (int64_t entry = begin; entry < end; ++entry) {
      const int32_t code = codes[row[entry]];
      const int32_t branch = code == missing_code ? of_missing : code > last;
      branches[entry] = branch;
      num_upper += branch;
      if (leaf_ != nullptr) leaf_[row[entry]] = first_child + branch;
    }
    next_[piece.first] = end - begin - num_upper;
    next_[piece.first + 1] = num_upper;
    SumPiece(piece, [&](const NodeSums<Value>& to) {
      to.num_rows[0] += end - begin - num_upper;
      to.num_rows[1] += num_upper;
      const int64_t num_channels = table_.num_channels;
      const int64_t num_added = entries_.additions.size(), size = entries_.size;
      const Value* const value = entries_.value;
      Value* const sums = to.sums;
      WithWidest([=] {
        for (int64_t channel = 0; channel < num_added; ++channel) {
          const Value* const own = value + channel * size;
          Value all = 0, upper = 0;
          for (int64_t entry = begin; entry < end; ++entry) {
            all += own[entry];
            upper += own[entry] & -static_cast<Value>(branches[entry]);
          }
          sums[channel] += all - upper;
          sums[num_channels + channel] += upper;
        }
      });
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
  void PlacePieces(const Frontier& frontier) {
    std::vector<int64_t> place(start_);
    for (const Piece& piece : pieces_) {
      for (int32_t branch = 0; branch < table_.num_children[piece.node]; ++branch) {
        const int32_t slot = frontier.SlotOf(table_.first_child[piece.node] + branch);
        int64_t& count = next_[piece.first + branch];
        count = slot == kNoSlot ? kNoSlot : std::exchange(place[slot], place[slot] + count);
      }
    }
  }

  void MovePiece(const Piece& piece, EntryColumns<Value>& to) {
    if (!piece.has_shared && IsSimple(piece.node)) {
      return to.PutDivided(entries_, piece.begin, piece.end, branch_.data(), &next_[piece.first]);
    }
    to.PutEach(entries_, piece.begin, piece.end, [&](int64_t entry) -> int64_t {
      if (piece.has_shared && branch_[entry] == kEveryBranch) return kNoSlot;
      assert(branch_[entry] < table_.num_children[piece.node]);
      int64_t& place = next_[piece.first + branch_[entry]];
      return place == kNoSlot ? kNoSlot : place++;
    });
    if (!piece.has_shared) return;
    ForEachShare(piece, [&](int64_t entry, int32_t branch, const Value* share) {
      int64_t& place = next_[piece.first + branch];
      if (place != kNoSlot) to.PutShare(entries_, entry, share, place++);
    });
  }

  Threads& pool_;
  const Table<Code>& codes_;
  const bool shares_missing_;
  Entries<Value> entries_;
  const NodeTable<Value>& table_;
  const NodeUpdater<Code, Value>& nodes_;
  int32_t* const leaf_;                        // of every row; while entries are in row order it is `slot_`
  int32_t* const slot_;                        // of every entry, while these are in row order
  const bool adds_in_order_;                   // see `Entries`
  bool is_in_row_order_ = true;
  std::vector<int64_t> start_, stop_;          // of every slot, once entries are sorted
  std::vector<uint16_t> branch_;               // of every entry, once they are sorted
  EntryColumns<Value> columns_[2];             // of sorted entries: those of this level, and of the next
  int in_use_ = 0;
  std::vector<Piece> pieces_;
  std::vector<size_t> groups_;                 // the first piece of every group, and the number of pieces
  Shares<Value> shares_;                       // of the children of the level, where rows are shared
  std::vector<int64_t> next_;                  // of every piece and branch: the entries, then the place of the next one
  std::mutex sums_mutex_;
};

}  // namespace jaxtree

#endif  // JAXTREE_NATIVE_PARTITION_ENTRY_PARTITIONER_H_
