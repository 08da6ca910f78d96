// Trees of binary splits, in the order in which their Shapley values are summed; jaxtree/explain/splits.py makes the tables.
//
// At a split some share of the training rows takes the first child, and of a row that is explained a *part*: 1, 0, or the
// share itself where a missing value divides the row in proportion. Multiplied over all splits of one column on a path, the
// parts are the *presence* of the row's column there.

#ifndef JAXTREE_NATIVE_EXPLAIN_TREES_H_
#define JAXTREE_NATIVE_EXPLAIN_TREES_H_

#include <algorithm>
#include <cstdint>
#include <vector>

namespace jaxtree::explain {

// `SplitKind` of jaxtree/kernels/walk.py; splits with a branch for every code are thresholds here.
enum class Question : int32_t { kIsAbove = 0, kIsEqual = 2, kIsMember = 3 };

// The columns of all splits, each an array.
struct SplitTable {
  const int32_t* column;
  const int32_t* question;
  const int32_t* subset;
  const int32_t* child[2];      // another split, or ~node of a leaf
  const int32_t* before;        // 2 * split + child: the nearest edge above of the same column; -1 if there is none
  const double* limit;          // what is above it, or equal to it, or in the subset, has the part `yes`
  const double* most;           // what is above it, or is no number, has the part `missing`
  const double* part_no;        // the parts that take child 0
  const double* part_yes;
  const double* part_missing;
  const double* share;          // of the training rows that takes child 0
  const double* share_before;   // their presence at the edge `before`
};

// The points of Gauss-Legendre's rule between 0 and 1, and their weights.
struct Rule {
  const double* point;
  const double* weight;
  int64_t size;
};

struct Split {
  double limit, most, part_no, part_yes, part_missing, share, share_before;
  const double* leaf[2];     // the values of a leaf; null if the child is a split
  int32_t column;            // among those that some split asks about
  int32_t subset;
  Question question;
  int32_t level;
  int32_t side;              // which child of its parent it is
  int32_t before;            // the split above of the same column, as a place in the tree; -1 if there is none
  int32_t before_level;
  int32_t before_side;
  bool is_asked_again;       // about the same column, below it
  int32_t above_begin, above_end;  // its entries of `Tree::above`

  bool is_repeated() const { return before >= 0; }
};

// A column that a path asks about above a split, and the level of its last split there.
struct ColumnAbove {
  int32_t column, level;
};

// What is done next on the way through a tree: at a split, between its children, and behind both.
enum class Move { kEnter, kTurn, kLeave };

struct Step {
  Move move;
  int32_t split;
};

// A tree as a sequence of steps, depth first.
struct Tree {
  Rule rule;
  int64_t first_output, num_outputs;  // those to which it adds
  int64_t depth = 0;
  bool divides_rows = false;  // whether a part may be neither 0 nor 1
  std::vector<Split> splits;
  std::vector<ColumnAbove> above;
  std::vector<Step> steps;
};

// Puts the splits of a tree in order.
class TreeMaker {
 public:
  TreeMaker(const SplitTable& table, const double* node_value, int64_t num_outputs, const std::vector<int32_t>& place_of_column)
      : table_(table), node_value_(node_value), num_outputs_(num_outputs), place_of_column_(place_of_column) {}

  // The tree whose root is a split; with the columns above every split if `needs_above`.
  void Make(int32_t root, bool needs_above, Tree* tree) {
    Add(root, 0, 0, tree);
    while (!path_.empty()) {
      Open& open = path_.back();
      if (open.next == 2) {
        tree->steps.push_back({Move::kLeave, open.place});
        path_.pop_back();
        continue;
      }
      const int32_t side = open.next++, child = table_.child[side][open.split];
      if (child < 0) continue;
      if (side == 1 && table_.child[0][open.split] >= 0) tree->steps.push_back({Move::kTurn, open.place});
      Add(child, open.level + 1, side, tree);
    }
    if (needs_above) AddAbove(tree);
  }

 private:
  // A split on the path to where we are.
  struct Open {
    int32_t split, place, level, next;
  };

  void Add(int32_t split, int32_t level, int32_t side, Tree* tree) {
    const auto place = static_cast<int32_t>(tree->splits.size());
    Split made{};
    made.limit = table_.limit[split];
    made.most = table_.most[split];
    made.part_no = table_.part_no[split];
    made.part_yes = table_.part_yes[split];
    made.part_missing = table_.part_missing[split];
    made.share = table_.share[split];
    made.share_before = table_.share_before[split];
    for (int child = 0; child < 2; ++child) {
      const int32_t to = table_.child[child][split];
      if (to < 0) made.leaf[child] = node_value_ + static_cast<int64_t>(~to) * num_outputs_;
    }
    made.column = place_of_column_[table_.column[split]];
    made.subset = table_.subset[split];
    made.question = static_cast<Question>(table_.question[split]);
    made.level = level;
    made.side = side;
    made.before = -1;
    if (table_.before[split] >= 0) FindBefore(table_.before[split], tree, &made);
    tree->depth = std::max<int64_t>(tree->depth, level + 1);
    tree->divides_rows |= IsDivided(made.part_no) || IsDivided(made.part_yes) || IsDivided(made.part_missing);
    tree->splits.push_back(made);
    tree->steps.push_back({Move::kEnter, place});
    path_.push_back({split, place, level, 0});
  }

  static bool IsDivided(double part) { return part != 0 && part != 1; }

  void FindBefore(int32_t edge, Tree* tree, Split* made) const {
    const auto above = std::find_if(path_.rbegin(), path_.rend(), [&](const Open& open) { return open.split == edge / 2; });
    made->before = above->place;
    made->before_level = above->level;
    made->before_side = edge % 2;
    tree->splits[above->place].is_asked_again = true;
  }

  static void AddAbove(Tree* tree) {
    std::vector<const Split*> path;
    for (const Step& step : tree->steps) {
      Split& split = tree->splits[step.split];
      if (step.move == Move::kLeave) path.pop_back();
      if (step.move != Move::kEnter) continue;
      split.above_begin = static_cast<int32_t>(tree->above.size());
      for (auto upper = path.rbegin(); upper != path.rend(); ++upper) {
        const auto is_same = [&](const ColumnAbove& known) { return known.column == (*upper)->column; };
        const auto own = tree->above.begin() + split.above_begin;
        if ((*upper)->column == split.column || std::any_of(own, tree->above.end(), is_same)) continue;
        tree->above.push_back({(*upper)->column, (*upper)->level});
      }
      split.above_end = static_cast<int32_t>(tree->above.size());
      path.push_back(&split);
    }
  }

  const SplitTable& table_;
  const double* const node_value_;
  const int64_t num_outputs_;
  const std::vector<int32_t>& place_of_column_;
  std::vector<Open> path_;
};

}  // namespace jaxtree::explain

#endif  // JAXTREE_NATIVE_EXPLAIN_TREES_H_
