// Shapley values of a block of rows and one tree, beside their definition.

#include <cmath>
#include <limits>
#include <vector>

#include "check.h"
#include "explain/block.h"
#include "explain/trees.h"

namespace jaxtree::explain {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinite = std::numeric_limits<double>::infinity();

// x0 > 0 comes first, with a leaf for rows above it; below stands x1 > 0, with leaves on both sides. A missing value is
// above in x0, and divided in x1.
struct TwoSplits {
  std::vector<int32_t> column{0, 1}, question{0, 0}, subset{0, 0}, first{1, ~2}, second{~1, ~3}, before{-1, -1};
  std::vector<double> limit{0, 0}, most{kInfinite, kInfinite}, no{1, 1}, yes{0, 0}, missing{0, 0.25}, share{0.5, 0.25},
      share_before{1, 1};
  std::vector<double> node_value{0, 8, 0, 16};
  std::vector<int32_t> places{0, 1};
  double point = 0.5, weight = 1;
  Tree tree;

  TwoSplits() {
    tree.rule = {&point, &weight, 1};
    tree.first_output = 0;
    tree.num_outputs = 1;
    const SplitTable table{column.data(), question.data(), subset.data(), {first.data(), second.data()}, before.data(),
                           limit.data(), most.data(), no.data(), yes.data(), missing.data(), share.data(), share_before.data()};
    TreeMaker(table, node_value.data(), 1, places).Make(0, true, &tree);
  }
};

struct Found {
  double first, second, pair;
};

Found Explain(double x0, double x1) {
  TwoSplits made;
  std::vector<Lanes> values(2), columns(2), pairs(4);
  std::fill_n(values[0].at, kRowsOfBlock, x0);
  std::fill_n(values[1].at, kRowsOfBlock, x1);
  const Subsets subsets{nullptr, 0};
  Shares shares;
  shares.Take(made.tree);
  BlockExplainer explainer(subsets, made.tree.depth, 1, 1, true);
  explainer.Explain(made.tree, shares, values.data(), {columns.data(), pairs.data(), 2, 1});
  const BlockSums sums{columns.data(), pairs.data(), 2, 1};
  for (const Lanes& lanes : columns) {
    for (const double lane : lanes.at) CHECK_EQ(lane, lanes.at[0]);
  }
  return {columns[0].at[0], columns[1].at[0], sums.OfPair(1, 0, 0).at[0]};
}

// Nothing known: 8 / 2 + (0 / 4 + 16 * 3 / 4) / 2 = 10.
TEST(Explain_TwoColumns) {
  // Only x0 known: 12; only x1 known: 4; both: 0.
  const Found found = Explain(-1, -1);
  CHECK_EQ(found.first, ((12.0 - 10) + (0 - 4.0)) / 2);
  CHECK_EQ(found.second, ((4.0 - 10) + (0 - 12.0)) / 2);
  CHECK_EQ(found.pair, 0 - 12.0 - 4 + 10);
}

TEST(Explain_MissingValues) {
  const Found above = Explain(kNone, 1);  // x0 known: 8; x1 known: 12; both: 8
  CHECK_EQ(above.first, ((8.0 - 10) + (8 - 12.0)) / 2);
  CHECK_EQ(above.second, ((12.0 - 10) + 0) / 2);
  const Found divided = Explain(-1, kNone);  // x1 says nothing
  CHECK_EQ(divided.first, 12.0 - 10);
  CHECK_EQ(divided.second, 0.0);
  CHECK_EQ(divided.pair, 0.0);
}

TEST(Explain_StepsGoDepthFirst) {
  const TwoSplits made;
  CHECK_EQ(made.tree.depth, int64_t{2});
  CHECK_EQ(made.tree.steps.size(), size_t{4});
  CHECK(made.tree.steps[0].move == Move::kEnter && made.tree.steps[1].move == Move::kEnter);
  CHECK(made.tree.steps[2].move == Move::kLeave && made.tree.steps[3].split == 0);
  CHECK_EQ(made.tree.above.size(), size_t{1});
  CHECK(made.tree.divides_rows);
}

TEST(Explain_CodesBehindASubset) {
  const std::vector<uint32_t> words{1u << 3, 1u << 1};
  const Subsets subsets{words.data(), 2};
  CHECK(subsets.Has(0, 3) && !subsets.Has(0, 4) && subsets.Has(0, 33));
  CHECK(subsets.Has(0, 97) && !subsets.Has(0, 96));
}

}  // namespace
}  // namespace jaxtree::explain
