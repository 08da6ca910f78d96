// Sums of rows by their codes, in all the ways in which they are made.

#include <cstdint>
#include <cstring>
#include <numeric>
#include <vector>

#include "check.h"
#include "histogram/level_histograms.h"
#include "histogram/node_histograms.h"
#include "problem.h"

namespace jaxtree {
namespace {

using test::Problem;
using test::Value;

// The sums of some rows by the codes of a feature: [code, channel].
template <typename Takes>
std::vector<Value> SumsByCode(const Problem& problem, int32_t feature, const Takes& takes) {
  std::vector<Value> sums(problem.num_codes[feature] * 2);
  for (int64_t row = 0; row < problem.num_rows; ++row) {
    if (!takes(row)) continue;
    const int32_t code = problem.codes[feature * problem.num_rows + row];
    for (int channel = 0; channel < 2; ++channel) sums[2 * code + channel] += problem.value[channel * problem.num_rows + row];
  }
  return sums;
}

// Rows of one score, every third of a problem, packed side by side.
struct PackedList {
  std::vector<int32_t> rows, added;
  PackedFormat packed;
  int32_t total[4] = {};

  explicit PackedList(const Problem& problem) {
    const Value* const gradient = problem.value.data() + problem.num_rows;
    BitsOfRows bits;
    for (int32_t row = 1; row < problem.num_rows; row += 3) {
      rows.push_back(row);
      bits.Add(problem.value[row], gradient[row]);
    }
    packed = PackedFormat::For(bits);
    added.resize(2 * rows.size());
    for (size_t at = 0; at < rows.size(); ++at) {
      const uint64_t own = packed.Pack(problem.value[rows[at]], gradient[rows[at]]);
      std::memcpy(added.data() + 2 * at, &own, sizeof(own));
      total[0] += problem.value[rows[at]];
      total[1] += gradient[rows[at]];
      ++total[2];
    }
  }

