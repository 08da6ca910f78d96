// What becomes of the nodes where rows end: the nodes themselves, means of their values, or the spread of scores in bags of trees.

#ifndef JAXTREE_NATIVE_WALK_RESULTS_H_
#define JAXTREE_NATIVE_WALK_RESULTS_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "walk/values.h"

namespace jaxtree {

// The results of a walk, as `_Results` in jaxtree/kernels/native_walk.py has them: `ends`, `means` or `between` alone is not
// null. A *score* of a tree at a row is a coefficient, and others times the values of the node where the row ends.
struct Results {
  int64_t* ends;        // [row, tree]
  double* means;        // [row, column]
  const double* values; // of nodes, [node, column]
  int64_t num_columns;
  const uint8_t* counts;        // [line, row]: whether the trees of a line count for a row; null where all do
  const int32_t* line_of_tree;  // of counts
  int64_t num_rows;             // of a line
  const double* coefficients;   // [effect, 1 + column, row]
  int64_t num_effects, bag_size;
  double *between, *within;     // [effect, row]: sums over bags of squared means, and of variances in them
  int64_t* num_bags;            // [row]: those of which all trees count

  // Whether trees count for rows; null where all do.
  const uint8_t* CountsOf(int64_t tree) const {
    return counts == nullptr ? nullptr : counts + line_of_tree[tree] * num_rows;
  }
};

// Adds up the values of the nodes where rows of a block end, tree after tree.
class Sums {
 public:
  Sums(const Results& results, int64_t rows_of_block)
      : results_(results), sums_(results.means ? rows_of_block * results.num_columns : 0),
        number_(results.counts ? rows_of_block : 0) {}

  void Clear() {
    std::fill(sums_.begin(), sums_.end(), 0.0);
    std::fill(number_.begin(), number_.end(), 0.0);
  }

  // Adds the values of kTogether rows, the first at a place of the block that begins at row `begin` and ends before `end`.
  void Add(int64_t tree, int64_t place, const int32_t* ends, int64_t begin, int64_t end) {
    if (results_.counts != nullptr) return AddCounted(results_.CountsOf(tree) + begin + place, place, ends, end - begin - place);
    double* const sums = sums_.data() + place * results_.num_columns;
    if (results_.num_columns == 1) {
      for (int64_t next = 0; next < kTogether; ++next) sums[next] += results_.values[ends[next]];
      return;
    }
    for (int64_t next = 0; next < kTogether; ++next) AddValues(ends[next], sums + next * results_.num_columns);
  }

  void Write(int64_t begin, int64_t end, int64_t num_trees) const {
    double* const means = results_.means + begin * results_.num_columns;
    for (int64_t at = 0; at < (end - begin) * results_.num_columns; ++at) {
      means[at] = sums_[at] / (number_.empty() ? static_cast<double>(num_trees) : number_[at / results_.num_columns]);
    }
  }

 private:
  void AddValues(int32_t node, double* sum) const {
    const double* const value = results_.values + node * results_.num_columns;
    for (int64_t column = 0; column < results_.num_columns; ++column) sum[column] += value[column];
  }

  void AddCounted(const uint8_t* counts, int64_t place, const int32_t* ends, int64_t left) {
    for (int64_t next = 0; next < std::min(left, kTogether); ++next) {
      if (!counts[next]) continue;
      number_[place + next] += 1;
      AddValues(ends[next], sums_.data() + (place + next) * results_.num_columns);
    }
  }

  const Results& results_;
  std::vector<double> sums_, number_;  // of every row of the block
};

// The scores of a block of rows, bag after bag. Trees of a last bag that is not full are left out.
class BagScores {
 public:
  BagScores(const Results& results, int64_t rows_of_block, int64_t num_trees)
      : results_(results), room_(rows_of_block), stop_(num_trees / results.bag_size * results.bag_size),
        coefficients_(results.num_effects * (1 + results.num_columns) * room_), total_(results.num_effects * room_),
        squares_(total_), between_(total_), within_(total_), is_used_(room_), num_bags_(room_) {}

