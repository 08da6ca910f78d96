// Shapley values of a block of rows, which stand in the lanes of vectors, and of one tree after the other.
//
// jaxtree/explain/kernel.py has the formula. With h and g of a split's column, the product P of all columns above, the row's
// part o and the share z of child 0, and the sums R of the leaves below both children,
//
//   a = o - h (o - z),   P_0 = a P,   P_1 = P - P_0,   R = R_1 + a (R_0 - R_1),
//
// and the column gets (o - z) times the sum over all points of g P (R_0 - R_1). For a column that the path has not asked about
// yet h is 1 - t, and g is 1. A row's numbers depend on no other row's, so that blocks and threads make no difference.

#ifndef JAXTREE_NATIVE_EXPLAIN_BLOCK_H_
#define JAXTREE_NATIVE_EXPLAIN_BLOCK_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "common/simd.h"
#include "explain/trees.h"

namespace jaxtree::explain {

constexpr int64_t kRowsOfBlock = 64;

// The bits of subsets, [subset, word].
struct Subsets {
  const uint32_t* words;
  int64_t num_words;

  // The last word answers for codes behind all, as in `branch_of` of jaxtree/kernels/walk.py.
  bool Has(int32_t subset, double code) const {
    const auto place = static_cast<int64_t>(code);
    const int64_t word = std::min<int64_t>(place / 32, num_words - 1);
    return words[subset * num_words + word] >> (place % 32) & 1;
  }
};

// The part of one value that takes child 0.
inline double PartOf(const Split& split, const Subsets& subsets, double value) {
  if (!(value <= split.most)) return split.part_missing;
  switch (split.question) {
    case Question::kIsAbove: return value > split.limit ? split.part_yes : split.part_no;
    case Question::kIsEqual: return value == split.limit ? split.part_yes : split.part_no;
    case Question::kIsMember: break;
  }
  return subsets.Has(split.subset, value) ? split.part_yes : split.part_no;
}

// The shares of the rows that others are compared with, at every split of a tree.
struct Shares {
  std::vector<double> own, before;

  // Those of the training rows.
  void Take(const Tree& tree) {
    own.clear();
    before.clear();
    for (const Split& split : tree.splits) {
      own.push_back(split.share);
      before.push_back(split.share_before);
    }
  }

  // Those of one row.
  void Take(const Tree& tree, const Subsets& subsets, const double* row) {
    own.clear();
    before.clear();
    for (const Split& split : tree.splits) {
      own.push_back(PartOf(split, subsets, row[split.column]));
      before.push_back(split.is_repeated() ? After(split.before, split.before_side) : 1.0);
    }
  }

  // The presence of a split's column behind the split.
  double After(int64_t split, int32_t side) const { return before[split] * (side ? 1 - own[split] : own[split]); }
};

// A number of every row of a block.
struct alignas(64) Lanes {
  double at[kRowsOfBlock];
};

// The sums of a block of rows.
struct BlockSums {
  Lanes* columns;  // [column, output]
  Lanes* pairs;    // [column, column, output], of which the first column is the smaller one; null if none are wanted
  int64_t num_columns;
  int64_t num_outputs;

  Lanes& OfColumn(int64_t column, int64_t output) const { return columns[column * num_outputs + output]; }

  Lanes& OfPair(int64_t one, int64_t other, int64_t output) const {
    const int64_t first = std::min(one, other), second = std::max(one, other);
    return pairs[(first * num_columns + second) * num_outputs + output];
  }
};

// Scratch memory in which blocks are explained, for trees of up to some depth, points and outputs.
class BlockExplainer {
 public:
  BlockExplainer(const Subsets& subsets, int64_t depth, int64_t num_points, int64_t num_outputs, bool of_pairs)
      : subsets_(subsets),
        part_(depth + 1),
        excess_(depth + 1),
        presence_(depth + 1),
        product_((depth + 1) * num_points),
        below_(2 * (depth + 1) * num_outputs * num_points),
        pull_(of_pairs ? (depth + 1) * num_points : 0),
        fresh_(num_points),
        factor_(num_points),
        weighted_(num_points),
        gain_(num_points) {}

