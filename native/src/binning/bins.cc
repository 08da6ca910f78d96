// Numbers into bins: columns in order, where their bins begin, and the codes of their rows. The results are those of
// jaxtree/table/binning.py, bit by bit.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "binning/codes.h"
#include "binning/columns.h"
#include "binning/cuts.h"
#include "binning/order.h"
#include "common/parallel.h"
#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

namespace jaxtree {
namespace {

// Numbers that are worth a part of their own, and another thread.
constexpr int64_t kLeastOfCells = 1 << 13;
constexpr int64_t kFacts = 5;  // of a column that is cut

int64_t NumPartsOf(const Threads& pool, int64_t num_rows, int64_t num_columns) {
  const int64_t by_size = num_rows * num_columns / kLeastOfCells, by_tiles = num_rows / kRowsOfTile;
  return std::max<int64_t>(std::min({kPartsPerThread * pool.num_threads(), by_size, by_tiles}), 1);
}

// Calls work(first row, behind the last) for tiles of rows.
template <typename Work>
void ForTiles(Threads& pool, int64_t num_rows, int64_t num_columns, const Work& work) {
  ForEachPart(pool, NumPartsOf(pool, num_rows, num_columns), num_rows, [&](int64_t part, int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; row += kRowsOfTile) work(part, row, std::min(row + kRowsOfTile, end));
  });
}

ffi::Error OrderColumnsHandler(ffi::ThreadPool pool, ffi::AnyBuffer columns, ffi::Result<ffi::AnyBuffer> numbers) {
  Threads threads(&pool);
  const std::vector<Column> own = ColumnsOf(columns);
  const int64_t num_columns = own.size(), num_rows = numbers->dimensions()[1];
  const auto read = [&](auto real) {
    auto* const to = numbers->reinterpret_data<decltype(real)>();
    ForTiles(threads, num_rows, num_columns, [&](int64_t, int64_t begin, int64_t end) {
      for (int64_t column = 0; column < num_columns; ++column) {
        ReadNumbers(own[column], begin, end, to + column * num_rows + begin);
      }
    });
    ForEach(threads, num_columns, [&](int64_t column) { SortNumbers(to + column * num_rows, num_rows); });
  };
  numbers->element_type() == ffi::DataType::F32 ? read(float{}) : read(double{});
  return ffi::Error::Success();
}

// Finds the first place of every bin of a column; how many bins there are, whether it is exact, the distinct numbers of the
// first bin and of the last, and how many numbers are known.
template <typename Real>
void CutColumn(const Real* ordered, int64_t num_rows, int64_t max_bins, Tail low, Tail high, int64_t* first, int64_t* facts) {
  const auto is_known = [](Real number) { return number == number; };
  const int64_t size = std::partition_point(ordered, ordered + num_rows, is_known) - ordered;
  Cutter<Real> cutter(ordered, size, max_bins);
  const bool is_exact = cutter.is_exact();
  const std::vector<int64_t> bins = is_exact ? cutter.FirstOfValues() : cutter.FirstOfBins(low, high);
  std::copy(bins.begin(), bins.end(), first);
  facts[0] = bins.size();
  facts[1] = is_exact;
  facts[2] = is_exact ? 0 : cutter.CountDistinct(0, bins.size() > 1 ? bins[1] : size);
  facts[3] = is_exact ? 0 : cutter.CountDistinct(bins.back(), size);
  facts[4] = size;
}

ffi::Error CutColumnsHandler(ffi::ThreadPool pool, ffi::AnyBuffer ordered, ffi::AnyBuffer tails, ffi::AnyBuffer num_tails,
                             ffi::Result<ffi::AnyBuffer> first, ffi::Result<ffi::AnyBuffer> facts, int64_t max_bins) {
  Threads threads(&pool);
  const int64_t num_columns = ordered.dimensions()[0], num_rows = ordered.dimensions()[1], room = first->dimensions()[1];
  const int64_t most_tails = tails.dimensions()[1];
  const auto* const sizes = num_tails.reinterpret_data<int64_t>();
  const auto* const shares = tails.reinterpret_data<double>();
  const auto cut = [&](auto real) {
    using Real = decltype(real);
    const auto tail = [&](int64_t end) { return Tail{shares + end * most_tails, sizes[end]}; };
    ForEach(threads, num_columns, [&](int64_t column) {
      CutColumn(ordered.reinterpret_data<Real>() + column * num_rows, num_rows, max_bins, tail(2 * column),
                tail(2 * column + 1), first->reinterpret_data<int64_t>() + column * room,
                facts->reinterpret_data<int64_t>() + kFacts * column);
    });
  };
  ordered.element_type() == ffi::DataType::F32 ? cut(float{}) : cut(double{});
  return ffi::Error::Success();
}

// Writes the codes of all columns, and widens the bins where they are to be widened.
template <typename Code>
void CodeColumns(Threads& pool, const std::vector<Column>& columns, const std::vector<BinsOfColumn>& bins, int64_t num_rows,
                 const int64_t* codes, bool widens, double* low, double* high) {
  const int64_t num_columns = columns.size(), num_parts = NumPartsOf(pool, num_rows, num_columns);
  std::vector<std::unique_ptr<const Coder>> coders(num_columns);
  ForEach(pool, num_columns, [&](int64_t column) { coders[column] = CoderFor(columns[column], bins[column], num_rows); });
  std::vector<std::vector<Ends>> ends(num_parts);
  ForTiles(pool, num_rows, num_columns, [&](int64_t part, int64_t begin, int64_t end) {
    std::vector<Ends>& of_part = ends[part];
    if (widens && of_part.empty()) {
      for (const BinsOfColumn& own : bins) of_part.emplace_back(own.number);
    }
    uint16_t found[kRowsOfTile];
    for (int64_t column = 0; column < num_columns; ++column) {
      coders[column]->Code(columns[column], begin, end, found, widens ? &of_part[column] : nullptr);
      auto* const to = reinterpret_cast<Code*>(codes[column]) + begin;
      for (int64_t row = 0; row < end - begin; ++row) to[row] = static_cast<Code>(found[row]);
    }
  });
  for (const std::vector<Ends>& of_part : ends) {
    int64_t place = 0;
    for (const Ends& own : of_part) {
      for (size_t bin = 0; bin < own.low.size(); ++bin, ++place) {
        low[place] = std::min(low[place], own.low[bin]);
        high[place] = std::max(high[place], own.high[bin]);
      }
    }
  }
}

ffi::Error CodeColumnsHandler(ffi::ThreadPool pool, ffi::AnyBuffer columns, ffi::AnyBuffer codes, ffi::AnyBuffer num_bins,
                              ffi::AnyBuffer edges, ffi::AnyBuffer low, ffi::AnyBuffer high,
                              ffi::Result<ffi::AnyBuffer> lowest, ffi::Result<ffi::AnyBuffer> highest, int64_t num_rows,
                              int64_t bytes_of_code, bool widens) {
  Threads threads(&pool);
  std::vector<BinsOfColumn> bins;
  const auto *edge = edges.reinterpret_data<double>(), *least = low.reinterpret_data<double>(),
             *most = high.reinterpret_data<double>();
  auto *const to_low = lowest->reinterpret_data<double>(), *const to_high = highest->reinterpret_data<double>();
  std::copy(least, least + low.element_count(), to_low);
  std::copy(most, most + high.element_count(), to_high);
  for (int64_t column = 0; column < columns.dimensions()[0]; ++column) {
    const int64_t number = num_bins.reinterpret_data<int64_t>()[column];
    bins.push_back({number, edge, least, most});
    edge += number, least += number, most += number;
  }
  const auto code = [&](auto type) {
    CodeColumns<decltype(type)>(threads, ColumnsOf(columns), bins, num_rows, codes.reinterpret_data<int64_t>(), widens,
                                to_low, to_high);
  };
  bytes_of_code == 1 ? code(uint8_t{}) : code(uint16_t{});
  return ffi::Error::Success();
}

}  // namespace
}  // namespace jaxtree

