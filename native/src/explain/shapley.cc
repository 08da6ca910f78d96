// The handler of Shapley values of rows, and of pairs of columns.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "common/parallel.h"
#include "explain/block.h"
#include "explain/trees.h"
#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

namespace jaxtree::explain {
namespace {

constexpr int64_t kWholes = 6;
constexpr int64_t kReals = 7;
constexpr int64_t kWholesOfTree = 4;

// Rows whose sums stay in a core's own cache while all trees are read.
constexpr int64_t kMostRowsOfPart = 256;
constexpr int64_t kMostBytesOfPart = 1 << 18;

using Whole = ffi::Buffer<ffi::S32>;
using Real = ffi::Buffer<ffi::F64>;

SplitTable ReadTable(const Whole& wholes, const Real& reals) {
  const int64_t size = wholes.dimensions()[1];
  const int32_t* const whole = wholes.typed_data();
  const double* const real = reals.typed_data();
  SplitTable table;
  table.column = whole;
  table.question = whole + size;
  table.subset = whole + 2 * size;
  table.child[0] = whole + 3 * size;
  table.child[1] = whole + 4 * size;
  table.before = whole + 5 * size;
  table.limit = real;
  table.most = real + size;
  table.part_no = real + 2 * size;
  table.part_yes = real + 3 * size;
  table.part_missing = real + 4 * size;
  table.share = real + 5 * size;
  table.share_before = real + 6 * size;
  return table;
}

// The columns that splits ask about, ascending, and the place of each among them.
struct Columns {
  Columns(const int32_t* asked, int64_t size, int64_t number) : place(number, -1) {
    for (int64_t at = 0; at < size; ++at) place[asked[at]] = 0;
    for (int64_t column = 0; column < number; ++column) {
      if (place[column] < 0) continue;
      place[column] = static_cast<int32_t>(used.size());
      used.push_back(static_cast<int32_t>(column));
    }
  }

  int64_t size() const { return used.size(); }

  std::vector<int32_t> used, place;
};

// All that is explained.
struct Task {
  const Columns& columns;
  const std::vector<Tree>& trees;
  Subsets subsets;
  const double* values;                 // [row, column]
  int64_t num_rows;
  const std::vector<double>& others;    // [other, used column]; none for the training rows
  double* result;                       // [row, column, output], or of pairs [row, column, column, output]
  int64_t num_outputs;
  bool of_pairs;

  int64_t num_columns() const { return columns.place.size(); }
  int64_t num_others() const { return columns.size() ? others.size() / columns.size() : 0; }
};

// Explains a part of the rows: blocks of them, tree by tree.
class Part {
 public:
  Part(const Task& task, int64_t depth, int64_t num_points, int64_t num_outputs, int64_t rows)
      : task_(task),
        explainer_(task.subsets, depth, num_points, num_outputs, task.of_pairs),
        num_blocks_((rows + kRowsOfBlock - 1) / kRowsOfBlock),
        values_(num_blocks_ * task.columns.size()),
        of_columns_(num_blocks_ * SizeOfColumns()),
        of_pairs_(task.of_pairs ? num_blocks_ * SizeOfPairs() : 0) {}

  void Explain(int64_t begin, int64_t end) {
    Read(begin, end);
    for (const Tree& tree : task_.trees) {
      if (task_.num_others() == 0) {
        shares_.Take(tree);
        Add(tree);
      }
      for (int64_t other = 0; other < task_.num_others(); ++other) {
        shares_.Take(tree, task_.subsets, task_.others.data() + other * task_.columns.size());
        Add(tree);
      }
    }
    for (int64_t row = begin; row < end; ++row) task_.of_pairs ? WritePairs(row, row - begin) : WriteColumns(row, row - begin);
  }

 private:
  int64_t SizeOfColumns() const { return task_.columns.size() * task_.num_outputs; }
  int64_t SizeOfPairs() const { return task_.columns.size() * SizeOfColumns(); }