  void Open(int64_t begin, int64_t end) {
    begin_ = begin, end_ = end;
    const int64_t num_lines = results_.num_effects * (1 + results_.num_columns);
    for (int64_t line = 0; line < num_lines; ++line) {
      std::copy(results_.coefficients + line * results_.num_rows + begin, results_.coefficients + line * results_.num_rows + end,
                coefficients_.begin() + line * room_);
    }
    for (auto* sums : {&between_, &within_}) std::fill(sums->begin(), sums->end(), 0.0);
    std::fill(num_bags_.begin(), num_bags_.end(), 0);
  }

  void Add(int64_t tree, int64_t place, const int32_t* ends) {
    if (tree >= stop_) return;
    const int64_t of_bag = tree % results_.bag_size;
    if (of_bag == 0) OpenBag(place);
    const uint8_t* const counts = results_.CountsOf(tree);
    for (int64_t next = 0; counts != nullptr && next < std::min(end_ - begin_ - place, kTogether); ++next) {
      is_used_[place + next] &= counts[begin_ + place + next] != 0;
    }
    const int64_t num_columns = results_.num_columns;
    double value[kTogether], score[kTogether];
    for (int64_t effect = 0; effect < results_.num_effects; ++effect) {
      const double* line = coefficients_.data() + effect * (1 + num_columns) * room_ + place;
      std::copy_n(line, kTogether, score);
      for (int64_t column = 0; column < num_columns; ++column) {
        line += room_;
        for (int64_t next = 0; next < kTogether; ++next) value[next] = results_.values[ends[next] * num_columns + column];
        for (int64_t next = 0; next < kTogether; ++next) score[next] += line[next] * value[next];
      }
      double *const total = &total_[effect * room_ + place], *const squares = &squares_[effect * room_ + place];
      for (int64_t next = 0; next < kTogether; ++next) total[next] += score[next];
      for (int64_t next = 0; next < kTogether; ++next) squares[next] += score[next] * score[next];
    }
    if (of_bag == results_.bag_size - 1) CloseBag(place);
  }

  void Write() const {
    const int64_t size = end_ - begin_;
    for (int64_t effect = 0; effect < results_.num_effects; ++effect) {
      std::copy_n(between_.begin() + effect * room_, size, results_.between + effect * results_.num_rows + begin_);
      std::copy_n(within_.begin() + effect * room_, size, results_.within + effect * results_.num_rows + begin_);
    }
    std::copy_n(num_bags_.begin(), size, results_.num_bags + begin_);
  }

 private:
  void OpenBag(int64_t place) {
    std::fill_n(is_used_.begin() + place, kTogether, 1);
    for (int64_t effect = 0; effect < results_.num_effects; ++effect) {
      std::fill_n(total_.begin() + effect * room_ + place, kTogether, 0.0);
      std::fill_n(squares_.begin() + effect * room_ + place, kTogether, 0.0);
    }
  }

  void CloseBag(int64_t place) {
    const auto bag_size = static_cast<double>(results_.bag_size);
    for (int64_t next = place; next < place + kTogether; ++next) num_bags_[next] += is_used_[next];
    for (int64_t effect = 0; effect < results_.num_effects; ++effect) {
      for (int64_t next = place; next < place + kTogether; ++next) {
        if (!is_used_[next]) continue;
        const int64_t at = effect * room_ + next;
        const double mean = total_[at] / bag_size;
        between_[at] += mean * mean;
        within_[at] += squares_[at] / bag_size - mean * mean;
      }
    }
  }

  const Results& results_;
  const int64_t room_, stop_;  // rows of a block; trees of full bags
  std::vector<double> coefficients_, total_, squares_, between_, within_;
  std::vector<uint8_t> is_used_;
  std::vector<int64_t> num_bags_;
  int64_t begin_ = 0, end_ = 0;
};

}  // namespace jaxtree

#endif  // JAXTREE_NATIVE_WALK_RESULTS_H_
