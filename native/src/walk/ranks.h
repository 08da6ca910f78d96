// Many rows through many trees of thresholds, without walks: every node of a tree is computed for all rows of a group.
//
// jaxtree/kernels/ranks.py has the words, and makes the tables. A step computes which leaf of a node a row would come to: that
// of its left child, or behind the leaves of this that of its right child. Steps have no branches, and vectors of bytes
// compute them for 64 rows at once.

#ifndef JAXTREE_NATIVE_WALK_RANKS_H_
#define JAXTREE_NATIVE_WALK_RANKS_H_

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "common/simd.h"
#include "walk/values.h"

namespace jaxtree {

// A loop whose results are stored where it does not read.
#ifdef __clang__
#define JAXTREE_APART _Pragma("clang loop vectorize(assume_safety)")
#else
#define JAXTREE_APART _Pragma("GCC ivdep")
#endif

constexpr int64_t kRowsOfGroup = 128, kGroupsOfBlock = 4;

struct Step {
  uint16_t plane, limit;  // a greater rank comes to the right child
  uint16_t leaves;        // of the left child
  uint16_t left, right, to;  // the places of the children's leaves, and of the result; leaf 0 of a leaf stands at place 0
};

// The trees, as `_Ranked` in jaxtree/kernels/native_ranks.py has them.
struct RankedTrees {
  int64_t num_trees, num_columns, num_planes, num_places;
  const int32_t* column;      // of the table
  const int64_t* first_cut;   // of every column, and their number at the end
  const void* cuts;           // ascending thresholds
  const int32_t* planes;      // of every column: where missing values have the least rank, and the greatest; or -1
  const Step* steps;
  const int64_t* first_step;  // of every tree, and their number at the end
  const int64_t* first_leaf;
  const int32_t* leaves;      // the nodes that they are
};

// One number a row, where vectors begin.
template <typename Rank>
struct alignas(64) Group {
  Rank of_row[kRowsOfGroup];
};

template <typename Real, typename Rank>
class RankedRows {
 public:
  explicit RankedRows(const RankedTrees& trees)
      : trees_(trees), ranks_(trees.num_planes * kGroupsOfBlock), places_(trees.num_places) {}

  // Calls take(tree, row, nodes) for all rows of a block, kTogether at a time, tree by tree.
  template <typename Take>
  void Walk(const Matrix<Real>& values, int64_t begin, int64_t end, const Take& take) {
    for (int64_t row = begin; row < end; row += kTogether) ReadRows(values, row, std::min(end - row, kTogether), begin);
    for (int64_t tree = 0; tree < trees_.num_trees; ++tree) {
      const int32_t* const leaves = trees_.leaves + trees_.first_leaf[tree];
      for (int64_t group = begin; group < end; group += kRowsOfGroup) {
        const Rank* const leaf = Compute(tree, ranks_.data() + (group - begin) / kRowsOfGroup * trees_.num_planes);
        int32_t ends[kTogether];
        for (int64_t row = group; row < std::min(group + kRowsOfGroup, end); row += kTogether) {
          for (int64_t next = 0; next < kTogether; ++next) ends[next] = leaves[leaf[row - group + next]];
          take(tree, row, ends);
        }
      }
    }
  }

 private:
  // Rows behind the last, up to a multiple of kTogether, have the ranks of others.
  void ReadRows(const Matrix<Real>& values, int64_t row, int64_t number, int64_t begin) {
    Group<Rank>* const group = ranks_.data() + (row - begin) / kRowsOfGroup * trees_.num_planes;
    const int64_t place = (row - begin) % kRowsOfGroup;
    for (int64_t at = 0; at < trees_.num_columns; ++at) {
      const Real* const column = values.data + row * values.row_stride + trees_.column[at] * values.column_stride;
      Real value[kTogether];
      for (int64_t next = 0; next < kTogether; ++next) {
        value[next] = values.Load(column + std::min(next, number - 1) * values.row_stride);
      }
      const Real* const cuts = static_cast<const Real*>(trees_.cuts) + trees_.first_cut[at];
      Rank rank[kTogether];
      FindRanks(cuts, trees_.first_cut[at + 1] - trees_.first_cut[at], value, rank);
      const int32_t least = trees_.planes[2 * at], greatest = trees_.planes[2 * at + 1];
      if (least >= 0) std::copy_n(rank, kTogether, group[least].of_row + place);
      if (greatest < 0) continue;
      for (int64_t next = 0; next < kTogether; ++next) {
        const bool is_missing = value[next] != value[next];
        group[greatest].of_row[place + next] = is_missing ? std::numeric_limits<Rank>::max() : rank[next];
      }
    }
  }

  // Several searches side by side, none with a branch; a missing value is above no cut.
  static void FindRanks(const Real* cuts, int64_t number, const Real* value, Rank* rank) {
    const Real* first[kTogether];
    for (int64_t next = 0; next < kTogether; ++next) first[next] = cuts;
    for (; number > 1; number -= number / 2) {
      const int64_t half = number / 2;
      for (int64_t next = 0; next < kTogether; ++next) first[next] += first[next][half - 1] < value[next] ? half : 0;
    }
    for (int64_t next = 0; next < kTogether; ++next) rank[next] = first[next] - cuts + (*first[next] < value[next]);
  }

  // Returns the leaves of a tree where a group of rows ends.
  const Rank* Compute(int64_t tree, const Group<Rank>* ranks) {
    const Step* const first = trees_.steps + trees_.first_step[tree];
    const Step* const last = trees_.steps + trees_.first_step[tree + 1];
    Group<Rank>* const places = places_.data();
    if (first == last) return places->of_row;
    WithWidest([=] {
      for (const Step* step = first; step != last; ++step) {
        const Group<Rank>&rank = ranks[step->plane], &left = places[step->left], &right = places[step->right];
        Group<Rank>& to = places[step->to];
        const Rank limit = step->limit, leaves = step->leaves;
        JAXTREE_APART
        for (int64_t row = 0; row < kRowsOfGroup; ++row) {
          const Rank other = right.of_row[row] + leaves, own = left.of_row[row];
          to.of_row[row] = rank.of_row[row] > limit ? other : own;
        }
      }
    });
    return places[last[-1].to].of_row;
  }

  const RankedTrees& trees_;
  std::vector<Group<Rank>> ranks_, places_;  // place 0 stays 0
};

}  // namespace jaxtree

#endif  // JAXTREE_NATIVE_WALK_RANKS_H_
