// The work of a round of boosting on every row besides growing a tree: derivatives as whole numbers, their sums at the nodes,
// and the steps added to the scores. The numbers are those of `jaxtree/kernels/fixed_point.py`, bit by bit.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <type_traits>
#include <vector>

#include "common/batch.h"
#include "common/parallel.h"
#include "common/simd.h"
#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

namespace jaxtree {
namespace {

constexpr int64_t kLeastExponent = -1022, kMostExponent = 1023;
// Threads sum apart, and add up afterwards, where there are this many times as many rows as nodes.
constexpr int64_t kRowsPerNode = 16;

// The least e with all numbers below 2**e, for the greatest of them.
int64_t ExponentOf(double most) {
  if (!(most > 0)) return 0;
  if (std::isinf(most)) return kMostExponent + 1;
  return std::max<int64_t>(std::ilogb(most) + 1, kLeastExponent);
}

double UnitOf(double num_terms, int64_t exponent, int64_t bits) {
  const int64_t power = exponent - (bits - ExponentOf(std::max(num_terms - 1, 0.0)));
  return std::ldexp(1.0, static_cast<int>(std::clamp(power, kLeastExponent, kMostExponent)));
}

// Smaller numbers are rounded quicker than by a call: above `kShift` the last bit of a number is a one.
constexpr double kLarge = 0x1p51, kShift = 0x1.8p52;

template <typename To, typename From>
To BitsOf(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof(to));
  return to;
}

// The nearest whole number, of two the even one.
int64_t RoundedSmall(double number) { return BitsOf<int64_t>(number + kShift) - BitsOf<int64_t>(kShift); }

int64_t Rounded(double number) {
  if (std::abs(number) < kLarge) return RoundedSmall(number);
  return std::abs(number) < 0x1p62 ? std::llrint(number) : 0;
}

// The greatest whole number that is not greater; 0 for what is no number.
double FloorOfSmall(double number) {
  const double held = std::abs(number) < kLarge ? number : 0, rounded = (held + kShift) - kShift;
  return rounded - (rounded > held ? 1 : 0);
}

int64_t Floor(double number) {
  const double held = std::abs(number) < 0x1p62 ? number : 0;
  const int64_t whole = static_cast<int64_t>(held);
  return whole - (held < static_cast<double>(whole));
}

// A small whole number in another type.
template <typename Whole>
Whole WholeOf(double small) {
  if constexpr (sizeof(Whole) == 8) return RoundedSmall(small);
  return static_cast<Whole>(small);
}

// The values of some rows, an array for each; and which rows are used.
template <typename Real>
struct Values {
  const Real* data;
  std::vector<int64_t> of;  // the arrays that are looked at
  int64_t num_rows;
  const bool* is_used;

