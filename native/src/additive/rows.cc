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
#include "common/simd.h"
#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

namespace jaxtree {
namespace {

// The rows of some weight, one behind the other. The bins of a term are found once, if there is room for those of all.
template <typename Code>
class WeightedRows final : public RowGradients {
 public:
  WeightedRows(const BinnedRows<Code>& rows, const int32_t* weight, int64_t* gradient)
      : rows_(rows), all_gradients_(gradient), bins_(rows.terms.number) {
    for (int64_t row = 0; row < rows.num_rows; ++row) {
      if (weight[row] == 0) continue;
      row_.push_back(row);
      weight_.push_back(weight[row]);
      gradient_.push_back(gradient[row]);
    }
    keeps_ = static_cast<int64_t>(row_.size()) * rows.terms.number <= kMostKept;
  }

  // Puts gradients back in their places.
  void Finish() const {
    for (size_t at = 0; at < row_.size(); ++at) all_gradients_[row_[at]] = gradient_[at];
  }

  void Sum(int64_t term, int64_t* to) const override {
    std::fill_n(to, rows_.terms.size(term), int64_t{0});
    const uint16_t* const bin = Bins(term);
    const int64_t* const gradient = gradient_.data();
    const int64_t count = gradient_.size();
    for (int64_t at = 0; at < count; ++at) to[bin[at]] += gradient[at];
  }

  void Add(int64_t term, const int64_t* step) override {
    const uint16_t* const bin = Bins(term);
    const int64_t* const weight = weight_.data();
    int64_t* const gradient = gradient_.data();
    const int64_t count = gradient_.size();
    WithWidest([=]() __attribute__((always_inline)) {
      for (int64_t at = 0; at < count; ++at) gradient[at] += weight[at] * step[bin[at]];
    });
  }

  // The weights of the rows of every bin, and their number.
  void Count(int64_t* weight, int32_t* number) const {
    for (int64_t term = 0; term < rows_.terms.number; ++term) {
      const int64_t first = rows_.terms.first[term];
      const uint16_t* const bin = Bins(term);
      for (size_t at = 0; at < row_.size(); ++at) {
        weight[first + bin[at]] += weight_[at];
        ++number[first + bin[at]];
      }
    }
  }

 private:
  static constexpr int64_t kMostKept = int64_t{1} << 27;  // bins, of 2 bytes

  const uint16_t* Bins(int64_t term) const {
    std::vector<uint16_t>& own = keeps_ ? bins_[term] : last_bins_;
    if (keeps_ ? !own.empty() : last_ == term) return own.data();
    own.resize(row_.size());
    rows_.ForRows(term, row_.size(), [&](int64_t at) { return row_[at]; }, [&](int64_t at, uint32_t bin) { own[at] = bin; });
    last_ = term;
    return own.data();
  }

  const BinnedRows<Code>& rows_;
  int64_t* const all_gradients_;
  std::vector<int64_t> row_, weight_, gradient_;
  mutable std::vector<std::vector<uint16_t>> bins_;
  mutable std::vector<uint16_t> last_bins_;
  mutable int64_t last_ = -1;
  bool keeps_;
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
    own.Finish();
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
