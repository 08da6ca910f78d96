// The kernel that grows trees: reads arrays, and fills a blank table of XLA's, or on the host one of its own.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
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
#include "tree/scratch_tree.h"
#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

namespace jaxtree {
namespace {

// The arrays of a growth; see `ARRAYS` of `jaxtree/growth/native.py`.
#define JAXTREE_ARRAYS(FIELD)                                                               \
  FIELD(codes) FIELD(codes_of_rows) FIELD(row) FIELD(root) FIELD(label) FIELD(value)        \
  FIELD(features) FIELD(next_separable) FIELD(position) FIELD(sets)                         \
  FIELD(units) FIELD(limits) FIELD(parameters) FIELD(root_seed)

enum class Argument : size_t {
#define JAXTREE_FIELD(name) name,
  JAXTREE_ARRAYS(JAXTREE_FIELD)
#undef JAXTREE_FIELD
  kNumber
};

class Arguments {
 public:
  Arguments(const ffi::RemainingArgs& buffers, const Models& models, int64_t model)
      : buffers_(buffers), models_(models), model_(model) {}

  Array At(Argument argument) const { return models_.Of(buffers_.get<ffi::AnyBuffer>(static_cast<size_t>(argument)).value(), model_); }

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

  // Copies as many elements as the next buffer has; of a type of its own, which is as wide.
  template <typename T>
  void Copy(const T* values) {
    const Array array = Peek();
    if (array.size > 0) std::memcpy(array.data, values, array.size * sizeof(T));
    ++at_;
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
  const int32_t *const num_codes = level.table.num_codes, *const most_features = level.rules.limits.max_features.data();
  const int64_t num_empty = std::count(num_codes, num_codes + level.table.num_features, 0);
  return 4 * int64_t{*std::max_element(most_features, most_features + num_roots)} < level.table.num_features - num_empty;
}

// The static attributes of a growth; see `_attributes` of `jaxtree/growth/native.py`.
struct Attributes {
  ffi::Span<const int32_t> additions, node_additions;  // label, channel and value of each
  int32_t num_bins, num_words, subset_bins, num_slots, num_classes, num_outputs, num_channels, num_node_channels;
  int32_t num_arms;  // of linear moments, as the next line
  bool has_instruments, is_stabilised;
  Formula formula;
  Missing missing;
  Selection selection;
  bool counts_rows, is_scaled, has_missing, samples_features, samples_levels, samples_thresholds, draws_ties, draws_scores;
  bool grows_best_first, starts_in_row_order, compares_targets, describes_nodes;

