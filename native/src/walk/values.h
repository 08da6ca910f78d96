// Rows of values walked through trees; jaxtree/kernels/native_walk.py makes the tables.
//
// The values of a block of rows become *keys*, whole numbers in the order of the values, of which a missing value has the
// greatest. Eight rows stand beside one another and are walked together, so that the processor reads for one while it waits
// for another. The upper levels of a tree are complete: node i has the children 2 i and 2 i + 1, so that a step adds a
// comparison to twice the number of the node. Nodes below them say where their children are. Where splits are of other kinds
// than thresholds no level is complete, and every node has a rule. Subsets of which each holds the one before are thresholds of
// a *rank*: how many of them have a code. Ranks are further keys of a row.

#ifndef JAXTREE_NATIVE_WALK_VALUES_H_
#define JAXTREE_NATIVE_WALK_VALUES_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "common/keys.h"

namespace jaxtree {

constexpr int64_t kTogether = 8;  // rows that are walked together
constexpr int64_t kColumnsOfTile = 16;
constexpr int64_t kBytesOfKeys = 1 << 16, kMostBytesOfKeys = 1 << 20, kMostRowsOfBlock = 4096;

// A matrix of values in any order of memory, which may begin at any address; strides are in values.
template <typename Real>
struct Matrix {
  const Real* data;
  int64_t num_rows, row_stride, column_stride;

  static Real Load(const Real* at) {
    Real value;
    std::memcpy(&value, at, sizeof(Real));
    return value;
  }
};

enum class Kind : int32_t { kThreshold, kMultiway, kOneVsRest, kSubset };  // `SplitKind`

// A node where splits are of any kind; a row without a branch stays.
struct Rule {
  Kind kind;
  int32_t num_children, missing_branch;
  int32_t subset;  // the row of words of the subset
};

// Nested subsets of the codes of a column, and how many of them have each code, at the place of its bit.
struct SubsetRank {
  int32_t key;        // of the column
  int32_t num_words;  // of a subset
  int64_t first;      // the place of the first code's rank
};

// The trees, as `_Pointers` in jaxtree/kernels/native_walk.py has them.
struct Trees {
  int64_t num_trees;
  int64_t num_nodes;           // of all
  int64_t num_columns;         // whose values are keys of a row
  int64_t is_straight;         // whether these are the first columns, in order
  int64_t num_ranks;           // which are keys behind those
  const int32_t* column;       // of every key that is a value
  const int64_t* first_top;    // where the upper levels of every tree begin, and what is below them
  const int32_t* levels;       // how many upper levels a tree has
  const int32_t* more_levels;  // and how many below them
  const void* tops;            // Split<Key>: nodes of upper levels; the first of every tree is none
  const uint8_t* top_missing;  // whether a missing value takes branch 0 there
  const int32_t* below;        // the node to which every way through the upper levels leads
  const void* nodes;           // Node<Key>: all nodes; none where no tree has levels below
  const uint8_t* node_missing;
  const Rule* rules;      // of all nodes; null where every split is a threshold that sends missing values to a branch
  const uint32_t* words;  // bits of subsets, [subset, word]
  int64_t num_words;      // of a subset
  const SubsetRank* ranks;
  const uint32_t* ranks_of_codes;

  int64_t num_keys() const { return num_columns + num_ranks; }
};

template <typename Key>
struct Split {
  Key limit;  // a greater key takes branch 1
  Key key;    // which key of a row is compared, times `kTogether`
};

template <typename Key>
struct Node {
  Key limit;
  uint32_t key;
  int32_t child;  // where branch 0 leads; the node itself where walks end
};

// The code of a category, which is not missing, from its key.
template <typename Key>
inline int32_t CodeOf(Key key) {
  using Real = std::conditional_t<sizeof(Key) == 4, float, double>;
  constexpr Real kMost = 1 << 30;
  constexpr Key kSign = Key{1} << (8 * sizeof(Key) - 1);
  if (key < kSign) return 0;  // no code is negative
  const Key bits = key ^ kSign;
  Real value;
  std::memcpy(&value, &bits, sizeof(Key));
  return static_cast<int32_t>(value < kMost ? value : kMost);  // rows behind the last may have any key
}

// The place of a code's bit in a subset. The last word answers for codes behind all, as in `next_node` of
// jaxtree/kernels/walk.py.
inline int64_t BitOf(int32_t code, int64_t num_words) {
  return std::min<int64_t>(code / 32, num_words - 1) * 32 + code % 32;
}

// The keys of a block of rows, [row / kTogether, key, row % kTogether].
template <typename Real>
class Keys {
 public:
  using Key = KeyOf<Real>;

  Keys(const Trees& trees, int64_t most_rows) : trees_(trees), keys_(most_rows * trees.num_keys()) {}

