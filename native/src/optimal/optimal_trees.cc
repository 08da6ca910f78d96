// The handler of XLA for the best splits of small trees, see optimal_trees.h.

#include "optimal/optimal_trees.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

namespace jaxtree {
namespace {

// The sums of the values of all rows, and of their sizes at most.
int64_t SizeOfSums(const IndicatorTable& table) {
  double most = 0;
  for (int64_t number = 0; number < table.num_values; ++number) {
    double size = 0;
    for (int64_t row = 0; row < table.num_rows; ++row) size += std::abs(static_cast<double>(table.value[number * table.num_rows + row]));
    most = std::max(most, size);
  }
  return static_cast<int64_t>(std::min(most, 0x1p62));
}

// The fault of a table of indicators, or of the nodes of its rows; null if there is none.
const char* WrongNumbers(const IndicatorTable& table, const ffi::Buffer<ffi::U16>& codes, const ffi::Buffer<ffi::S32>& first,
                         const ffi::Buffer<ffi::S64>& value, const ffi::Buffer<ffi::S32>& node, int64_t num_nodes,
                         int64_t room) {
  const int64_t groups = table.num_groups, rows = table.num_rows, values = table.num_values;
  if (groups < 0 || rows < 0 || values < 1 || num_nodes < 0 || table.num_labels < 1) return "sizes must not be negative";
  const auto size = [](const auto& array) { return static_cast<int64_t>(array.element_count()); };
  const bool have_room = size(codes) >= groups * rows && size(first) > groups && size(value) >= values * rows;
  if (!have_room || size(node) < rows) return "arrays must be as long as the sizes say";
  if (table.first[0] != 0) return "groups must begin at the first indicator";
  for (int64_t group = 0; group < groups; ++group) {
    const int64_t most = table.Size(group);
    if (most < 0) return "indicators must follow one another";
    const uint16_t* const own = table.codes + group * rows;
    if (rows > 0 && *std::max_element(own, own + rows) > most) return "codes must be those of their group";
  }
  if (room < table.NumIndicators()) return "there must be room for the costs of all indicators";
  for (int64_t row = 0; row < rows; ++row) {
    if (node.typed_data()[row] >= num_nodes) return "rows must be at nodes";
    if (table.label[row] < 0 || table.label[row] >= table.num_labels) return "labels must be those of the loss";
  }
  return nullptr;
}

// Fills the least costs of every node: [node, side, leaves, indicator]. `node` is that of a row, negative for none.
//
// `sizes` are the numbers of groups, rows, values and nodes; all arrays but those of the cost may be longer, so that
// tables of a like size share a program.
ffi::Error Handle(ffi::ThreadPool pool, ffi::Buffer<ffi::S64> sizes, ffi::Buffer<ffi::U16> codes, ffi::Buffer<ffi::S32> first,
                  ffi::Buffer<ffi::PRED> is_nested, ffi::Buffer<ffi::S32> label, ffi::Buffer<ffi::S64> value,
                  ffi::Buffer<ffi::S32> node, ffi::Buffer<ffi::S64> loss, ffi::Buffer<ffi::F64> scale,
                  ffi::Buffer<ffi::F64> mean, ffi::Buffer<ffi::S64> least_rows, ffi::ResultBuffer<ffi::S64> sides,
                  int32_t formula, int32_t num_labels, bool counts_rows, int32_t depth) {
  const IndicatorTable table{codes.typed_data(),
                             first.typed_data(),
                             is_nested.typed_data(),
                             label.typed_data(),
                             value.typed_data(),
                             sizes.typed_data()[0],
                             sizes.typed_data()[1],
                             sizes.typed_data()[2],
                             num_labels};
  const LeafCost cost{static_cast<LeafFormula>(formula), loss.typed_data(), loss.dimensions()[1], num_labels,
                      table.num_values, scale.typed_data()[0], mean.typed_data(), least_rows.typed_data()[0], counts_rows,
                      LeafCost::IsByLabel(loss.typed_data(), num_labels, loss.dimensions()[1])};
  const int64_t num_nodes = sizes.typed_data()[3];
  const int64_t per_indicator = 2 * (int64_t{1} << (depth - 1)) * std::max<int64_t>(num_nodes, 1);
  const int64_t room = static_cast<int64_t>(sides->element_count()) / per_indicator;
  const char* const wrong = WrongNumbers(table, codes, first, value, node, num_nodes, room);
  if (wrong != nullptr) return ffi::Error::InvalidArgument(wrong);
  std::vector<std::vector<int64_t>> rows(num_nodes);
  for (int64_t row = 0; row < table.num_rows; ++row) {
    if (node.typed_data()[row] >= 0) rows[node.typed_data()[row]].push_back(row);
  }
  const int64_t cells = 2 * (int64_t{1} << (depth - 1)) * table.NumIndicators();
  Threads threads(&pool);
  const auto run = [&](auto sum, auto of) {
    ForEach(threads, num_nodes, [&](int64_t at) {
      int64_t* const own = sides->typed_data() + at * cells;
      std::fill_n(own, cells, int64_t{0});
      if (rows[at].empty()) return;
      SmallTrees<decltype(sum), decltype(of)>(threads, table, cost, std::move(rows[at])).Run(depth, own);
    });
  };
  const int64_t most = SizeOfSums(table);
  if (most >= 1 << 27) {
    run(int64_t{}, int64_t{});
  } else if (cost.CountsErrors()) {
    run(int32_t{}, int32_t{});
  } else {
    run(int32_t{}, int64_t{});
  }
  return ffi::Error::Success();
}

}  // namespace
}  // namespace jaxtree

XLA_FFI_DEFINE_HANDLER_SYMBOL(jaxtree_best_sides_of_nodes, jaxtree::Handle,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::ThreadPool>()
                                  .Arg<ffi::Buffer<ffi::S64>>()   // numbers of groups, rows, values and nodes
                                  .Arg<ffi::Buffer<ffi::U16>>()   // codes of groups
                                  .Arg<ffi::Buffer<ffi::S32>>()   // first indicator of a group, and their number
                                  .Arg<ffi::Buffer<ffi::PRED>>()  // whether a group is nested
                                  .Arg<ffi::Buffer<ffi::S32>>()   // labels
                                  .Arg<ffi::Buffer<ffi::S64>>()   // values
                                  .Arg<ffi::Buffer<ffi::S32>>()   // the node of every row
                                  .Arg<ffi::Buffer<ffi::S64>>()   // loss
                                  .Arg<ffi::Buffer<ffi::F64>>()   // scale
                                  .Arg<ffi::Buffer<ffi::F64>>()   // mean
                                  .Arg<ffi::Buffer<ffi::S64>>()   // least rows
                                  .Ret<ffi::Buffer<ffi::S64>>()   // least costs
                                  .Attr<int32_t>("formula")
                                  .Attr<int32_t>("num_labels")
                                  .Attr<bool>("counts_rows")
                                  .Attr<int32_t>("depth"));
