// The kernel that grows trees: reads XLA's arrays, and makes the blank table that growth fills.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <type_traits>
#include <vector>

#include "common/batch.h"
#include "common/memory.h"
#include "common/simd.h"
#include "ffi/attributes.h"
#include "grow/leaf_wise.h"
#include "grow/level_wise.h"
#include "tree/describe.h"
#include "tree/node_table.h"
#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

namespace jaxtree {
namespace {

// The buffers of a growth, in the order of `growth.native.grow_nodes`, limits as in `RootLimits`; the last is their number.
enum Argument : size_t {
  kCodes, kRow, kRoot, kLabel, kValue,
  kKind, kNumCodes, kMissingCode, kInAverage, kMonotone, kFirstApart, kPosition, kSets,
  kUnits,
  kMaxDepth, kSplitWeight, kSplitRows, kMinGain, kMinImpurityDecrease, kMaxFeatures, kLevelFeatures, kMaxLeafNodes,
  kLeafWeight, kLeafRows, kMdlCorrection, kNumDeclaredClasses, kScoreNoise, kParameters, kRootSeed,
  kNumArguments
};

class Arguments {
 public:
  Arguments(const ffi::RemainingArgs& buffers, const Models& models, int64_t model)
      : buffers_(buffers), models_(models), model_(model) {}

  Array At(Argument argument) const { return models_.Of(buffers_.get<ffi::AnyBuffer>(argument).value(), model_); }

  // The elements of a buffer; null if it has none.
  template <typename T>
  const T* Data(Argument argument) const {
    const Array array = At(argument);
    return array.size == 0 ? nullptr : array.As<T>();
  }

 private:
  const ffi::RemainingArgs& buffers_;
  const Models& models_;
  const int64_t model_;
};

class Results {
 public:
  Results(const ffi::RemainingRets& buffers, const Models& models, int64_t model)
      : buffers_(buffers), models_(models), model_(model) {}

  // The elements of the next buffer, all of them `blank`; null if it has none.
  template <typename T>
  T* Data(T blank) {
    const Array array = Peek();
    std::fill_n(array.As<T>(), array.size, blank);
    return Untouched<T>();
  }

  // The next buffer as it is.
  template <typename T>
  T* Untouched() {
    const Array array = Peek();
    ++at_;
    return array.size == 0 ? nullptr : array.As<T>();
  }

  int64_t LastDimension() const { return Peek().dimensions.back(); }

  // The number of nodes that the next buffer has room for.
  int64_t Capacity() const { return Peek().size; }

 private:
  Array Peek() const {
    ffi::Result<ffi::AnyBuffer> buffer = buffers_.get<ffi::AnyBuffer>(at_).value();
    return models_.Of(*buffer, model_);
  }