  const Key* Group(int64_t group) const { return keys_.data() + group * trees_.num_keys() * kTogether; }
  bool has_missing() const { return is_missing_ != 0; }

  // Rows behind the last, up to a multiple of kTogether, have keys of others.
  void Read(const Matrix<Real>& values, int64_t begin, int64_t end) {
    is_missing_ = 0;
    for (int64_t row = begin; row < end; row += kTogether) {
      Key* const group = keys_.data() + (row - begin) * trees_.num_keys();
      const int64_t number = std::min(end - row, kTogether);
      if (trees_.is_straight && values.column_stride == 1) {
        ReadTiles(values, row, number, group);
      } else {
        ReadColumns(values, row, number, group);
      }
      ReadRanks(group);
    }
  }

 private:
  void ReadColumns(const Matrix<Real>& values, int64_t row, int64_t number, Key* group) {
    const Real* const first = values.data + row * values.row_stride;
    Key is_missing = 0;
    for (int64_t key = 0; key < trees_.num_columns; ++key) {
      const Real* const column = first + trees_.column[key] * values.column_stride;
      Key* const to = group + key * kTogether;
      for (int64_t next = 0; next < number; ++next) {
        const Real value = values.Load(column + next * values.row_stride);
        to[next] = MakeKey(value);
        is_missing |= IsMissing(value);
      }
    }
    is_missing_ |= is_missing;
  }

  // The same for whole rows, some columns at a time, so that several values are made into keys at once.
  void ReadTiles(const Matrix<Real>& values, int64_t row, int64_t number, Key* group) {
    Key tile[kTogether][kColumnsOfTile], is_missing = 0;
    for (int64_t first = 0; first < trees_.num_columns; first += kColumnsOfTile) {
      const int64_t size = std::min(trees_.num_columns - first, kColumnsOfTile);
      for (int64_t next = 0; next < number; ++next) {
        const Real* const own = values.data + (row + next) * values.row_stride + first;
        for (int64_t at = 0; at < size; ++at) {
          const Real value = values.Load(own + at);
          tile[next][at] = MakeKey(value);
          is_missing |= IsMissing(value);
        }
      }
      Key* const to = group + first * kTogether;
      for (int64_t at = 0; at < size; ++at) {
        for (int64_t next = 0; next < kTogether; ++next) to[at * kTogether + next] = tile[next][at];
      }
    }
    is_missing_ |= is_missing;
  }

  void ReadRanks(Key* group) {
    Key* to = group + trees_.num_columns * kTogether;
    for (int64_t number = 0; number < trees_.num_ranks; ++number, to += kTogether) {
      const SubsetRank rank = trees_.ranks[number];
      const uint32_t* const of_codes = trees_.ranks_of_codes + rank.first;
      const Key* const from = group + rank.key * kTogether;
      for (int64_t next = 0; next < kTogether; ++next) {
        const Key own = of_codes[BitOf(CodeOf(from[next]), rank.num_words)];
        to[next] = from[next] == std::numeric_limits<Key>::max() ? from[next] : own;
      }
    }
  }