  AddedRows All() const { return {rows.data(), added.data(), 0, static_cast<int64_t>(rows.size()), packed}; }
};

void CheckSumsUpTo(const Problem& problem, const PackedList& list, const std::vector<int32_t>& cells, int32_t num_features) {
  const int32_t num_codes = problem.num_codes[0];
  for (int32_t feature = 0; feature < num_features; ++feature) {
    const std::vector<Value> alone = SumsByCode(problem, feature, [](int64_t row) { return row % 3 == 1; });
    Value up_to[2] = {};
    for (int32_t code = 0; code < num_codes; ++code) {
      for (int channel = 0; channel < 2; ++channel) {
        up_to[channel] += alone[2 * code + channel];
        CHECK_EQ(cells[(feature * num_codes + code) * 4 + channel], up_to[channel]);
      }
    }
    CHECK_EQ(cells[(feature * num_codes + num_codes - 1) * 4 + 2], list.total[2]);
  }
}

TEST(Histogram_of_a_node_has_sums_up_to_every_code) {
  constexpr int32_t kBins = 9, kFeatures = 4;
  const Problem problem(1000, kFeatures, kBins);
  HistogramColumns columns;
  // The last feature has a usual code, whose rows are not read: it gets what the others leave.
  for (int32_t f = 0; f < kFeatures; ++f) columns.Append(problem.level.table.ColumnOf(f), kBins, f == 3 ? 2 : kNoUsual);
  const PackedList list(problem);
  std::vector<int32_t> cells((kFeatures * kBins + kMostCodes) * 4);
  const AddedRows all = list.All();
  AddColumns<4>(columns, {0, kFeatures}, all.Block(0, 3), cells.data());
  for (int64_t block = 1; block < 3; ++block) {
    std::vector<int32_t> others(cells.size());
    AddColumns<4>(columns, {0, 1}, all.Block(block, 3), others.data());
    AddColumns<4>(columns, {1, kFeatures}, all.Block(block, 3), others.data());
    for (size_t at = 0; at < cells.size(); ++at) cells[at] += others[at];
  }
  SumUpColumns<4>(columns, {0, kFeatures}, list.total, cells.data());
  CheckSumsUpTo(problem, list, cells, kFeatures);
}

// Few rows, or rows of many bits, or of one code for most of them, fit into a cell.
TEST(Histogram_of_packed_rows_is_right_however_many_rows_a_cell_has) {
  constexpr int32_t kBins = 200, kFeatures = 4;
  for (const int32_t size : {1, 1 << 6, 1 << 16, 1 << 20}) {
    for (const int64_t share : {1, 2, 50}) {
      Problem problem(6000, kFeatures, kBins);
      const int64_t num_rows = problem.num_rows;
      for (int64_t row = 0; row < num_rows; ++row) {
        problem.value[row] = size - (size > 1 ? row % 2 : 0);
        problem.value[num_rows + row] = row % 5 == 0 ? -size : size;
        // Of the second feature most rows, or half of them, have one code.
        if (row % share != 1) problem.codes[num_rows + row] = 7;
      }
      HistogramColumns columns;
      for (int32_t f = 0; f < kFeatures; ++f) columns.Append(problem.level.table.ColumnOf(f), kBins, kNoUsual);
      const PackedList list(problem);
      std::vector<int32_t> cells((kFeatures * kBins + kMostCodes) * 4, -1), apart = cells;
      AddColumns<4>(columns, {0, kFeatures}, list.All(), cells.data(), true);
      SumUpColumns<4>(columns, {0, kFeatures}, list.total, cells.data(), true);
      CheckSumsUpTo(problem, list, cells, kFeatures);
      AddColumns<4>(columns, {0, kFeatures}, list.All(), apart.data());
      SumUpColumns<4>(columns, {0, kFeatures}, list.total, apart.data());
      CHECK(cells == apart);
    }
  }
}

TEST(Histogram_memory_is_given_once_until_it_is_given_back) {
  HistogramPool pool;
  pool.Open(10, 4);
  const int32_t first = pool.Acquire(), second = pool.Acquire();
  CHECK(first != second && pool.At(first) != pool.At(second));
  pool.Release(first);
  CHECK_EQ(pool.Acquire(), first);
}

// A level of one node, and below it one of two, the second of which is the difference of its parent and its sibling.
TEST(Histogram_of_a_level_is_summed_or_a_difference) {
  Problem problem(5000, 5, 17);
  ScratchTree<Value> tree = problem.tree(3);
  NodeTable<Value>& nodes = tree.table();
  nodes.num_nodes = 3;
  const int32_t node[] = {1, 2};
  std::vector<int32_t> slot(problem.num_rows, 0);
  OpenFeatures open(problem.open, 1);
  Level<test::Code, Value>& level = problem.level;
  level.num_entries = problem.num_rows;
  level.value = problem.value.data();
  level.slot = slot.data();
  level.node = node;
  level.num_slots = 1;
  level.sums = nodes.sums, level.num_node_channels = 2;
  level.rows_of_node = nodes.num_rows, level.root = nodes.root;
  level.open = &open;
  Memory memory(nullptr, 0);
  LevelHistograms<test::Code, Value> histograms(memory);
  Threads one;
  std::vector<Split> splits(1);
  histograms.FindSplits(one, level, {Origin{}}, splits);
  const auto check = [&](int64_t of_slot, int32_t feature, const auto& takes) {
    const std::vector<Value> expected = SumsByCode(problem, feature, takes);
    histograms.ForCodesOf(level, of_slot, feature, [&](int32_t code, const Value* sums) {
      CHECK_EQ(sums[0], expected[2 * code]);
      CHECK_EQ(sums[1], expected[2 * code + 1]);
    });
  };
  for (int32_t feature = 0; feature < 5; ++feature) check(0, feature, [](int64_t) { return true; });
  // A third of the rows leaves the level, which changes the parent; the others are of both children.
  for (int64_t row = 0; row < problem.num_rows; ++row) slot[row] = row % 4 == 0 ? 0 : 1;
  level.num_slots = 2;
  splits.resize(2);
  histograms.FindSplits(one, level, {Origin{}, Origin{0, 0}}, splits);
  for (int32_t feature = 0; feature < 5; ++feature) {
    check(0, feature, [](int64_t row) { return row % 4 == 0; });
    check(1, feature, [](int64_t row) { return row % 4 != 0; });
  }
}

TEST(Histogram_a_column_of_one_usual_code_is_sparse) {
  Problem problem(4000, 1, 5);
  for (int64_t row = 0; row < problem.num_rows; ++row) problem.codes[row] = row % 50 == 0 ? 1 + row % 3 : 4;
  const SparseColumn column = FindSparseColumn(problem.level, 0);
  CHECK(column.is_found);
  CHECK_EQ(column.usual, 4);
  CHECK_EQ(column.rows.size(), size_t{80});
  problem.codes.assign(problem.codes.size(), 0);
  for (int64_t row = 0; row < problem.num_rows; row += 2) problem.codes[row] = 1;
  CHECK(!FindSparseColumn(problem.level, 0).is_found);
}

}  // namespace
}  // namespace jaxtree