  // Adds the values of a tree to the sums of a block, whose values are those of all columns.
  void Explain(const Tree& tree, const Shares& shares, const Lanes* values, const BlockSums& sums) {
    WithWidest([&]() __attribute__((always_inline)) { Run(tree, shares, values, sums); });
  }

 private:
  static constexpr int64_t kRows = kRowsOfBlock;

  // A split with all that is known about it.
  struct Place {
    const Tree& tree;
    const Split& split;
    double share, share_before;

    double share_of(int32_t side) const { return side ? 1 - share : share; }
    bool is_twig() const { return split.leaf[0] && split.leaf[1]; }
  };

  inline void Run(const Tree& tree, const Shares& shares, const Lanes* values, const BlockSums& sums) {
    num_points_ = tree.rule.size;
    num_outputs_ = tree.num_outputs;
    for (int64_t point = 0; point < num_points_; ++point) {
      Fill(tree.rule.weight[point], &product_[point]);
      Fill(1 - tree.rule.point[point], &fresh_[point]);
    }
    for (const Step& step : tree.steps) {
      const Place place{tree, tree.splits[step.split], shares.own[step.split], shares.before[step.split]};
      switch (step.move) {
        case Move::kEnter: Enter(place, values, sums.pairs != nullptr); break;
        case Move::kTurn: Turn(place, sums.pairs != nullptr); break;
        case Move::kLeave: Leave(place, sums); break;
      }
    }
  }

  inline void Enter(const Place& place, const Lanes* values, bool of_pairs) {
    const Split& split = place.split;
    Lanes& __restrict part = part_[split.level];
    Lanes& __restrict excess = excess_[split.level];
    ReadParts(split, values[split.column], &part);
    for (int64_t row = 0; row < kRows; ++row) excess.at[row] = part.at[row] - place.share;
    if (place.is_twig()) return;
    const int32_t side = split.leaf[0] ? 1 : 0;
    const Lanes* const factor = FindFactors(place);
    const Lanes* const product = Products(split.level);
    Lanes* const next = Products(split.level + 1);
    for (int64_t point = 0; point < num_points_; ++point) {
      const Lanes& __restrict h = factor[point];
      const Lanes& __restrict own = product[point];
      Lanes& __restrict to = next[point];
      if (side == 0) {
        for (int64_t row = 0; row < kRows; ++row) to.at[row] = (part.at[row] - h.at[row] * excess.at[row]) * own.at[row];
      } else {
        for (int64_t row = 0; row < kRows; ++row) {
          to.at[row] = own.at[row] - (part.at[row] - h.at[row] * excess.at[row]) * own.at[row];
        }
      }
    }
    if (split.is_asked_again || of_pairs) FindPresence(place, side, of_pairs);
  }

  // Goes from child 0 to child 1.
  inline void Turn(const Place& place, bool of_pairs) {
    const Lanes* const product = Products(place.split.level);
    Lanes* const next = Products(place.split.level + 1);
    for (int64_t point = 0; point < num_points_; ++point) {
      const Lanes& __restrict own = product[point];
      Lanes& __restrict to = next[point];
      for (int64_t row = 0; row < kRows; ++row) to.at[row] = own.at[row] - to.at[row];
    }
    if (place.split.is_asked_again || of_pairs) FindPresence(place, 1, of_pairs);
  }

  inline void Leave(const Place& place, const BlockSums& sums) {
    const Lanes* const factor = FindFactors(place);
    const Lanes* const weighted = FindWeighted(place);
    for (int64_t output = 0; output < num_outputs_; ++output) {
      if (sums.pairs || !place.is_twig()) {
        LeaveAny(place, factor, weighted, output, sums);
      } else {
        LeaveTwig(place, factor, weighted, output, sums);
      }
    }
  }