XLA_FFI_DEFINE_HANDLER_SYMBOL(jaxtree_order_columns, jaxtree::OrderColumnsHandler,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::ThreadPool>()
                                  .Arg<ffi::AnyBuffer>()   // columns
                                  .Ret<ffi::AnyBuffer>());  // their numbers in order, one column after the other
XLA_FFI_DEFINE_HANDLER_SYMBOL(jaxtree_cut_columns, jaxtree::CutColumnsHandler,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::ThreadPool>()
                                  .Arg<ffi::AnyBuffer>()   // numbers in order
                                  .Arg<ffi::AnyBuffer>()   // tails, [column and end, cut]
                                  .Arg<ffi::AnyBuffer>()   // how many cuts they have
                                  .Ret<ffi::AnyBuffer>()   // first places of bins
                                  .Ret<ffi::AnyBuffer>()   // facts of a column
                                  .Attr<int64_t>("max_bins"));
XLA_FFI_DEFINE_HANDLER_SYMBOL(jaxtree_code_columns, jaxtree::CodeColumnsHandler,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::ThreadPool>()
                                  .Arg<ffi::AnyBuffer>()   // columns
                                  .Arg<ffi::AnyBuffer>()   // where their codes are written
                                  .Arg<ffi::AnyBuffer>()   // the number of bins of every column
                                  .Arg<ffi::AnyBuffer>()   // edges above bins
                                  .Arg<ffi::AnyBuffer>()   // the lowest number of every bin
                                  .Arg<ffi::AnyBuffer>()   // the highest
                                  .Ret<ffi::AnyBuffer>()   // the lowest of these rows, too
                                  .Ret<ffi::AnyBuffer>()   // the highest
                                  .Attr<int64_t>("num_rows")
                                  .Attr<int64_t>("bytes_of_code")
                                  .Attr<bool>("widens"));
