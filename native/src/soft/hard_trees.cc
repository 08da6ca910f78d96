// Hard trees that are trained by gradients: the outputs of rows, and the gradients of gates and leaves.
//
// A row reaches one leaf, and its loss has a gradient at the gates of that path alone: the slope of a gate's share times the
// difference between the leaf that the row reaches and the one that it would reach on the gate's other side. So a row costs as
// many columns as its path has gates, where products of matrices multiply by all gates. See `jaxtree/kernels/hard_trees.py`.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "common/batch.h"
#include "common/parallel.h"
#include "common/simd.h"
#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

namespace jaxtree {
namespace {

// The slopes by which hard gates are trained, in the order of `SIDES` of hard_trees.py.
enum class Side : int32_t { kSigmoid, kEntmoid, kSoftsign };

template <typename Real>
Real SlopeOf(Side side, Real value) {
  const Real size = std::abs(value);
  if (side == Side::kSoftsign) return Real{0.5} / ((1 + size) * (1 + size));
  if (side == Side::kSigmoid) {
    const Real share = 1 / (1 + std::exp(-size));
    return share * (1 - share);
  }
  if (size >= 2) return 0;
  const Real root = (std::sqrt(8 - size * size) - size) / 4, other = std::sqrt(1 - root * root);
  return root * other / (root + other);
}

// Rows whose gates are computed at once: their values stay in a near cache.
constexpr int64_t kBlock = 256;

// Adds a multiple of a vector to another. Blocks of fixed sizes become vectors whatever the number of columns.
template <int64_t kSize, typename Real>
int64_t AddBlocks(const Real* from, Real factor, int64_t begin, int64_t end, Real* to) {
  for (; begin + kSize <= end; begin += kSize) {
    for (int64_t at = 0; at < kSize; ++at) to[begin + at] += factor * from[begin + at];
  }
  return begin;
}

template <typename Real>
void AddMultiple(const Real* from, Real factor, int64_t size, Real* to) {
  AddBlocks<1>(from, factor, AddBlocks<4>(from, factor, AddBlocks<16>(from, factor, 0, size, to), size, to), size, to);
}

// Whether all numbers are 0.
template <typename Real>
bool AreZero(const Real* numbers, int64_t size) {
  return std::all_of(numbers, numbers + size, [](Real number) { return number == 0; });
}

// A tree whose gates are planes, of which most weights are 0, and the rows of a step.
template <typename Real>
class HardTree {
 public:
  HardTree(const Array& weight, const Array& bias, const Array& missing, const Array& value, const Array& rows,
           const Array& scale)
      : num_gates_(weight.dimensions[0]), num_columns_(weight.dimensions[1]), num_indicators_(missing.dimensions[1]),
        num_outputs_(value.dimensions[1]), num_rows_(rows.dimensions[0]), weight_(weight.As<Real>()), bias_(bias.As<Real>()),
        missing_(missing.As<Real>()), value_(value.As<Real>()), rows_(rows.As<Real>()), scale_(*scale.As<Real>()),
        gates_(num_gates_ * kBlock) {}

  void Predict(Real* output) {
    ForEachBlock([&](int64_t row, int64_t place) {
      const Real* const leaf = LeafBelow(0, place);
      for (int64_t at = 0; at < num_outputs_; ++at) output[row * num_outputs_ + at] = leaf[at];
    });
  }

  // Adds up what every row says, in the order of the rows. `gradient` is that of the outputs; the others are results.
  void Differentiate(Side side, const Real* gradient, Real* of_weight, Real* of_bias, Real* of_missing, Real* of_value) {
    std::fill_n(of_weight, num_gates_ * num_columns_, Real{0});
    std::fill_n(of_bias, num_gates_, Real{0});
    std::fill_n(of_missing, num_gates_ * num_indicators_, Real{0});
    std::fill_n(of_value, (num_gates_ + 1) * num_outputs_, Real{0});
    ForEachBlock([&](int64_t row, int64_t place) {
      const Real *const own = gradient + row * num_outputs_, *const x = rows_ + row * num_columns_;
      if (AreZero(own, num_outputs_)) return;
      const Real* const leaf = LeafBelow(0, place);
      Real* const to_leaf = of_value + (leaf - value_);
      for (int64_t at = 0; at < num_outputs_; ++at) to_leaf[at] += own[at];
      for (int64_t gate = 0; gate < num_gates_;) {
        const Real value = gates_[gate * kBlock + place];
        const bool goes_right = value > 0;
        const Real* const other = LeafBelow(2 * gate + (goes_right ? 1 : 2), place);
        Real gain = 0;  // of a row that goes right, not left
        for (int64_t at = 0; at < num_outputs_; ++at) gain += own[at] * (leaf[at] - other[at]);
        const Real change = (goes_right ? gain : -gain) * SlopeOf(side, value), of_plane = change * scale_;
        AddMultiple(x, of_plane, num_columns_, of_weight + gate * num_columns_);
        of_bias[gate] += of_plane;
        AddMultiple(x + num_columns_ - num_indicators_, change, num_indicators_, of_missing + gate * num_indicators_);
        gate = 2 * gate + (goes_right ? 2 : 1);
      }
    });
  }

 private:
  // Calls work(row, its place in the block) for all rows, once the values of all gates are there for the block.
  template <typename Work>
  void ForEachBlock(const Work& work) {
    for (int64_t begin = 0; begin < num_rows_; begin += kBlock) {
      const int64_t size = std::min(kBlock, num_rows_ - begin);
      for (int64_t gate = 0; gate < num_gates_; ++gate) FillGate(gate, rows_ + begin * num_columns_, size);
      for (int64_t place = 0; place < size; ++place) work(begin + place, place);
    }
  }