  const Real* At(int64_t value) const { return data + of[value] * num_rows; }
  int64_t size() const { return of.size(); }
};

struct Extent {
  double most = 0;
  int64_t num_used = 0;
};

// The number of a node of a table. No array that is handed over is trusted to have no other.
int64_t Within(int32_t node, int64_t num_nodes) { return std::clamp<int64_t>(node, 0, num_nodes - 1); }

// The greatest size of the values of used rows, which are ordered as the bits of their sizes are.
template <typename Real>
Real MostOf(const Real* values, const bool* is_used, int64_t begin, int64_t end) {
  using Word = std::conditional_t<sizeof(Real) == 8, int64_t, int32_t>;
  const Word of_infinity = BitsOf<Word>(std::numeric_limits<Real>::infinity());
  Word most = 0;
  for (int64_t row = begin; row < end; ++row) {
    const Word size = BitsOf<Word>(values[row]) & std::numeric_limits<Word>::max() & -static_cast<Word>(is_used[row]);
    // NaN has no size.
    most = std::max(most, size > of_infinity ? 0 : size);
  }
  return BitsOf<Real>(most);
}

int64_t CountUsed(const bool* is_used, int64_t begin, int64_t end) {
  constexpr int64_t kAtATime = 8;
  int64_t count = 0, row = begin;
  for (uint64_t eight; row + kAtATime <= end; row += kAtATime) {
    std::memcpy(&eight, is_used + row, sizeof(eight));
    // The highest byte of the product is the sum of all bytes.
    count += eight * 0x0101010101010101 >> 56;
  }
  for (; row < end; ++row) count += is_used[row];
  return count;
}

// The greatest size of the values of used rows, and how many rows are used.
template <typename Real>
Extent ExtentOf(Threads& pool, const Values<Real>& values) {
  const int64_t num_parts = NumParts(pool, values.num_rows);
  std::vector<Extent> extents(num_parts);
  ForEachPart(pool, num_parts, values.num_rows, [&](int64_t part, int64_t begin, int64_t end) {
    Extent& own = extents[part];
    WithWidest([&] {
      for (int64_t value = 0; value < values.size(); ++value) {
        own.most = std::max(own.most, static_cast<double>(MostOf(values.At(value), values.is_used, begin, end)));
      }
      own.num_used = CountUsed(values.is_used, begin, end);
    });
  });
  Extent whole;
  for (const Extent& own : extents) {
    whole.most = std::max(whole.most, own.most);
    whole.num_used += own.num_used;
  }
  return whole;
}

// Adds the values of used rows to `sums`, [value, node]; the node of a row is 0 where `node` is null.
template <typename Real, typename Round>
void AddRows(const Values<Real>& values, const int32_t* node, double inverse, const Round& rounded, int64_t begin,
             int64_t end, int64_t num_nodes, int64_t* sums) {
  // Rows are rounded by vectors, and then added to their nodes one by one.
  constexpr int64_t kAtATime = 512;
  int64_t whole[kAtATime];
  for (int64_t value = 0; value < values.size(); ++value) {
    const Real* const own = values.At(value);
    int64_t* const to = sums + value * num_nodes;
    const auto of_row = [&](int64_t row) {
      return rounded(static_cast<double>(own[row]) * inverse) & -static_cast<int64_t>(values.is_used[row]);
    };
    int64_t total = 0;
    if (!node) {
      for (int64_t row = begin; row < end; ++row) total += of_row(row);
    }
    for (int64_t first = begin; node && first < end; first += kAtATime) {
      const int64_t number = std::min(kAtATime, end - first);
      for (int64_t at = 0; at < number; ++at) whole[at] = of_row(first + at);
      for (int64_t at = 0; at < number; ++at) to[Within(node[first + at], num_nodes)] += whole[at];
    }
    to[0] += total;
  }
}

// What is summed of a value: itself, or its size.
struct Itself {
  double operator()(double number) const { return number; }
};
struct Size {
  double operator()(double number) const { return std::abs(number); }
};

template <typename Part = Itself, typename Real>
std::vector<int64_t> SumRows(Threads& pool, const Values<Real>& values, const int32_t* node, double most, double unit,
                             int64_t num_nodes) {
  const int64_t size = values.size() * num_nodes;
  const int64_t most_parts = std::max<int64_t>(values.num_rows / (kRowsPerNode * num_nodes), 1);
  const int64_t num_parts = std::min(NumParts(pool, values.num_rows), most_parts);
  std::vector<std::vector<int64_t>> sums(num_parts);
  ForEachPart(pool, num_parts, values.num_rows, [&](int64_t part, int64_t begin, int64_t end) {
    sums[part].assign(size, 0);
    const auto add = [&](const auto& rounded) {
      AddRows(values, node, 1 / unit, rounded, begin, end, num_nodes, sums[part].data());
    };
    if (!(most / unit < kLarge)) return add([](double number) { return Rounded(Part()(number)); });
    WithWidest([&] { add([](double number) { return RoundedSmall(Part()(number)); }); });
  });
  for (int64_t part = 1; part < num_parts; ++part) {
    for (int64_t at = 0; at < size; ++at) sums[0][at] += sums[part][at];
  }
  return std::move(sums[0]);
}

// The arrays of a square array of them that are on its diagonal or below; or all.
std::vector<int64_t> ArraysOf(int64_t number, bool is_triangle) {
  std::vector<int64_t> of;
  const auto side = is_triangle ? static_cast<int64_t>(std::lround(std::sqrt(static_cast<double>(number)))) : number;
  for (int64_t row = 0; row < side; ++row) {
    for (int64_t column = 0; is_triangle && column <= row; ++column) of.push_back(row * side + column);
    if (!is_triangle) of.push_back(row);
  }
  return of;
}

template <typename Real>
void SumAtNodes(Threads& pool, const Values<Real>& values, const int32_t* leaf, const int32_t* parent,
                const int32_t* depth, int64_t num_nodes, double* results) {
  const Extent extent = ExtentOf(pool, values);
  const double unit = UnitOf(extent.num_used, ExponentOf(extent.most), 61);
  std::vector<int64_t> sums = SumRows(pool, values, leaf, extent.most, unit, num_nodes);
  for (int64_t value = 0; value < values.size(); ++value) {
    int64_t* const own = sums.data() + value * num_nodes;
    // Children come after their parents.
    for (int64_t node = num_nodes - 1; node > 0; --node) {
      if (depth[node] > 0) own[Within(parent[node], num_nodes)] += own[node];
    }
    for (int64_t node = 0; node < num_nodes; ++node) results[value * num_nodes + node] = static_cast<double>(own[node]) * unit;
  }
}

// The numbers of used rows, with noise, as whole numbers from `least` to `limit`; 0 for rows that are not used.
template <typename Real, typename Whole>
void QuantiseRows(const Real* from, const Real* noise, const bool* is_used, double inverse, int64_t least, int64_t limit,
                  int64_t begin, int64_t end, Whole* to) {
  const auto with_noise = [&](int64_t row) {
    return static_cast<double>(from[row]) * inverse + static_cast<double>(noise[row]);
  };
  if (static_cast<double>(limit) + 2 < kLarge) {
    const auto low = static_cast<double>(least), high = static_cast<double>(limit);
    return WithWidest([&] {
      for (int64_t row = begin; row < end; ++row) {
        const double floor = FloorOfSmall(with_noise(row)), held = floor < high ? floor : high;
        to[row] = WholeOf<Whole>(held > low ? held : low) & -static_cast<Whole>(is_used[row]);
      }
    });
  }
  for (int64_t row = begin; row < end; ++row) {
    to[row] = is_used[row] ? static_cast<Whole>(std::max(std::min(Floor(with_noise(row)), limit), least)) : 0;
  }
}

// The derivatives of one kind, an array for each; with the unit of their whole numbers.
template <typename Real>
struct Kind {
  Values<Real> values;
  int64_t limit;
  double unit;
};

template <typename Real>
Kind<Real> KindOf(Threads& pool, const Values<Real>& values, int64_t terms_of_row, int64_t bits, bool fits_sum) {
  const Extent extent = ExtentOf(pool, values);
  const int64_t exponent = ExponentOf(extent.most);
  const double num_terms = static_cast<double>(extent.num_used) * terms_of_row;
  double unit = UnitOf(num_terms, exponent, bits);
  if (fits_sum) {
    const double fine = UnitOf(num_terms, exponent, 61);
    int64_t total = 0;
    for (const int64_t part : SumRows<Size>(pool, values, nullptr, extent.most, fine, 1)) total += part;
    // A number is rounded up by less than a unit, and the total has an error of less than as many units again.
    const double room = std::ldexp(1.0, static_cast<int>(bits)) - 1 - 2 * num_terms;
    unit = UnitOf(1, ExponentOf(static_cast<double>(total) * fine / room), 0);
  }
  // Sums have so few bits that all numbers up to the limit fit, though two to the exponent may be no float.
  const int64_t digits = std::clamp<int64_t>(exponent - std::ilogb(unit), 0, bits);
  return {values, static_cast<int64_t>(std::ldexp(1.0, static_cast<int>(digits)) - 1), unit};
}

// The derivatives as whole numbers: first second derivatives, and then gradients.
template <typename Real, typename Whole>
void Quantise(Threads& pool, const Values<Real>& curvatures, const Values<Real>& gradients, const Real* noise, int64_t bits,
              bool fits_sum, Whole* whole, double* units) {
  const int64_t num_rows = curvatures.num_rows;
  const Kind<Real> kinds[2] = {KindOf(pool, curvatures, curvatures.size(), bits, fits_sum),
                               KindOf(pool, gradients, 1, bits, fits_sum)};
  for (int kind = 0; kind < 2; ++kind) units[kind] = kinds[kind].unit;
  ForEachPart(pool, NumParts(pool, num_rows), num_rows, [&](int64_t, int64_t begin, int64_t end) {
    Whole* to = whole;
    for (const auto& [values, limit, unit] : kinds) {
      for (int64_t at = 0; at < values.size(); ++at, to += num_rows) {
        // A row whose first number is 0 would be in no tree.
        const int64_t least = to == whole ? 1 : -limit;
        QuantiseRows(values.At(at), noise, values.is_used, 1 / unit, least, limit, begin, end, to);
      }
    }
  });
}

// Whether all are numbers, of at most a size.
template <typename Real>
bool AreWithin(Threads& pool, const Real* values, int64_t size, double most) {
  const auto held = static_cast<Real>(std::min<double>(most, std::numeric_limits<Real>::max()));
  std::vector<int64_t> numbers(NumParts(pool, size));
  ForEachPart(pool, numbers.size(), size, [&](int64_t part, int64_t begin, int64_t end) {
    int64_t number = 0;
    WithWidest([&] {
      for (int64_t at = begin; at < end; ++at) number += std::abs(values[at]) <= held;
    });
    numbers[part] = number;
  });
  return std::accumulate(numbers.begin(), numbers.end(), int64_t{0}) == size;
}

template <typename Real>
void AddSteps(Threads& pool, const Real* scores, const Real* steps, const int32_t* leaf, int64_t num_scores,
              int64_t num_rows, int64_t num_nodes, Real* moved) {
  ForEachPart(pool, NumParts(pool, num_rows), num_rows, [&](int64_t, int64_t begin, int64_t end) {
    WithWidest([&] {
      for (int64_t score = 0; score < num_scores; ++score) {
        const Real *const step = steps + score * num_nodes, *const from = scores + score * num_rows;
        Real* const to = moved + score * num_rows;
        for (int64_t row = begin; row < end; ++row) to[row] = from[row] + step[Within(leaf[row], num_nodes)];
      }
    });
  });
}

// Every handler does the same for all models of a call; see common/batch.h.

ffi::Error SumAtNodesHandler(ffi::ThreadPool pool, ffi::AnyBuffer values, ffi::AnyBuffer is_used, ffi::AnyBuffer leaf,
                             ffi::AnyBuffer parent, ffi::AnyBuffer depth, ffi::Result<ffi::AnyBuffer> sums,
                             bool is_triangle) {
  const Models models(*sums, 2);
  return ForReals(values, [&](auto real) {
    using Real = decltype(real);
    ForEachModel(pool, models, [&](Threads& threads, int64_t model) {
      const Array all = models.Of(values, model), rows = models.Of(leaf, model), nodes = models.Of(parent, model);
      const Values<Real> own{all.As<Real>(), ArraysOf(all.size / std::max<int64_t>(rows.size, 1), is_triangle), rows.size,
                             models.Of(is_used, model).template As<bool>()};
      SumAtNodes(threads, own, rows.As<int32_t>(), nodes.As<int32_t>(), models.Of(depth, model).template As<int32_t>(),
                 nodes.size, models.Of(*sums, model).template As<double>());
    });
  });
}

ffi::Error SumHandler(ffi::ThreadPool pool, ffi::AnyBuffer values, ffi::AnyBuffer is_used,
                      ffi::Result<ffi::AnyBuffer> sum) {
  const Models models(*sum, 1);
  return ForReals(values, [&](auto real) {
    using Real = decltype(real);
    ForEachModel(pool, models, [&](Threads& threads, int64_t model) {
      const Array all = models.Of(values, model), used = models.Of(is_used, model);
      const int64_t number = all.size / std::max<int64_t>(used.size, 1);
      const Values<Real> own{all.As<Real>(), ArraysOf(number, false), used.size, used.As<bool>()};
      const Extent extent = ExtentOf(threads, own);
      const double unit = UnitOf(static_cast<double>(extent.num_used) * number, ExponentOf(extent.most), 61);
      int64_t total = 0;
      for (const int64_t part : SumRows(threads, own, nullptr, extent.most, unit, 1)) total += part;
      *models.Of(*sum, model).template As<double>() = static_cast<double>(total) * unit;
    });
  });
}

ffi::Error QuantiseHandler(ffi::ThreadPool pool, ffi::AnyBuffer curvatures, ffi::AnyBuffer gradients,
                           ffi::AnyBuffer noise, ffi::AnyBuffer is_used, ffi::Result<ffi::AnyBuffer> whole,
                           ffi::Result<ffi::AnyBuffer> units, int32_t bits, bool fits_sum) {
  const Models models(*units, 1);
  return ForReals(curvatures, [&](auto real) {
    using Real = decltype(real);
    ForEachModel(pool, models, [&](Threads& threads, int64_t model) {
      const Array used = models.Of(is_used, model), to = models.Of(*whole, model);
      const auto values_of = [&](const ffi::AnyBuffer& arrays) {
        const Array own = models.Of(arrays, model);
        return Values<Real>{own.As<Real>(), ArraysOf(own.dimensions[0], false), used.size, used.As<bool>()};
      };
      const auto run = [&](auto* numbers) {
        Quantise(threads, values_of(curvatures), values_of(gradients), models.Of(noise, model).template As<const Real>(),
                 bits, fits_sum, numbers, models.Of(*units, model).template As<double>());
      };
      if (to.type == ffi::DataType::S64) return run(to.As<int64_t>());
      run(to.As<int32_t>());
    });
  });
}

ffi::Error AreWithinHandler(ffi::ThreadPool pool, ffi::AnyBuffer values, ffi::Result<ffi::AnyBuffer> are_within,
                            double most) {
  const Models models(*are_within, 1);
  return ForReals(values, [&](auto real) {
    ForEachModel(pool, models, [&](Threads& threads, int64_t model) {
      const Array own = models.Of(values, model);
      *models.Of(*are_within, model).template As<bool>() = AreWithin(threads, own.As<decltype(real)>(), own.size, most);
    });
  });
}

ffi::Error AddStepsHandler(ffi::ThreadPool pool, ffi::AnyBuffer scores, ffi::AnyBuffer steps, ffi::AnyBuffer leaf,
                           ffi::Result<ffi::AnyBuffer> moved) {
  const Models models(*moved, 2);
  return ForReals(scores, [&](auto real) {
    using Real = decltype(real);
    ForEachModel(pool, models, [&](Threads& threads, int64_t model) {
      const Array before = models.Of(scores, model), of_nodes = models.Of(steps, model);
      AddSteps(threads, before.As<Real>(), of_nodes.As<Real>(), models.Of(leaf, model).template As<int32_t>(),
               before.dimensions[0], before.dimensions[1], of_nodes.dimensions[1],
               models.Of(*moved, model).template As<Real>());
    });
  });
}

}  // namespace
}  // namespace jaxtree

