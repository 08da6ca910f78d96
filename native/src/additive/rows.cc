// The handler of cyclic boosting on rows: for more terms and bins than sums over pairs of places have memory for, and for
// rows so few that to read them is quicker. It makes the steps of member.h, bit by bit.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "additive/binned.h"
#include "additive/member.h"
#include "additive/shared_sums.h"
#include "additive/terms.h"
#include "common/parallel.h"
#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

namespace jaxtree {
namespace {

// The rows of some weight.
template <typename Code>
class WeightedRows final : public RowGradients {
 public:
  WeightedRows(const BinnedRows<Code>& rows, const int32_t* weight, int64_t* gradient)
      : rows_(rows), weight_(weight), gradient_(gradient) {
    for (int64_t row = 0; row < rows.num_rows; ++row) {
      if (weight[row] != 0) row_.push_back(row);
    }
  }

  void Sum(int64_t term, int64_t* to) const override {
    std::fill_n(to, rows_.terms.size(term), int64_t{0});
    ForRows(term, [&](int64_t row, uint32_t bin) { to[bin] += gradient_[row]; });
  }

  void Add(int64_t term, const int64_t* step) override {
    ForRows(term, [&](int64_t row, uint32_t bin) { gradient_[row] += weight_[row] * step[bin]; });
  }

  // The weights of the rows of every bin, and their number.
  void Count(int64_t* weight, int32_t* number) const {
    for (int64_t term = 0; term < rows_.terms.number; ++term) {
      const int64_t first = rows_.terms.first[term];
      ForRows(term, [&](int64_t row, uint32_t bin) {
        weight[first + bin] += weight_[row];
        ++number[first + bin];
      });
    }
  }

 private:
  template <typename Put>
  void ForRows(int64_t term, const Put& put) const {
    rows_.ForRows(term, row_.size(), [&](int64_t at) { return row_[at]; }, [&](int64_t at, uint32_t bin) { put(row_[at], bin); });
  }

  const BinnedRows<Code>& rows_;
  const int32_t* const weight_;
  int64_t* const gradient_;
  std::vector<int64_t> row_;
};

ffi::Error BoostRows(ffi::ThreadPool pool, ffi::Buffer<ffi::S32> kind, ffi::Buffer<ffi::S32> features,
                     ffi::Buffer<ffi::U16> bins, ffi::Buffer<ffi::S32> num_bins, ffi::AnyBuffer codes,
                     ffi::Buffer<ffi::S32> monotone, ffi::Buffer<ffi::S32> weight, ffi::Buffer<ffi::S64> gradient,
                     ffi::Buffer<ffi::F64> reals, ffi::Buffer<ffi::S64> wholes, ffi::ResultBuffer<ffi::S64> steps,
                     ffi::ResultBuffer<ffi::S64> left, int64_t num_passes) {
  Threads threads(&pool);
  const int64_t num_rows = weight.element_count();
  const bool fit = reals.element_count() == kRealsOfRules && wholes.element_count() == kWholesOfRules &&
                   static_cast<int64_t>(gradient.element_count()) == num_rows;
  if (!fit) return ffi::Error::InvalidArgument("there must be a gradient of every row, and the rules of one member");
  if (wholes.typed_data()[1] < 2) return ffi::Error::InvalidArgument("steps must have at least two leaves");
  return WithRows(threads, kind, features, bins, num_bins, codes, num_rows, [&](const auto& rows) {
    const Terms& terms = rows.terms;
    std::copy_n(gradient.typed_data(), num_rows, left->typed_data());
    std::fill_n(steps->typed_data(), terms.num_places(), int64_t{0});
    WeightedRows own(rows, weight.typed_data(), left->typed_data());
    std::vector<int64_t> diagonal(terms.num_places());
    std::vector<int32_t> number(terms.num_places());
    own.Count(diagonal.data(), number.data());
    const SharedSums sums(terms, nullptr, diagonal.data(), number.data());
    const StepRules rules = ReadRules(reals.typed_data(), wholes.typed_data());
    Member(terms, sums, rules, monotone.typed_data(), nullptr, steps->typed_data(), &own).Run(num_passes);
  });
}

}  // namespace
}  // namespace jaxtree

XLA_FFI_DEFINE_HANDLER_SYMBOL(jaxtree_boost_rows, jaxtree::BoostRows,
                              JAXTREE_BINNED_ROWS.Arg<ffi::Buffer<ffi::S32>>()  // how terms may go
                                  .Arg<ffi::Buffer<ffi::S32>>()                 // weights of rows
                                  .Arg<ffi::Buffer<ffi::S64>>()                 // gradients of rows
                                  .Arg<ffi::Buffer<ffi::F64>>()                 // rules that are reals
                                  .Arg<ffi::Buffer<ffi::S64>>()                 // rules that are whole numbers
                                  .Ret<ffi::Buffer<ffi::S64>>()                 // sums of steps of places
                                  .Ret<ffi::Buffer<ffi::S64>>()                 // gradients after them
                                  .Attr<int64_t>("num_passes"));