  Moments moments() const { return {num_arms, num_outputs, has_instruments, is_stabilised}; }
};

ffi::Error ReadAttributes(const ffi::Dictionary& given, Attributes& to) {
  AttributeReader in(given);
  in.Read<ffi::Span<const int32_t>>("additions", to.additions);
  in.Read<ffi::Span<const int32_t>>("node_additions", to.node_additions);
  in.Read<int32_t>("num_bins", to.num_bins);
  in.Read<int32_t>("num_words", to.num_words);
  in.Read<int32_t>("subset_bins", to.subset_bins);
  in.Read<int32_t>("num_slots", to.num_slots);
  in.Read<int32_t>("formula", to.formula);
  in.Read<int32_t>("num_classes", to.num_classes);
  in.Read<int32_t>("num_outputs", to.num_outputs);
  in.Read<int32_t>("num_channels", to.num_channels);
  in.Read<int32_t>("num_node_channels", to.num_node_channels);
  in.Read<int32_t>("num_arms", to.num_arms);
  in.Read<bool>("has_instruments", to.has_instruments);
  in.Read<bool>("is_stabilised", to.is_stabilised);
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
  in.Read<bool>("compares_targets", to.compares_targets);
  in.Read<bool>("describes_nodes", to.describes_nodes);
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

// A growth as the arrays and attributes of a call describe it. It holds copies of what it could not take as it is.
template <typename Code, typename Value>
class GivenGrowth {
 public:
  GivenGrowth(const Arguments& in, const Attributes& attributes) {
    ReadTable(in, attributes);
    ReadEntries(in, attributes);
    ReadRules(in, attributes);
    growth_.open.level_features = level_.rules.limits.level_features.data();
    growth_.root_seed = in.Data<uint32_t>(Argument::root_seed);
    growth_.most_slots_in_row_order = LooksAtFew(level_, in.At(Argument::root_seed).size) ? 0 : attributes.num_slots;
  }

  GivenGrowth(const GivenGrowth&) = delete;

  // Grows the trees in a room that has their roots; the leaves of rows too, if there is a place for them. Returns whether
  // there was room for all nodes.
  bool Run(Threads& pool, NodeRoom<Value>& room, Memory& memory, int32_t* leaf) {
    growth_.leaf = leaf;
    if constexpr (std::is_same_v<Code, uint8_t> && std::is_same_v<Value, int32_t>) {
      if (GrowsLeafWise(growth_, room.table())) return GrowLeafWise(pool, growth_, room, memory);
    }
    return LevelWiseGrower<Code, Value>(pool, growth_, room, memory).Run();
  }

  const Objective& objective() const { return level_.rules.objective; }

 private:
  void ReadTable(const Arguments& in, const Attributes& attributes) {
    Table<Code>& table = level_.table;
    const Array codes = in.At(Argument::codes);
    table.codes = codes.As<const Code>();
    table.num_features = codes.dimensions[0];
    table.num_rows = codes.dimensions[1];
    table.codes_of_rows = in.Data<Code>(Argument::codes_of_rows);
    table.num_bins = attributes.num_bins;
    table.ReadFeatures(in.At(Argument::features).As<const int32_t>());
    const Array apart = in.At(Argument::next_separable), position = in.At(Argument::position), sets = in.At(Argument::sets);
    table.num_apart = apart.dimensions.back();
    table.next_separable = table.num_apart == 0 ? nullptr : apart.As<const int32_t>();
    table.num_positions = position.dimensions.back();
    table.position = table.num_positions == 0 ? nullptr : position.As<const double>();
    features_.Hold(level_, static_cast<int32_t>(std::min<int64_t>(attributes.subset_bins, attributes.num_words * kCodesPerWord)));
    const int64_t num_words = sets.dimensions.back();
    const uint32_t* const own_sets = num_words == 0 ? nullptr : sets.As<const uint32_t>();
    growth_.open = {table.num_features, table.num_codes, own_sets, num_words, nullptr, attributes.samples_levels};
  }

  void ReadEntries(const Arguments& in, const Attributes& attributes) {
    entries_.row = in.Data<int32_t>(Argument::row);
    entries_.root = in.Data<int32_t>(Argument::root);
    const Array label = in.At(Argument::label), value = in.At(Argument::value);
    if (label.type == ffi::DataType::S64) {
      entries_.identity = label.As<const int64_t>();
    } else {
      entries_.label = label.As<const int32_t>();
      entries_.num_labels = label.dimensions[0];
    }
    entries_.value = value.As<const Value>();
    entries_.num_values = value.dimensions[0];
    entries_.size = value.dimensions[1];
    entries_.are_in_row_order = attributes.starts_in_row_order;
    entries_.additions = ReadAdditions(attributes.node_additions);
    entries_.adds_one_label = AddsOneLabel(entries_.additions);
    entries_.adds_two_values = entries_.identity == nullptr && AddsTwoValues(entries_.additions);
    if (entries_.row != nullptr) entries_.row = rows_.Held(entries_.row, entries_.size, 0, level_.table.num_rows - 1);
    if (entries_.label != nullptr) {
      const int32_t most = std::max(attributes.num_classes, 1) - 1;
      entries_.label = labels_.Held(entries_.label, entries_.num_labels * entries_.size, 0, most);
    }
  }

  void ReadRules(const Arguments& in, const Attributes& attributes) {
    Rules<Value>& rules = level_.rules;
    const Array parameters = in.At(Argument::parameters);
    const double* const units = in.Data<double>(Argument::units);
    rules.objective = {attributes.formula, attributes.num_classes, attributes.num_outputs, attributes.num_channels,
                       attributes.counts_rows, attributes.is_scaled, attributes.selection != kGain, units[0], units[1],
                       attributes.moments()};
    rules.split = {attributes.missing, attributes.has_missing, attributes.selection, attributes.num_words,
                   attributes.subset_bins};
    rules.samples_features = attributes.samples_features;
    rules.samples_thresholds = attributes.samples_thresholds;
    rules.draws_ties = attributes.draws_ties;
    rules.draws_scores = attributes.draws_scores;
    rules.additions = ReadAdditions(attributes.additions);
    rules.adds_one_label = AddsOneLabel(rules.additions);
    rules.adds_two_values =
        AddsTwoValues(rules.additions, attributes.counts_rows) && level_.table.num_bins <= kFewCodes;
    rules.limits = RootLimits<Value>(in.Data<double>(Argument::limits), in.At(Argument::root_seed).size);
    rules.is_best_first = attributes.grows_best_first;
    rules.num_parameters = parameters.dimensions.back();
    rules.parameters = rules.num_parameters == 0 ? nullptr : parameters.As<const double>();
  }

  Growth<Code, Value> growth_{};
  Level<Code, Value>& level_ = growth_.level;
  Entries<Value>& entries_ = growth_.entries;
  HeldFeatures features_;
  Indices rows_, labels_;
};

// A table without arrays, whose nodes are the roots.
template <typename Value>
NodeTable<Value> RootTable(int64_t num_roots, const Attributes& attributes) {
  NodeTable<Value> table{};
  table.num_nodes = num_roots;
  table.num_words = attributes.num_words;
  table.num_channels = attributes.num_node_channels;
  return table;
}

// Fills XLA's arrays.
template <typename Code, typename Value>
void Run(Threads& pool, const Arguments& in, Results results, const Attributes& attributes) {
  GivenGrowth<Code, Value> growth(in, attributes);
  NodeTable<Value> table = RootTable<Value>(in.At(Argument::root_seed).size, attributes);
  table.capacity = results.Capacity();
  for (int32_t** field : table.Numbers()) *field = results.Data<int32_t>(0);
  table.gain = results.Data<double>(0);
  table.subset = results.Data<uint32_t>(0);
  table.sums = results.Data<Value>(0);
  table.low = results.Data<int64_t>(std::numeric_limits<int64_t>::max());
  table.high = results.Data<int64_t>(std::numeric_limits<int64_t>::min());
  LentRoom<Value> room(table);
  Described<Value> described{};
  described.weight = results.Data<Value>(0);
  described.impurity = results.Data<double>(0);
  int32_t* const end = results.Data<int32_t>(0);
  int32_t* const leaf = results.Untouched<int32_t>();
  const int64_t lent = results.LastDimension();
  Memory memory(results.Untouched<uint8_t>(), lent);
  end[1] = growth.Run(pool, room, memory, leaf);
  Describe(pool, growth.objective(), room.table(), described);
  end[0] = room.table().num_nodes;
}

// Trees that were grown on the host, until they are taken.
class HeldTrees {
 public:
  virtual ~HeldTrees() = default;
  virtual int64_t num_nodes() = 0;
  // Copies all that `Run` fills of nodes.
  virtual void CopyTo(Results& results) = 0;
};

template <typename Value>
class OwnTrees : public HeldTrees {
 public:
  template <typename Code>
  OwnTrees(Threads& pool, GivenGrowth<Code, Value>& growth, const NodeTable<Value>& roots, const Attributes& attributes)
      : trees_(roots, attributes.compares_targets) {
    Memory memory(nullptr, 0);
    growth.Run(pool, trees_, memory, nullptr);
    if (!attributes.describes_nodes) return;
    weight_.resize(num_nodes());
    impurity_.resize(num_nodes());
    Describe(pool, growth.objective(), trees_.table(), Described<Value>{weight_.data(), impurity_.data()});
  }

  int64_t num_nodes() override { return trees_.table().num_nodes; }

  void CopyTo(Results& results) override {
    NodeTable<Value>& table = trees_.table();
    for (int32_t** field : table.Numbers()) results.Copy(*field);
    results.Copy(table.gain);
    results.Copy(table.subset);
    results.Copy(table.sums);
    results.Copy(table.low);
    results.Copy(table.high);
    results.Copy(weight_.data());
    results.Copy(impurity_.data());
  }

 private:
  ScratchTree<Value> trees_;
  std::vector<Value> weight_;
  std::vector<double> impurity_;
};

// What is wrong with the shapes of a growth, which no array of a right shape leads out of; null if nothing is.
const char* WrongShapes(const Arguments& in, int64_t leaf_size, const Attributes& attributes) {
  const Array codes = in.At(Argument::codes), row = in.At(Argument::row), value = in.At(Argument::value);
  const Array apart = in.At(Argument::next_separable), position = in.At(Argument::position);
  const int64_t num_rows = codes.dimensions[1], num_entries = value.dimensions[1], num_bins = attributes.num_bins;
  const bool are_rows = row.size == 0 || attributes.starts_in_row_order || leaf_size > 0;
  if (are_rows && num_entries > num_rows) return "entries that are rows must not be more than these";
  if (num_entries > 0 && num_rows < 1) return "entries need a row";
  const int64_t num_side_by_side = in.At(Argument::codes_of_rows).size;
  if (num_side_by_side > 0 && num_side_by_side != codes.size) return "codes of rows must be those of features";
  const int64_t num_apart = apart.dimensions.back(), num_positions = position.dimensions.back();
  if (num_apart > 0 && num_apart < num_bins) return "next_separable must have a number for every code";
  if (attributes.samples_thresholds && num_positions < num_bins) return "position must have a number for every code";
  if (attributes.formula == Formula::kNewton && in.At(Argument::parameters).dimensions.back() < 3) {
    return "Newton steps need three parameters";
  }
  if (attributes.formula == Formula::kLinearMoments) {
    if (in.At(Argument::parameters).dimensions.back() != kNumMomentLimits) return "moments need four parameters";
    if (attributes.num_arms < 0 || attributes.num_arms > kMostArms) return "moments have too many treatments";
    const int32_t number = MomentPlaces(attributes.moments()).number + attributes.counts_rows;
    if (attributes.num_channels != number) return "moments have another number of channels";
  }
  if (in.At(Argument::features).size != Table<uint8_t>::NumFields() * codes.dimensions[0]) return "features have other fields";
  const int64_t num_limits = RootLimits<int32_t>::Number();
  return in.At(Argument::limits).size != num_limits * in.At(Argument::root_seed).size ? "there are other limits" : nullptr;
}

// Reads the attributes of a call, and returns an error where these or the number of arrays are wrong.
ffi::Error Open(const ffi::RemainingArgs& in, const ffi::Dictionary& given, Attributes& attributes) {
  const ffi::Error unread = ReadAttributes(given, attributes);
  if (unread.failure()) return unread;
  const bool is_whole = in.size() == static_cast<size_t>(Argument::kNumber);
  return is_whole ? ffi::Error::Success() : ffi::Error::InvalidArgument("a growth has another number of arrays");
}

// Returns run(number of the type of codes, number of the type of values).
template <typename Run>
ffi::Error ForTypes(const ffi::RemainingArgs& in, const Run& run) {
  const auto codes = *in.get<ffi::AnyBuffer>(static_cast<size_t>(Argument::codes));
  const auto value = *in.get<ffi::AnyBuffer>(static_cast<size_t>(Argument::value));
  return ForCodes(codes, [&](auto code) { return ForValues(value, [&](auto number) { return run(code, number); }); });
}

ffi::Error Grow(ffi::ThreadPool pool, ffi::RemainingArgs in, ffi::RemainingRets results, ffi::Dictionary given) {
  Attributes attributes{};
  const ffi::Error error = Open(in, given, attributes);
  if (error.failure()) return error;
  ffi::Result<ffi::AnyBuffer> of_nodes = *results.get<ffi::AnyBuffer>(0);
  const Models models(*of_nodes, 1);
  ffi::Result<ffi::AnyBuffer> leaf = *results.get<ffi::AnyBuffer>(results.size() - 2);
  const char* const wrong = WrongShapes({in, models, 0}, models.Of(*leaf, 0).size, attributes);
  if (wrong != nullptr) return ffi::Error::InvalidArgument(wrong);
  return ForTypes(in, [&](auto code, auto number) {
    ForEachModel(pool, models, [&](Threads& threads, int64_t model) {
      Run<decltype(code), decltype(number)>(threads, {in, models, model}, {results, models, model}, attributes);
    });
    return ffi::Error::Success();
  });
}

// Grows trees that the kernel holds, and tells where they are, and how many nodes they have.
ffi::Error GrowOnHost(ffi::ThreadPool pool, ffi::RemainingArgs in, ffi::RemainingRets results, ffi::Dictionary given) {
  Attributes attributes{};
  const ffi::Error error = Open(in, given, attributes);
  if (error.failure()) return error;
  ffi::Result<ffi::AnyBuffer> held = *results.get<ffi::AnyBuffer>(0);
  const Models one(*held, 1);
  const Arguments arguments(in, one, 0);
  const char* const wrong = WrongShapes(arguments, 0, attributes);
  if (wrong != nullptr) return ffi::Error::InvalidArgument(wrong);
  Threads threads(&pool);
  return ForTypes(in, [&](auto code, auto number) {
    using Value = decltype(number);
    GivenGrowth<decltype(code), Value> growth(arguments, attributes);
    const auto roots = RootTable<Value>(arguments.At(Argument::root_seed).size, attributes);
    HeldTrees* const trees = new OwnTrees<Value>(threads, growth, roots, attributes);
    int64_t* const told = one.Of(*held, 0).As<int64_t>();
    told[0] = reinterpret_cast<int64_t>(trees);
    told[1] = trees->num_nodes();
    return ffi::Error::Success();
  });
}

// Copies trees that the kernel holds, and frees them.
ffi::Error TakeTrees(ffi::RemainingArgs in, ffi::RemainingRets results) {
  ffi::Result<ffi::AnyBuffer> of_nodes = *results.get<ffi::AnyBuffer>(0);
  const Models one(*of_nodes, 1);
  const int64_t* const held = one.Of(*in.get<ffi::AnyBuffer>(0), 0).As<const int64_t>();
  const std::unique_ptr<HeldTrees> trees(reinterpret_cast<HeldTrees*>(held[0]));
  Results copies(results, one, 0);
  trees->CopyTo(copies);
  return ffi::Error::Success();
}

}  // namespace
}  // namespace jaxtree

// The names of all that Python passes or reads by its place: of arrays, features, limits and nodes.
extern "C" const char* jaxtree_growth_fields() {
#define JAXTREE_FIELD(name) " " #name
#define JAXTREE_LIMIT(Type, name) " " #name
  return "arrays" JAXTREE_ARRAYS(JAXTREE_FIELD) "\nfeatures" JAXTREE_FEATURES(JAXTREE_FIELD) "\nlimits" JAXTREE_LIMITS(JAXTREE_LIMIT)
         "\nnodes" JAXTREE_NODES(JAXTREE_FIELD);
#undef JAXTREE_FIELD
#undef JAXTREE_LIMIT
}

XLA_FFI_DEFINE_HANDLER_SYMBOL(jaxtree_grow, jaxtree::Grow,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::ThreadPool>()
                                  .RemainingArgs()
                                  .RemainingRets()
                                  .Attrs());

XLA_FFI_DEFINE_HANDLER_SYMBOL(jaxtree_grow_on_host, jaxtree::GrowOnHost,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::ThreadPool>()
                                  .RemainingArgs()
                                  .RemainingRets()
                                  .Attrs());

XLA_FFI_DEFINE_HANDLER_SYMBOL(jaxtree_take_trees, jaxtree::TakeTrees,
                              ffi::Ffi::Bind()
                                  .RemainingArgs()
                                  .RemainingRets());
