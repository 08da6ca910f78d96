// The sums of an additive model over rows: by pairs of bins, by bins, and the scores of rows.

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <vector>

#include "additive/binned.h"
#include "additive/gram.h"
#include "additive/terms.h"
#include "common/parallel.h"
#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

namespace jaxtree {
namespace {

using Whole = ffi::Buffer<ffi::S32>;
using Long = ffi::Buffer<ffi::S64>;
using Bins = ffi::Buffer<ffi::U16>;

ffi::Error GramSums(ffi::ThreadPool pool, Whole kind, Whole features, Bins bins, Whole num_bins, ffi::AnyBuffer codes,
                    Whole weight, ffi::ResultBuffer<ffi::S32> matrix, ffi::ResultBuffer<ffi::S64> diagonal) {
  Threads threads(&pool);
  return WithRows(threads, kind, features, bins, num_bins, codes, weight.element_count(), [&](const auto& rows) {
    GramCounter(rows, weight.typed_data(), threads, matrix->typed_data()).Run(diagonal->typed_data());
  });
}

// Adds the values of some rows to the sums of a term's bins; rows next to each other are added in several tables, as
// they often have the same bin.
template <typename Code>
void AddRowsOfTerm(const BinnedRows<Code>& rows, int64_t term, Range part, const int64_t* value, int64_t* sums) {
  constexpr int64_t kTables = 4, kMostInTables = 1 << 10;
  const int64_t size = rows.terms.size(term);
  const auto row_at = [&](int64_t at) { return part.begin + at; };
  if (size > kMostInTables) {
    return rows.ForRows(term, part.size(), row_at, [&](int64_t at, uint32_t bin) { sums[bin] += value[part.begin + at]; });
  }
  std::vector<int64_t> tables(kTables * size);
  rows.ForRows(term, part.size(), row_at, [&](int64_t at, uint32_t bin) {
    tables[(at % kTables) * size + bin] += value[part.begin + at];
  });
  for (int64_t at = 0; at < kTables * size; ++at) sums[at % size] += tables[at];
}

ffi::Error BinSums(ffi::ThreadPool pool, Whole kind, Whole features, Bins bins, Whole num_bins, ffi::AnyBuffer codes,
                   Long value, ffi::ResultBuffer<ffi::S64> sums) {
  Threads threads(&pool);
  const int64_t num_rows = value.element_count();
  return WithRows(threads, kind, features, bins, num_bins, codes, num_rows, [&](const auto& rows) {
    const Terms& terms = rows.terms;
    std::fill_n(sums->typed_data(), terms.num_places(), int64_t{0});
    // Parts of rows whose values stay near while all terms read them.
    constexpr int64_t kRows = 1 << 16;
    const int64_t parts = std::max<int64_t>(1, num_rows / kRows);
    std::vector<std::mutex> locks(terms.number);
    ForEach(threads, parts * terms.number, [&](int64_t piece) {
      const int64_t part = piece / terms.number, term = piece % terms.number;
      std::vector<int64_t> own(terms.size(term));
      AddRowsOfTerm(rows, term, {num_rows * part / parts, num_rows * (part + 1) / parts}, value.typed_data(), own.data());
      std::lock_guard<std::mutex> lock(locks[term]);
      int64_t* const to = sums->typed_data() + terms.first[term];
      for (int64_t bin = 0; bin < terms.size(term); ++bin) to[bin] += own[bin];
    });
  });
}

ffi::Error RowScores(ffi::ThreadPool pool, Whole kind, Whole features, Bins bins, Whole num_bins, ffi::AnyBuffer codes,
                     Long table, ffi::ResultBuffer<ffi::S64> score) {
  Threads threads(&pool);
  const int64_t num_rows = score->element_count();
  return WithRows(threads, kind, features, bins, num_bins, codes, num_rows, [&](const auto& rows) {
    const Terms& terms = rows.terms;
    constexpr int64_t kRows = 1 << 11;
    ForEach(threads, (num_rows + kRows - 1) / kRows, [&](int64_t part) {
      const int64_t begin = part * kRows, count = std::min(kRows, num_rows - begin);
      int64_t* const own = score->typed_data() + begin;
      std::fill_n(own, count, int64_t{0});
      for (int64_t term = 0; term < terms.number; ++term) {
        const int64_t* const from = table.typed_data() + terms.first[term];
        rows.ForRows(term, count, [&](int64_t at) { return begin + at; },
                     [&](int64_t at, uint32_t bin) { own[at] += from[bin]; });
      }
    });
  });
}

}  // namespace
}  // namespace jaxtree

XLA_FFI_DEFINE_HANDLER_SYMBOL(jaxtree_gram_sums, jaxtree::GramSums,
                              JAXTREE_BINNED_ROWS.Arg<ffi::Buffer<ffi::S32>>()  // weights of rows
                                  .Ret<ffi::Buffer<ffi::S32>>()                 // shared weights, in running form
                                  .Ret<ffi::Buffer<ffi::S64>>());               // weights of places
XLA_FFI_DEFINE_HANDLER_SYMBOL(jaxtree_bin_sums, jaxtree::BinSums,
                              JAXTREE_BINNED_ROWS.Arg<ffi::Buffer<ffi::S64>>()  // values of rows
                                  .Ret<ffi::Buffer<ffi::S64>>());               // sums of places
XLA_FFI_DEFINE_HANDLER_SYMBOL(jaxtree_row_scores, jaxtree::RowScores,
                              JAXTREE_BINNED_ROWS.Arg<ffi::Buffer<ffi::S64>>()  // values of places
                                  .Ret<ffi::Buffer<ffi::S64>>());               // scores of rows