  const ffi::RemainingRets& buffers_;
  const Models& models_;
  const int64_t model_;
  size_t at_ = 0;
};

std::vector<Addition> ReadAdditions(ffi::Span<const int32_t> numbers) {
  std::vector<Addition> additions;
  for (size_t at = 0; at + 2 < numbers.size(); at += 3) {
    additions.push_back({numbers[at], numbers[at + 1], numbers[at + 2]});
  }
  return additions;
}

bool AddsOneLabel(const std::vector<Addition>& additions) {
  const Addition first = additions[0];
  return additions.size() == 1 && first.label == 0 && first.channel == 0 && first.value == 0;
}

bool AddsTwoValues(const std::vector<Addition>& additions, bool counts_rows = false) {
  if (additions.size() != 2 + size_t{counts_rows}) return false;
  const auto is_plain = [&](int32_t at) {
    return additions[at].label < 0 && additions[at].channel == at && additions[at].value == at;
  };
  return is_plain(0) && is_plain(1);
}

// Whether nodes look at less than a quarter of the features: this costs less only where a node's entries lie side by side.
template <typename Code, typename Value>
bool LooksAtFew(const Level<Code, Value>& level, int64_t num_roots) {
  if (!level.rules.samples_features) return false;
  const int32_t *const num_codes = level.table.num_codes, *const most_features = level.rules.most_features;
  const int64_t num_empty = std::count(num_codes, num_codes + level.table.num_features, 0);
  return 4 * int64_t{*std::max_element(most_features, most_features + num_roots)} < level.table.num_features - num_empty;
}

// The static attributes of a growth; see `_attributes` of `jaxtree/growth/native.py`.
struct Attributes {
  ffi::Span<const int32_t> additions, node_additions;  // label, channel and value of each
  int32_t num_bins, subset_bins, num_slots, capacity, num_classes, num_outputs, num_channels;
  Formula formula;
  Missing missing;
  Selection selection;
  bool counts_rows, is_scaled, has_missing, samples_features, samples_levels, samples_thresholds, draws_ties, draws_scores;
  bool grows_best_first, starts_in_row_order;
};

ffi::Error ReadAttributes(const ffi::Dictionary& given, Attributes& to) {
  AttributeReader in(given);
  in.Read<ffi::Span<const int32_t>>("additions", to.additions);
  in.Read<ffi::Span<const int32_t>>("node_additions", to.node_additions);
  in.Read<int32_t>("num_bins", to.num_bins);
  in.Read<int32_t>("subset_bins", to.subset_bins);
  in.Read<int32_t>("num_slots", to.num_slots);
  in.Read<int32_t>("capacity", to.capacity);
  in.Read<int32_t>("formula", to.formula);
  in.Read<int32_t>("num_classes", to.num_classes);
  in.Read<int32_t>("num_outputs", to.num_outputs);
  in.Read<int32_t>("num_channels", to.num_channels);
  in.Read<int32_t>("missing", to.missing);
  in.Read<int32_t>("selection", to.selection);
  in.Read<bool>("counts_rows", to.counts_rows);
  in.Read<bool>("is_scaled", to.is_scaled);
  in.Read<bool>("has_missing", to.has_missing);
  in.Read<bool>("samples_features", to.samples_features);
  in.Read<bool>("samples_levels", to.samples_levels);
  in.Read<bool>("samples_thresholds", to.samples_thresholds);
  in.Read<bool>("draws_ties", to.draws_ties);
  in.Read<bool>("draws_scores", to.draws_scores);
  in.Read<bool>("grows_best_first", to.grows_best_first);
  in.Read<bool>("starts_in_row_order", to.starts_in_row_order);
  return in.Finish();
}

// Whole numbers that are indices, held within bounds: those that are handed over, or a copy where one is out of them.
class Indices {
 public:
  const int32_t* Held(const int32_t* given, int64_t size, int32_t least, int32_t most) {
    int64_t number = 0;
    WithWidest([&] {
      for (int64_t at = 0; at < size; ++at) number += (given[at] >= least) & (given[at] <= most);
    });
    if (number == size) return given;
    own_.resize(size);
    for (int64_t at = 0; at < size; ++at) own_[at] = std::clamp(given[at], least, most);
    return own_.data();
  }

 private:
  std::vector<int32_t> own_;
};

// The features as growth reads them: no feature has more codes than the table, or than a subset has bits.
class HeldFeatures {
 public:
  template <typename Code, typename Value>
  void Hold(Level<Code, Value>& level, int32_t subset_codes) {
    const int64_t size = level.table.num_features;
    level.table.kind = kind_.Held(level.table.kind, size, kThreshold, subset_codes > 0 ? kSubset : kOneVsRest);
    const auto most = static_cast<int32_t>(level.table.num_bins);
    level.table.num_codes = num_codes_.Held(level.table.num_codes, size, 0, most);
    level.table.missing_code = missing_code_.Held(level.table.missing_code, size, 0, most);
    const bool is_subset = std::count(level.table.kind, level.table.kind + size, kSubset) > 0;
    if (!is_subset || subset_codes >= most) return;
    fitting_.assign(level.table.num_codes, level.table.num_codes + size);
    for (int64_t feature = 0; feature < size; ++feature) {
      if (level.table.kind[feature] == kSubset) fitting_[feature] = std::min(fitting_[feature], subset_codes);
    }
    level.table.num_codes = fitting_.data();
  }