  const Trees& trees_;
  std::vector<Key> keys_;
  Key is_missing_ = 0;  // of any value
};

// Whether a key is above a limit; where `is_left`, the greatest one is not.
template <bool kHasMissing, typename Key>
inline bool IsAbove(Key key, Key limit, const uint8_t* is_left) {
  if constexpr (kHasMissing) return static_cast<Key>(limit + *is_left) < static_cast<Key>(key + *is_left);
  return limit < key;
}

// Whether a subset has a code.
inline bool IsMember(const Trees& trees, const Rule& rule, int32_t code) {
  const int64_t bit = BitOf(code, trees.num_words);
  return trees.words[rule.subset * trees.num_words + bit / 32] >> (bit % 32) & 1;
}

// The node after one that splits in any way.
template <typename Key>
inline int32_t NextOfAny(const Trees& trees, const Node<Key>& node, int32_t at, Key key) {
  const Rule& rule = trees.rules[at];
  int32_t branch = rule.missing_branch;
  if (key != std::numeric_limits<Key>::max()) {
    switch (rule.kind) {
      case Kind::kThreshold: branch = key > node.limit; break;
      case Kind::kMultiway: branch = CodeOf(key); break;
      case Kind::kOneVsRest: branch = key == node.limit; break;
      case Kind::kSubset: branch = IsMember(trees, rule, CodeOf(key)); break;
    }
  }
  return branch < rule.num_children ? node.child + branch : at;
}

// Moves a group of rows down a tree of any splits, from the nodes `ends` to those where they end.
template <typename Key>
void WalkAnyGroup(const Trees& trees, int64_t tree, const Key* keys, int32_t* ends) {
  const Node<Key>* const nodes = static_cast<const Node<Key>*>(trees.nodes);
  for (int32_t level = 0; level < trees.more_levels[tree]; ++level) {
    int32_t moved = 0;
    for (int64_t row = 0; row < kTogether; ++row) {
      const Node<Key>& node = nodes[ends[row]];
      const int32_t next = NextOfAny(trees, node, ends[row], keys[node.key + row]);
      moved |= next ^ ends[row];
      ends[row] = next;
    }
    if (moved == 0) break;
  }
}

// The nodes where a group of rows ends in a tree of thresholds.
template <bool kHasMissing, typename Key>
void WalkGroup(const Trees& trees, int64_t tree, const Key* keys, int32_t* ends) {
  const int64_t first = trees.first_top[tree];
  const int32_t levels = trees.levels[tree], more_levels = trees.more_levels[tree];
  const Split<Key>* const tops = static_cast<const Split<Key>*>(trees.tops) + first;
  const uint8_t* const top_missing = trees.top_missing + first;
  uint64_t at[kTogether];
  for (int64_t row = 0; row < kTogether; ++row) at[row] = 1;
  for (int32_t level = 0; level < levels; ++level) {
    for (int64_t row = 0; row < kTogether; ++row) {
      const Split<Key>& split = tops[at[row]];
      at[row] += at[row] + IsAbove<kHasMissing>(keys[split.key + row], split.limit, top_missing + at[row]);
    }
  }
  const int32_t* const below = trees.below + first - (int64_t{1} << levels);
  for (int64_t row = 0; row < kTogether; ++row) ends[row] = below[at[row]];
  const Node<Key>* const nodes = static_cast<const Node<Key>*>(trees.nodes);
  for (int32_t level = 0; level < more_levels; ++level) {
    int32_t moved = 0;
    for (int64_t row = 0; row < kTogether; ++row) {
      const Node<Key>& node = nodes[ends[row]];
      const int32_t next =
          node.child + IsAbove<kHasMissing>(keys[node.key + row], node.limit, trees.node_missing + ends[row]);
      moved |= next ^ ends[row];
      ends[row] = next;
    }
    if (moved == 0) break;
  }
}

// Calls walk(tree, row, keys, nodes), and then take(tree, row, nodes), for all rows of a block, kTogether at a time, tree by
// tree.
template <typename Real, typename Walk, typename Take>
void WalkTrees(const Trees& trees, const Keys<Real>& keys, int64_t begin, int64_t end, const Walk& walk, const Take& take) {
  int32_t ends[kTogether];
  for (int64_t tree = 0; tree < trees.num_trees; ++tree) {
    for (int64_t row = begin; row < end; row += kTogether) {
      walk(tree, row, keys.Group((row - begin) / kTogether), ends);
      take(tree, row, ends);
    }
  }
}

// Rows begin at the nodes `start`, or where it is null at the roots.
template <typename Real, typename Take>
void WalkBlock(const Trees& trees, Keys<Real>& keys, const Matrix<Real>& values, const int32_t* start, int64_t begin,
               int64_t end, const Take& take) {
  using Key = KeyOf<Real>;
  keys.Read(values, begin, end);
  const auto any = [&](int64_t tree, int64_t row, const Key* group, int32_t* ends) {
    for (int64_t next = 0; next < kTogether; ++next) {
      ends[next] = start ? start[std::min(row + next, end - 1)] : trees.below[trees.first_top[tree]];
    }
    WalkAnyGroup(trees, tree, group, ends);
  };
  const auto with_missing = [&](int64_t tree, int64_t, const Key* group, int32_t* ends) {
    WalkGroup<true>(trees, tree, group, ends);
  };
  const auto known = [&](int64_t tree, int64_t, const Key* group, int32_t* ends) {
    WalkGroup<false>(trees, tree, group, ends);
  };
  if (trees.rules) return WalkTrees(trees, keys, begin, end, any, take);
  if (keys.has_missing()) return WalkTrees(trees, keys, begin, end, with_missing, take);
  WalkTrees(trees, keys, begin, end, known, take);
}

// Rows of a block, a multiple of kTogether. Their keys stay in a core's own cache; and where trees are large, there are as many
// rows as nodes of a tree, which every block brings into that cache.
inline int64_t RowsOfBlock(const Trees& trees, int64_t bytes_of_key) {
  const int64_t bytes_of_row = std::max<int64_t>(trees.num_keys() * bytes_of_key, 1);
  const int64_t as_nodes = std::min(trees.num_nodes / trees.num_trees, kMostBytesOfKeys / bytes_of_row);
  const int64_t rows = std::max(kBytesOfKeys / bytes_of_row, as_nodes);
  return std::clamp(rows / kTogether * kTogether, kTogether, kMostRowsOfBlock);
}

}  // namespace jaxtree

#endif  // JAXTREE_NATIVE_WALK_VALUES_H_