  // At every point a split over two leaves has the same difference of their values.
  inline void LeaveTwig(const Place& place, const Lanes* factor, const Lanes* weighted, int64_t output, const BlockSums& sums) {
    const Split& split = place.split;
    const int64_t target = place.tree.first_output + output;
    const double second = split.leaf[1][target], change = split.leaf[0][target] - second;
    const Lanes& __restrict part = part_[split.level];
    const Lanes& __restrict excess = excess_[split.level];
    Lanes* const below = SumsBelow(split.level, split.side, output);
    Lanes total{};
    for (int64_t point = 0; point < num_points_; ++point) {
      const Lanes& __restrict h = factor[point];
      const Lanes& __restrict w = weighted[point];
      Lanes& __restrict own = below[point];
      for (int64_t row = 0; row < kRows; ++row) {
        own.at[row] = second + (part.at[row] - h.at[row] * excess.at[row]) * change;
        total.at[row] += w.at[row];
      }
    }
    Lanes& __restrict sum = sums.OfColumn(split.column, target);
    for (int64_t row = 0; row < kRows; ++row) sum.at[row] += excess.at[row] * (change * total.at[row]);
  }

  inline void LeaveAny(const Place& place, const Lanes* factor, const Lanes* weighted, int64_t output, const BlockSums& sums) {
    const Split& split = place.split;
    const int64_t target = place.tree.first_output + output;
    const Lanes& __restrict part = part_[split.level];
    const Lanes& __restrict excess = excess_[split.level];
    Lanes leaves[2], total{};
    const Below first = FindBelow(split, 0, output, target, &leaves[0]), second = FindBelow(split, 1, output, target, &leaves[1]);
    Lanes* const below = SumsBelow(split.level, split.side, output);
    for (int64_t point = 0; point < num_points_; ++point) {
      const Lanes& __restrict h = factor[point];
      const Lanes& __restrict one = first.sums[point * first.stride];
      const Lanes& __restrict other = second.sums[point * second.stride];
      const Lanes& __restrict w = weighted[point];
      Lanes& __restrict own = below[point];
      Lanes& __restrict gain = gain_[point];
      for (int64_t row = 0; row < kRows; ++row) {
        const double change = one.at[row] - other.at[row];
        own.at[row] = other.at[row] + (part.at[row] - h.at[row] * excess.at[row]) * change;
        gain.at[row] = w.at[row] * change;
        total.at[row] += gain.at[row];
      }
    }
    Lanes& __restrict sum = sums.OfColumn(split.column, target);
    for (int64_t row = 0; row < kRows; ++row) sum.at[row] += excess.at[row] * total.at[row];
    if (sums.pairs) AddPairs(place, target, sums);
  }

  // Adds what a split gives to its column together with every one above.
  inline void AddPairs(const Place& place, int64_t target, const BlockSums& sums) {
    const Split& split = place.split;
    for (int32_t at = split.above_begin; at < split.above_end; ++at) {
      const ColumnAbove& upper = place.tree.above[at];
      const Lanes* const pull = &pull_[upper.level * num_points_];
      Lanes total{};
      for (int64_t point = 0; point < num_points_; ++point) {
        for (int64_t row = 0; row < kRows; ++row) total.at[row] += gain_[point].at[row] * pull[point].at[row];
      }
      Lanes& __restrict sum = sums.OfPair(split.column, upper.column, target);
      for (int64_t row = 0; row < kRows; ++row) sum.at[row] += excess_[split.level].at[row] * total.at[row];
    }
  }

  inline void ReadParts(const Split& split, const Lanes& value, Lanes* part) const {
    const double limit = split.limit, most = split.most, no = split.part_no, yes = split.part_yes, missing = split.part_missing;
    if (split.question == Question::kIsMember) {
      for (int64_t row = 0; row < kRows; ++row) part->at[row] = PartOf(split, subsets_, value.at[row]);
    } else if (split.question == Question::kIsEqual) {
      for (int64_t row = 0; row < kRows; ++row) {
        const double known = value.at[row] == limit ? yes : no;
        part->at[row] = value.at[row] <= most ? known : missing;
      }
    } else {
      for (int64_t row = 0; row < kRows; ++row) {
        const double known = value.at[row] > limit ? yes : no;
        part->at[row] = value.at[row] <= most ? known : missing;
      }
    }
  }