  // The values of a gate for some rows.
  void FillGate(int64_t gate, const Real* rows, int64_t size) {
    Real* const to = gates_.data() + gate * kBlock;
    std::fill_n(to, size, Real{0});
    AddColumns(weight_ + gate * num_columns_, num_columns_, rows, size, to);
    for (int64_t place = 0; place < size; ++place) to[place] = (to[place] + bias_[gate]) * scale_;
    if (!num_indicators_) return;
    const Real* const indicators = rows + num_columns_ - num_indicators_;
    AddColumns(missing_ + gate * num_indicators_, num_indicators_, indicators, size, to);
  }

  // Adds the columns of rows, each times its weight, if that is not 0.
  void AddColumns(const Real* weights, int64_t num_weights, const Real* rows, int64_t size, Real* to) {
    for (int64_t column = 0; column < num_weights; ++column) {
      const Real weight = weights[column];
      if (weight == 0) continue;
      for (int64_t place = 0; place < size; ++place) to[place] += weight * rows[place * num_columns_ + column];
    }
  }

  // The values of the leaf below a node that a row comes to.
  const Real* LeafBelow(int64_t node, int64_t place) const {
    while (node < num_gates_) node = 2 * node + 1 + (gates_[node * kBlock + place] > 0);
    return value_ + (node - num_gates_) * num_outputs_;
  }

  const int64_t num_gates_, num_columns_, num_indicators_, num_outputs_, num_rows_;
  const Real *const weight_, *const bias_, *const missing_, *const value_, *const rows_;
  const Real scale_;
  std::vector<Real> gates_;  // the value of every gate for every row of a block
};

ffi::Error PredictHandler(ffi::ThreadPool pool, ffi::AnyBuffer weight, ffi::AnyBuffer bias, ffi::AnyBuffer missing,
                          ffi::AnyBuffer value, ffi::AnyBuffer rows, ffi::AnyBuffer scale,
                          ffi::Result<ffi::AnyBuffer> output) {
  const Models trees(*output, 2);
  return ForReals(weight, [&](auto real) {
    using Real = decltype(real);
    ForEachModel(pool, trees, [&](Threads&, int64_t tree) {
      HardTree<Real> own(trees.Of(weight, tree), trees.Of(bias, tree), trees.Of(missing, tree), trees.Of(value, tree),
                         trees.Of(rows, tree), trees.Of(scale, tree));
      WithWidest([&] { own.Predict(trees.Of(*output, tree).template As<Real>()); });
    });
  });
}

ffi::Error DifferentiateHandler(ffi::ThreadPool pool, ffi::AnyBuffer weight, ffi::AnyBuffer bias, ffi::AnyBuffer missing,
                                ffi::AnyBuffer value, ffi::AnyBuffer rows, ffi::AnyBuffer scale, ffi::AnyBuffer gradient,
                                ffi::Result<ffi::AnyBuffer> of_weight, ffi::Result<ffi::AnyBuffer> of_bias,
                                ffi::Result<ffi::AnyBuffer> of_missing, ffi::Result<ffi::AnyBuffer> of_value, int32_t side) {
  const Models trees(*of_weight, 2);
  return ForReals(weight, [&](auto real) {
    using Real = decltype(real);
    ForEachModel(pool, trees, [&](Threads&, int64_t tree) {
      HardTree<Real> own(trees.Of(weight, tree), trees.Of(bias, tree), trees.Of(missing, tree), trees.Of(value, tree),
                         trees.Of(rows, tree), trees.Of(scale, tree));
      const auto to = [&](ffi::Result<ffi::AnyBuffer>& result) { return trees.Of(*result, tree).template As<Real>(); };
      WithWidest([&] {
        own.Differentiate(static_cast<Side>(side), trees.Of(gradient, tree).template As<Real>(), to(of_weight), to(of_bias),
                          to(of_missing), to(of_value));
      });
    });
  });
}

}  // namespace
}  // namespace jaxtree

XLA_FFI_DEFINE_HANDLER_SYMBOL(jaxtree_predict_hard_tree, jaxtree::PredictHandler,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::ThreadPool>()
                                  .Arg<ffi::AnyBuffer>()  // weights of gates
                                  .Arg<ffi::AnyBuffer>()  // biases
                                  .Arg<ffi::AnyBuffer>()  // what indicators add
                                  .Arg<ffi::AnyBuffer>()  // values of leaves
                                  .Arg<ffi::AnyBuffer>()  // rows
                                  .Arg<ffi::AnyBuffer>()  // factor of gates
                                  .Ret<ffi::AnyBuffer>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(jaxtree_differentiate_hard_tree, jaxtree::DifferentiateHandler,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::ThreadPool>()
                                  .Arg<ffi::AnyBuffer>()  // weights of gates
                                  .Arg<ffi::AnyBuffer>()  // biases
                                  .Arg<ffi::AnyBuffer>()  // what indicators add
                                  .Arg<ffi::AnyBuffer>()  // values of leaves
                                  .Arg<ffi::AnyBuffer>()  // rows
                                  .Arg<ffi::AnyBuffer>()  // factor of gates
                                  .Arg<ffi::AnyBuffer>()  // gradient of the outputs
                                  .Ret<ffi::AnyBuffer>()
                                  .Ret<ffi::AnyBuffer>()
                                  .Ret<ffi::AnyBuffer>()
                                  .Ret<ffi::AnyBuffer>()
                                  .Attr<int32_t>("side"));