 private:
  Indices kind_, num_codes_, missing_code_;
  std::vector<int32_t> fitting_;
};

template <typename Value>
NodeTable<Value> ReadTable(Results& results, int32_t num_roots, int64_t capacity) {
  NodeTable<Value> table{};
  table.capacity = capacity;
  table.num_nodes = num_roots;
  for (int32_t** field : table.Numbers()) *field = results.Data<int32_t>(0);
  table.gain = results.Data<double>(0);
  table.num_words = results.LastDimension();
  table.subset = results.Data<uint32_t>(0);
  table.num_channels = results.LastDimension();
  table.sums = results.Data<Value>(0);
  table.low = results.Data<int64_t>(std::numeric_limits<int64_t>::max());
  table.high = results.Data<int64_t>(std::numeric_limits<int64_t>::min());
  std::iota(table.parent, table.parent + num_roots, 0);
  std::iota(table.root, table.root + num_roots, 0);
  return table;
}

template <typename Code, typename Value>
void Run(Threads& pool, const Arguments& in, Results results, const Attributes& attributes) {
  Level<Code, Value> level{};
  const Array codes = in.At(kCodes);
  level.table.codes = codes.As<const Code>();
  level.table.num_features = codes.dimensions[0];
  level.table.num_rows = codes.dimensions[1];

  Entries<Value> entries{};
  entries.row = in.Data<int32_t>(kRow);
  entries.root = in.Data<int32_t>(kRoot);
  const Array label = in.At(kLabel), value = in.At(kValue);
  if (label.type == ffi::DataType::S64) {
    entries.identity = label.As<const int64_t>();
  } else {
    entries.label = label.As<const int32_t>();
    entries.num_labels = label.dimensions[0];
  }
  entries.value = value.As<const Value>();
  entries.num_values = value.dimensions[0];
  entries.size = value.dimensions[1];
  entries.are_in_row_order = attributes.starts_in_row_order;
  entries.additions = ReadAdditions(attributes.node_additions);
  entries.adds_one_label = AddsOneLabel(entries.additions);
  entries.adds_two_values = entries.identity == nullptr && AddsTwoValues(entries.additions);

  level.table.kind = in.Data<int32_t>(kKind);
  level.table.num_codes = in.Data<int32_t>(kNumCodes);
  level.table.missing_code = in.Data<int32_t>(kMissingCode);
  level.table.in_average = in.Data<int32_t>(kInAverage);
  level.table.monotone = in.Data<int32_t>(kMonotone);
  const Array apart = in.At(kFirstApart), position = in.At(kPosition);
  level.table.num_apart = apart.dimensions.back();
  level.table.first_apart = level.table.num_apart == 0 ? nullptr : apart.As<const int32_t>();
  level.table.num_positions = position.dimensions.back();
  level.table.position = level.table.num_positions == 0 ? nullptr : position.As<const double>();
  OpenRules open{level.table.num_features, level.table.num_codes};
  const Array sets = in.At(kSets);
  open.num_words = sets.dimensions.back();
  open.sets = open.num_words == 0 ? nullptr : sets.As<const uint32_t>();
  const double* const units = in.Data<double>(kUnits);

  Limits<Value> limits{};
  const Array max_depth = in.At(kMaxDepth);
  limits.max_depth = max_depth.As<const int32_t>();
  limits.split_weight = in.Data<Value>(kSplitWeight);
  limits.split_rows = in.Data<int32_t>(kSplitRows);
  limits.min_gain = in.Data<double>(kMinGain);
  limits.min_impurity_decrease = in.Data<double>(kMinImpurityDecrease);
  level.rules.most_features = in.Data<int32_t>(kMaxFeatures);
  open.level_features = in.Data<int32_t>(kLevelFeatures);
  const int32_t* const max_leaf_nodes = in.Data<int32_t>(kMaxLeafNodes);
  level.rules.leaf_weight = in.Data<Value>(kLeafWeight);
  level.rules.leaf_rows = in.Data<int32_t>(kLeafRows);
  level.rules.mdl_correction = in.Data<double>(kMdlCorrection);
  level.rules.num_declared_classes = in.Data<double>(kNumDeclaredClasses);
  level.rules.score_noise = in.Data<double>(kScoreNoise);
  const Array parameters = in.At(kParameters);
  level.rules.num_parameters = parameters.dimensions.back();
  level.rules.parameters = level.rules.num_parameters == 0 ? nullptr : parameters.As<const double>();
  const uint32_t* const root_seed = in.Data<uint32_t>(kRootSeed);

  NodeTable<Value> table = ReadTable<Value>(results, max_depth.size, attributes.capacity);
  level.table.num_bins = attributes.num_bins;
  HeldFeatures features;
  features.Hold(level, static_cast<int32_t>(std::min<int64_t>(attributes.subset_bins, table.num_words * kCodesPerWord)));
  open.num_codes = level.table.num_codes;
  Indices rows, labels;
  if (entries.row != nullptr) entries.row = rows.Held(entries.row, entries.size, 0, level.table.num_rows - 1);
  if (entries.label != nullptr) {
    const int32_t most = std::max(attributes.num_classes, 1) - 1;
    entries.label = labels.Held(entries.label, entries.num_labels * entries.size, 0, most);
  }
  level.rules.objective = {attributes.formula, attributes.num_classes, attributes.num_outputs, attributes.num_channels,
                     attributes.counts_rows, attributes.is_scaled, attributes.selection != kGain, units[0], units[1]};
  level.rules.split = {attributes.missing, attributes.has_missing, attributes.selection, static_cast<int32_t>(table.num_words),
                 attributes.subset_bins};
  level.rules.samples_features = attributes.samples_features;
  level.rules.samples_thresholds = attributes.samples_thresholds;
  level.rules.draws_ties = attributes.draws_ties;
  level.rules.draws_scores = attributes.draws_scores;
  open.samples_levels = attributes.samples_levels;
  limits.max_leaf_nodes = attributes.grows_best_first ? max_leaf_nodes : nullptr;
  level.rules.additions = ReadAdditions(attributes.additions);
  level.rules.adds_one_label = AddsOneLabel(level.rules.additions);
  level.rules.adds_two_values = AddsTwoValues(level.rules.additions, level.rules.objective.counts_rows) && level.table.num_bins <= kFewCodes;

  Described<Value> described{};
  described.weight = results.Data<Value>(0);
  described.impurity = results.Data<double>(0);
  int32_t* const end = results.Data<int32_t>(0);
  int32_t* const leaf = results.Untouched<int32_t>();
  const int64_t lent = results.LastDimension();
  Memory memory(results.Untouched<uint8_t>(), lent);
  const int64_t most_slots_in_row_order = LooksAtFew(level, table.num_nodes) ? 0 : attributes.num_slots;
  const Growth<Code, Value> growth{level, limits, open, entries, root_seed, most_slots_in_row_order, leaf};
  const bool is_complete = [&] {
    if constexpr (std::is_same_v<Code, uint8_t> && std::is_same_v<Value, int32_t>) {
      if (GrowsLeafWise(growth, table)) return GrowLeafWise(pool, growth, table);
    }
    return LevelWiseGrower<Code, Value>(pool, growth, table, memory).Run();
  }();
  Describe(pool, level.rules.objective, table, described);
  end[0] = table.num_nodes;
  end[1] = is_complete;
}

// The fault in the shapes of a growth, if any, else null; with right shapes no index leaves its array.
const char* WrongShapes(const Arguments& in, const Results& results, int64_t leaf_size, const Attributes& attributes) {
  const Array codes = in.At(kCodes), row = in.At(kRow), value = in.At(kValue);
  const Array apart = in.At(kFirstApart), position = in.At(kPosition), parameters = in.At(kParameters);
  const int64_t num_rows = codes.dimensions[1], num_entries = value.dimensions[1], num_bins = attributes.num_bins;
  const bool are_rows = row.size == 0 || attributes.starts_in_row_order || leaf_size > 0;
  if (are_rows && num_entries > num_rows) return "entries that are rows must not be more than these";
  if (num_entries > 0 && num_rows < 1) return "entries need a row";
  const int64_t num_apart = apart.dimensions.back(), num_positions = position.dimensions.back();
  if (num_apart > 0 && num_apart < num_bins) return "first_apart must have a number for every code";
  if (attributes.samples_thresholds && num_positions < num_bins) return "position must have a number for every code";
  if (attributes.formula == Formula::kNewton && parameters.dimensions.back() < 3) {
    return "Newton steps need three parameters";
  }
  return results.Capacity() < attributes.capacity ? "the table must have room for the nodes" : nullptr;
}

ffi::Error Grow(ffi::ThreadPool pool, ffi::RemainingArgs in, ffi::RemainingRets results, ffi::Dictionary given) {
  Attributes attributes{};
  const ffi::Error unread = ReadAttributes(given, attributes);
  if (unread.failure()) return unread;
  if (in.size() != kNumArguments) return ffi::Error::InvalidArgument("a growth has another number of arrays");
  const ffi::AnyBuffer codes = *in.get<ffi::AnyBuffer>(kCodes), value = *in.get<ffi::AnyBuffer>(kValue);
  ffi::Result<ffi::AnyBuffer> of_nodes = *results.get<ffi::AnyBuffer>(0);
  const Models models(*of_nodes, 1);
  ffi::Result<ffi::AnyBuffer> leaf = *results.get<ffi::AnyBuffer>(results.size() - 2);
  const char* const wrong = WrongShapes({in, models, 0}, {results, models, 0}, models.Of(*leaf, 0).size, attributes);
  if (wrong != nullptr) return ffi::Error::InvalidArgument(wrong);
  return ForCodes(codes, [&](auto code) {
    return ForValues(value, [&](auto number) {
      ForEachModel(pool, models, [&](Threads& threads, int64_t model) {
        Run<decltype(code), decltype(number)>(threads, {in, models, model}, {results, models, model}, attributes);
      });
      return ffi::Error::Success();
    });
  });
}

}  // namespace
}  // namespace jaxtree

XLA_FFI_DEFINE_HANDLER_SYMBOL(jaxtree_grow, jaxtree::Grow,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::ThreadPool>()
                                  .RemainingArgs()
                                  .RemainingRets()
                                  .Attrs());