  // h at every point.
  inline const Lanes* FindFactors(const Place& place) {
    if (!place.split.is_repeated()) return fresh_.data();
    const Lanes& __restrict presence = presence_[place.split.before_level];
    for (int64_t point = 0; point < num_points_; ++point) {
      Lanes& __restrict h = factor_[point];
      const double t = place.tree.rule.point[point], theirs = (1 - t) * place.share_before;
      if (place.tree.divides_rows) {
        for (int64_t row = 0; row < kRows; ++row) {
          const double sum = t * presence.at[row] + theirs;
          h.at[row] = sum > 0 ? theirs / sum : 1.0;
        }
      } else {  // a presence is 0, with h = 1, or 1
        const double less = theirs / (t + theirs) - 1;
        for (int64_t row = 0; row < kRows; ++row) h.at[row] = 1 + presence.at[row] * less;
      }
    }
    return factor_.data();
  }

  // g P at every point.
  inline const Lanes* FindWeighted(const Place& place) {
    const Lanes* const product = Products(place.split.level);
    if (!place.split.is_repeated()) return product;
    const Lanes& __restrict presence = presence_[place.split.before_level];
    for (int64_t point = 0; point < num_points_; ++point) {
      const Lanes& __restrict own = product[point];
      Lanes& __restrict weighted = weighted_[point];
      const double y = place.share_before, t = place.tree.rule.point[point], theirs = (1 - t) * y;
      if (place.tree.divides_rows) {
        for (int64_t row = 0; row < kRows; ++row) {
          const double sum = t * presence.at[row] + theirs;
          weighted.at[row] = sum > 0 ? own.at[row] * (presence.at[row] / sum) * (y / sum) : 0.0;
        }
      } else {
        const double g = 1 / (t + theirs) * (y / (t + theirs));
        for (int64_t row = 0; row < kRows; ++row) weighted.at[row] = own.at[row] * (presence.at[row] * g);
      }
    }
    return weighted_.data();
  }

  // The presence of a split's column on the way to a child; for pairs (o - z) / (t o + (1 - t) z) of it, too.
  inline void FindPresence(const Place& place, int32_t side, bool of_pairs) {
    const Split& split = place.split;
    const Lanes& __restrict part = part_[split.level];
    Lanes& __restrict presence = presence_[split.level];
    const double start = side, sign = side ? -1.0 : 1.0;
    for (int64_t row = 0; row < kRows; ++row) presence.at[row] = start + sign * part.at[row];
    if (split.is_repeated()) {
      const Lanes& __restrict above = presence_[split.before_level];
      for (int64_t row = 0; row < kRows; ++row) presence.at[row] *= above.at[row];
    }
    if (!of_pairs) return;
    const double theirs = place.share_before * place.share_of(side);
    for (int64_t point = 0; point < num_points_; ++point) {
      Lanes& __restrict pull = pull_[split.level * num_points_ + point];
      const double t = place.tree.rule.point[point];
      for (int64_t row = 0; row < kRows; ++row) {
        const double sum = t * presence.at[row] + (1 - t) * theirs;
        pull.at[row] = sum > 0 ? (presence.at[row] - theirs) / sum : 0.0;
      }
    }
  }

  // The sums below a child, at every point; those of a leaf are its value.
  struct Below {
    const Lanes* sums;
    int64_t stride;
  };

  inline Below FindBelow(const Split& split, int32_t side, int64_t output, int64_t target, Lanes* leaf) {
    if (!split.leaf[side]) return {SumsBelow(split.level + 1, side, output), 1};
    Fill(split.leaf[side][target], leaf);
    return {leaf, 0};
  }

  static void Fill(double value, Lanes* lanes) { std::fill_n(lanes->at, kRows, value); }

  Lanes* Products(int64_t level) { return &product_[level * num_points_]; }

  Lanes* SumsBelow(int64_t level, int64_t side, int64_t output) {
    return &below_[((level * 2 + side) * num_outputs_ + output) * num_points_];
  }

  const Subsets subsets_;
  std::vector<Lanes> part_, excess_, presence_, product_, below_, pull_, fresh_, factor_, weighted_, gain_;
  int64_t num_points_ = 0, num_outputs_ = 0;
};

}  // namespace jaxtree::explain

#endif  // JAXTREE_NATIVE_EXPLAIN_BLOCK_H_