  // Rows behind the last repeat it.
  void Read(int64_t begin, int64_t end) {
    const std::vector<int32_t>& used = task_.columns.used;
    for (int64_t at = 0; at < num_blocks_ * kRowsOfBlock; ++at) {
      const double* const row = task_.values + std::min(begin + at, end - 1) * task_.num_columns();
      Lanes* const to = ValuesOf(at / kRowsOfBlock);
      for (size_t column = 0; column < used.size(); ++column) to[column].at[at % kRowsOfBlock] = row[used[column]];
    }
  }

  void Add(const Tree& tree) {
    for (int64_t block = 0; block < num_blocks_; ++block) explainer_.Explain(tree, shares_, ValuesOf(block), SumsOf(block));
  }

  Lanes* ValuesOf(int64_t block) { return values_.data() + block * task_.columns.size(); }

  BlockSums SumsOf(int64_t block) {
    Lanes* const pairs = task_.of_pairs ? of_pairs_.data() + block * SizeOfPairs() : nullptr;
    return {of_columns_.data() + block * SizeOfColumns(), pairs, task_.columns.size(), task_.num_outputs};
  }

  void WriteColumns(int64_t row, int64_t at) {
    const BlockSums sums = SumsOf(at / kRowsOfBlock);
    const int64_t num_outputs = task_.num_outputs;
    double* const to = task_.result + row * task_.num_columns() * num_outputs;
    std::fill_n(to, task_.num_columns() * num_outputs, 0.0);
    for (int64_t column = 0; column < sums.num_columns; ++column) {
      for (int64_t output = 0; output < num_outputs; ++output) {
        to[task_.columns.used[column] * num_outputs + output] = sums.OfColumn(column, output).at[at % kRowsOfBlock];
      }
    }
  }

  // Each of the two orders of a pair has half; a column with itself has what the pairs leave of its value.
  void WritePairs(int64_t row, int64_t at) {
    const BlockSums sums = SumsOf(at / kRowsOfBlock);
    const int64_t num_columns = task_.num_columns(), num_outputs = task_.num_outputs;
    double* const to = task_.result + row * num_columns * num_columns * num_outputs;
    std::fill_n(to, num_columns * num_columns * num_outputs, 0.0);
    for (int64_t output = 0; output < num_outputs; ++output) {
      const auto place = [&](int64_t one, int64_t other) -> double& {
        return to[(task_.columns.used[one] * num_columns + task_.columns.used[other]) * num_outputs + output];
      };
      for (int64_t one = 0; one < sums.num_columns; ++one) {
        double left = sums.OfColumn(one, output).at[at % kRowsOfBlock];
        for (int64_t other = 0; other < sums.num_columns; ++other) {
          if (other == one) continue;
          place(one, other) = sums.OfPair(one, other, output).at[at % kRowsOfBlock] / 2;
          left -= place(one, other);
        }
        place(one, one) = left;
      }
    }
  }