XLA_FFI_DEFINE_HANDLER_SYMBOL(jaxtree_sum_at_nodes, jaxtree::SumAtNodesHandler,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::ThreadPool>()
                                  .Arg<ffi::AnyBuffer>()          // values of rows
                                  .Arg<ffi::AnyBuffer>()  // whether a row is used
                                  .Arg<ffi::AnyBuffer>()   // leaf of a row
                                  .Arg<ffi::AnyBuffer>()   // parent of a node
                                  .Arg<ffi::AnyBuffer>()   // depth of a node
                                  .Ret<ffi::AnyBuffer>()
                                  .Attr<bool>("is_triangle"));
XLA_FFI_DEFINE_HANDLER_SYMBOL(jaxtree_sum, jaxtree::SumHandler,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::ThreadPool>()
                                  .Arg<ffi::AnyBuffer>()          // values of rows
                                  .Arg<ffi::AnyBuffer>()  // whether a row is used
                                  .Ret<ffi::AnyBuffer>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(jaxtree_quantise, jaxtree::QuantiseHandler,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::ThreadPool>()
                                  .Arg<ffi::AnyBuffer>()  // second derivatives of rows
                                  .Arg<ffi::AnyBuffer>()  // gradients of rows
                                  .Arg<ffi::AnyBuffer>()  // noise of rows
                                  .Arg<ffi::AnyBuffer>()  // whether a row is used
                                  .Ret<ffi::AnyBuffer>()
                                  .Ret<ffi::AnyBuffer>()   // units of second derivatives and of gradients
                                  .Attr<int32_t>("bits")
                                  .Attr<bool>("fits_sum"));
XLA_FFI_DEFINE_HANDLER_SYMBOL(jaxtree_are_within, jaxtree::AreWithinHandler,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::ThreadPool>()
                                  .Arg<ffi::AnyBuffer>()  // values of rows
                                  .Ret<ffi::AnyBuffer>()
                                  .Attr<double>("most"));
XLA_FFI_DEFINE_HANDLER_SYMBOL(jaxtree_add_steps, jaxtree::AddStepsHandler,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::ThreadPool>()
                                  .Arg<ffi::AnyBuffer>()         // scores of rows
                                  .Arg<ffi::AnyBuffer>()         // steps of nodes
                                  .Arg<ffi::AnyBuffer>()  // leaf of a row
                                  .Ret<ffi::AnyBuffer>());
