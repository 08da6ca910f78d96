// A small growth for tests: rows of random codes, with whole weights or derivatives, and the arrays that a level points to.

#ifndef JAXTREE_NATIVE_TESTS_PROBLEM_H_
#define JAXTREE_NATIVE_TESTS_PROBLEM_H_

#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "evaluate/moments.h"
#include "evaluate/open_features.h"
#include "input/level.h"
#include "partition/entries.h"
#include "tree/node_table.h"
#include "tree/scratch_tree.h"

namespace jaxtree::test {

using Code = uint8_t;
using Value = int32_t;

constexpr double kUnbounded = std::numeric_limits<double>::infinity();

// The objective of one Newton step: a second derivative and a gradient for each row.
inline Objective NewtonSteps(bool counts_rows = false) {
  return {Formula::kNewton, 1, 1, 2 + counts_rows, counts_rows, true, false, 0x1p-10, 0x1p-8};
}

// The objective of linear moments.
inline Objective LinearMoments(const Moments& moments, bool counts_rows = false) {
  Objective objective{Formula::kLinearMoments, 0, moments.num_outcomes, 0, counts_rows, true, false, 0x1p-10, 0x1p-10, moments};
  objective.num_channels = MomentPlaces(moments).number + counts_rows;
  return objective;
}

// The objective of classes, in the channels of a node.
inline Objective Classes(Formula formula, int32_t number) { return {formula, number, 1, number, false, false, false, 1, 1}; }

// The numbers of a root without limits; `num_bins` codes for every feature.
struct Problem {
  Problem(int64_t num_rows, int64_t num_features, int32_t num_bins, unsigned seed = 0)
      : num_rows(num_rows), codes(num_rows * num_features), kind(num_features, kThreshold), num_codes(num_features, num_bins),
        missing_code(num_features, num_bins), in_average(num_features, 1), value(2 * num_rows) {
    std::mt19937 draw(seed);
    for (Code& code : codes) code = draw() % num_bins;
    for (int64_t row = 0; row < num_rows; ++row) {
      value[row] = 1 + draw() % 1000;
      value[num_rows + row] = static_cast<Value>(draw() % 2001) - 1000 + 300 * (codes[row] % 3);
    }
    level.table = {codes.data(), num_features, num_rows, num_bins, kind.data(), num_codes.data(), missing_code.data(),
                   in_average.data(), nullptr, nullptr, nullptr, 0, 0};
    level.rules.objective = NewtonSteps();
    level.rules.split = {kLearn, false, kGain, 1, num_bins};
    level.rules.additions = {{-1, 0, 0}, {-1, 1, 1}};
    // No limits but that of depth.
    const std::vector<double> numbers(RootLimits<Value>::Number());
    level.rules.limits = RootLimits<Value>(numbers.data(), 1);
    level.rules.limits.max_depth = {5};
    level.rules.parameters = penalties;
    level.rules.num_parameters = 3;
    open = {num_features, num_codes.data(), nullptr, 0, nullptr, false};
  }

  Entries<Value> entries() const {
    Entries<Value> own{};
    own.size = num_rows;
    own.value = value.data();
    own.num_values = 2;
    own.are_in_row_order = true;
    own.additions = level.rules.additions;
    own.adds_two_values = true;
    return own;
  }

  // A table with room for nodes, of which there is a root.
  ScratchTree<Value> tree(int64_t capacity) const {
    NodeTable<Value> like{};
    like.num_words = 1, like.num_channels = 2, like.num_nodes = 1;
    ScratchTree<Value> own(like);
    own.MakeRoomFor(capacity);
    return own;
  }

  int64_t num_rows;
  std::vector<Code> codes;
  std::vector<int32_t> kind, num_codes, missing_code, in_average;
  std::vector<Value> value;
  uint32_t seed = 7;
  double penalties[3] = {1, 0, kUnbounded};
  Level<Code, Value> level{};
  OpenRules open{};
};

}  // namespace jaxtree::test

#endif  // JAXTREE_NATIVE_TESTS_PROBLEM_H_