  const Task& task_;
  BlockExplainer explainer_;
  const int64_t num_blocks_;
  Shares shares_;
  std::vector<Lanes> values_, of_columns_, of_pairs_;
};

void ExplainAll(Threads& threads, const Task& task) {
  int64_t depth = 0, num_points = 0, num_outputs = 0;
  for (const Tree& tree : task.trees) {
    depth = std::max(depth, tree.depth);
    num_points = std::max(num_points, tree.rule.size);
    num_outputs = std::max(num_outputs, tree.num_outputs);
  }
  const int64_t numbers = task.columns.size() * task.num_outputs * (task.of_pairs ? task.columns.size() : 1);
  const int64_t fitting = kMostBytesOfPart / (8 * std::max<int64_t>(numbers, 1));
  const int64_t share = (task.num_rows + threads.num_threads() - 1) / threads.num_threads();
  const int64_t most = std::min({kMostRowsOfPart, fitting, share});
  const int64_t size = std::max<int64_t>(1, most / kRowsOfBlock) * kRowsOfBlock;
  ForEach(threads, (task.num_rows + size - 1) / size, [&](int64_t part) {
    const int64_t begin = part * size, end = std::min(begin + size, task.num_rows);
    Part(task, depth, num_points, num_outputs, end - begin).Explain(begin, end);
  });
}

ffi::Error ExplainRows(ffi::ThreadPool pool, Real values, Real others, Whole wholes, Real reals, Real node_value,
                       ffi::Buffer<ffi::U32> words, Whole of_trees, Real rules, ffi::ResultBuffer<ffi::F64> result) {
  const auto rank = result->dimensions().size();
  const int64_t num_columns = values.dimensions()[1], num_outputs = node_value.dimensions()[1];
  const bool fit = wholes.dimensions()[0] == kWholes && reals.dimensions()[0] == kReals &&
                   wholes.dimensions()[1] == reals.dimensions()[1] && of_trees.dimensions()[1] == kWholesOfTree &&
                   others.dimensions()[1] == num_columns && (rank == 3 || rank == 4);
  if (!fit) return ffi::Error::InvalidArgument("there must be rows of the same columns, and all fields of splits and trees");
  Threads threads(&pool);
  const SplitTable table = ReadTable(wholes, reals);
  const Columns columns(table.column, wholes.dimensions()[1], num_columns);
  const int64_t num_points = rules.dimensions()[1];
  std::vector<Tree> trees(of_trees.dimensions()[0]);
  ForEach(threads, trees.size(), [&](int64_t number) {
    const int32_t* const own = of_trees.typed_data() + number * kWholesOfTree;
    Tree& tree = trees[number];
    const int64_t first = static_cast<int64_t>(own[1]) * (own[1] - 1) / 2;  // rules of fewer points stand before
    tree.rule = {rules.typed_data() + first, rules.typed_data() + num_points + first, own[1]};
    tree.first_output = own[2];
    tree.num_outputs = own[3] - own[2];
    TreeMaker(table, node_value.typed_data(), num_outputs, columns.place).Make(own[0], rank == 4, &tree);
  });
  std::vector<double> compared;
  for (int64_t other = 0; other < others.dimensions()[0]; ++other) {
    for (const int32_t column : columns.used) compared.push_back(others.typed_data()[other * num_columns + column]);
  }
  ExplainAll(threads, {columns, trees, {words.typed_data(), static_cast<int64_t>(words.dimensions()[1])}, values.typed_data(),
                       values.dimensions()[0], compared, result->typed_data(), num_outputs, rank == 4});
  return ffi::Error::Success();
}

}  // namespace
}  // namespace jaxtree::explain

XLA_FFI_DEFINE_HANDLER_SYMBOL(jaxtree_explain, jaxtree::explain::ExplainRows,
                              xla::ffi::Ffi::Bind()
                                  .Ctx<xla::ffi::ThreadPool>()
                                  .Arg<xla::ffi::Buffer<xla::ffi::F64>>()    // rows
                                  .Arg<xla::ffi::Buffer<xla::ffi::F64>>()    // rows to compare with; none for the training rows
                                  .Arg<xla::ffi::Buffer<xla::ffi::S32>>()    // whole numbers of splits
                                  .Arg<xla::ffi::Buffer<xla::ffi::F64>>()    // reals of splits
                                  .Arg<xla::ffi::Buffer<xla::ffi::F64>>()    // values of nodes
                                  .Arg<xla::ffi::Buffer<xla::ffi::U32>>()    // words of subsets
                                  .Arg<xla::ffi::Buffer<xla::ffi::S32>>()    // root, number of points, and outputs of trees
                                  .Arg<xla::ffi::Buffer<xla::ffi::F64>>()    // points and weights of the rules
                                  .Ret<xla::ffi::Buffer<xla::ffi::F64>>());  // values
