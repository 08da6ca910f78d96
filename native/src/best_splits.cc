// The best split of every node of a level, in time that follows the nodes' rows.
//
// A node of n rows has at most n codes of a feature. Its sums are added to cells of their codes, a bit for each code says
// that it is there, and only the cells of these are scored and emptied again.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "feature_split.h"
#include "judge.h"
#include "parallel.h"
#include "types.h"
#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

namespace jaxtree {
namespace {

constexpr int64_t kBitsPerBlock = 64;
// Nodes of so many cells to fill are divided among threads by features, others among threads as they are.
constexpr int64_t kLeastCellsDivided = 1 << 16;
constexpr int64_t kMostAtATime = 16, kTurnsPerThread = 8;
// With fewer cells to fill, another thread costs more to wake than it saves.
constexpr int64_t kLeastCells = 1 << 13;
// With so many blocks of bits for a code, codes are sorted rather than read from the blocks.
constexpr size_t kBlocksPerSorted = 4;
// Features that one thread sums side by side.
constexpr int64_t kSideBySide = 4;
constexpr int32_t kCountsRow = -1;

// What an entry adds: the label that is added to the channel, or -1; the channel; the value, or `kCountsRow`.
struct Addition {
  int32_t label, channel, value;
};

// The table, its entries, and the nodes of a level; see `native.best_splits` for the arguments.
template <typename Code, typename Value>
struct Level {
  const Code* codes;
  int64_t num_features, num_rows, num_entries, num_bins;
  const int32_t *row, *slot, *label;
  const Value* value;
  const int32_t *node, *start, *stop;
  int64_t num_slots;
  bool in_row_order;
  const Value* sums;
  int64_t num_node_channels;
  const int32_t *rows_of_node, *root, *leaf_rows, *most_features;
  const Value* leaf_weight;
  const uint32_t* seed;
  const int32_t *kind, *num_codes, *missing_code, *first_apart;
  const double* position;
  int64_t num_apart, num_positions;  // of a feature
  Objective objective;
  SplitRules rules;
  bool samples_features, samples_thresholds, draws_ties;
  std::vector<Addition> additions;
  bool adds_one_label;  // and nothing else: the weight, to the channel of the class

  // A code of an array on a device is not checked before growth; one past the table must not reach past the cells.
  int32_t InTable(Code code) const { return std::clamp<int32_t>(code, 0, num_bins - 1); }

  Feature FeatureAt(int32_t number) const {
    return {number, kind[number], missing_code[number], first_apart ? first_apart + number * num_apart : nullptr};
  }
};

uint32_t Mix(uint32_t number) {
  number = (number ^ (number >> 16)) * 0x85EBCA6Bu;
  number = (number ^ (number >> 13)) * 0xC2B2AE35u;
  return number ^ (number >> 16);
}

uint32_t ChildHash(uint32_t parent, uint32_t branch) { return Mix(parent + branch + 1); }

// One thread's search: its cells are empty before and after every feature.
template <typename Code, typename Value>
class Search {
 public:
  explicit Search(const Level<Code, Value>& level)
      : level_(level), judge_(level.objective), splitter_(judge_, level.rules),
        cells_(level.num_bins * level.objective.num_channels), present_((level.num_bins + kBitsPerBlock - 1) / kBitsPerBlock),
        inside_(level.objective.num_channels), missing_(level.objective.num_channels) {}

  void Open(int64_t slot) {
    const int32_t node = level_.node[slot], root = level_.root[node];
    seed_ = level_.seed ? level_.seed[node] : 0;
    most_features_ = level_.most_features[root];
    begin_ = level_.start[slot], end_ = level_.stop[slot];
    judge_.Open(level_.sums + node * level_.num_node_channels, level_.rows_of_node[node], level_.leaf_weight[root],
                level_.leaf_rows[root]);
  }

  // The best split of the opened slot over all its features.
  Split Best() {
    return level_.samples_features ? BestOfSampled() : BestOfAll([this](int32_t feature) { return OnFeature(feature); });
  }

  // The best of the splits that `find` returns for every feature.
  template <typename Find>
  Split BestOfAll(const Find& find) {
    found_.clear();
    for (int32_t feature = 0; feature < level_.num_features; ++feature) {
      if (level_.num_codes[feature] > 0) found_.push_back(find(feature));
    }
    return Winner();
  }

  Split OnFeature(int32_t number) {
    const Feature feature = level_.FeatureAt(number);
    const Code* codes = level_.codes + number * level_.num_rows;
    if (level_.samples_thresholds && feature.kind == kThreshold) return OnRandomThreshold(feature, codes);
    Fill(codes);
    const Split split = splitter_.Best(feature, {listed_, cells_.data()});
    for (const int32_t code : listed_) std::fill_n(cells_.data() + code * channels(), channels(), Value{0});
    return split;
  }

  // The split of a histogram that was summed elsewhere; codes of no rows have no weight.
  Split OnHistogram(int32_t number, const Value* cells) {
    listed_.clear();
    for (int32_t code = 0; code < level_.num_codes[number]; ++code) {
      const Value* own = cells + code * channels();
      if (std::any_of(own, own + channels(), [](Value sum) { return sum != 0; })) listed_.push_back(code);
    }
    return splitter_.Best(level_.FeatureAt(number), {listed_, cells});
  }

 private:
  int64_t channels() const { return level_.objective.num_channels; }

  void Add(int64_t entry, Value* sums) const {
    if (level_.adds_one_label) {
      sums[level_.label[entry]] += level_.value[entry];
      return;
    }
    for (const Addition& addition : level_.additions) {
      const int32_t label = addition.label < 0 ? 0 : level_.label[addition.label * level_.num_entries + entry];
      sums[addition.channel + label] +=
          addition.value == kCountsRow ? 1 : level_.value[addition.value * level_.num_entries + entry];
    }
  }

  // Adds the node's entries to the cells of their codes, and lists the codes in ascending order.
  void Fill(const Code* codes) {
    listed_.clear();
    for (int64_t entry = begin_; entry < end_; ++entry) {
      const int32_t code = level_.InTable(codes[level_.row[entry]]);
      uint64_t& block = present_[code / kBitsPerBlock];
      const uint64_t bit = uint64_t{1} << code % kBitsPerBlock;
      if ((block & bit) == 0) listed_.push_back(code);
      block |= bit;
      Add(entry, cells_.data() + code * channels());
    }
    if (listed_.size() * kBlocksPerSorted < present_.size()) {
      std::sort(listed_.begin(), listed_.end());
      for (const int32_t code : listed_) present_[code / kBitsPerBlock] = 0;
    } else {
      ListPresent();
    }
  }

  void ListPresent() {
    listed_.clear();
    for (size_t block = 0; block < present_.size(); ++block) {
      for (uint64_t bits = std::exchange(present_[block], 0); bits != 0; bits &= bits - 1) {
        listed_.push_back(static_cast<int32_t>(block * kBitsPerBlock + __builtin_ctzll(bits)));
      }
    }
  }

  // A threshold drawn uniformly between the least and the greatest known value: needs no cells.
  Split OnRandomThreshold(const Feature& feature, const Code* codes) {
    const int64_t size = end_ - begin_;
    own_codes_.resize(size);
    int32_t least = kNoCode, greatest = -1;
    for (int64_t at = 0; at < size; ++at) {
      const int32_t code = own_codes_[at] = level_.InTable(codes[level_.row[begin_ + at]]);
      if (code == feature.missing_code) continue;
      least = std::min(least, code);
      greatest = std::max(greatest, code);
    }
    if (greatest < 0) return {};
    const int32_t last = LastBelow(feature, least, greatest);
    int32_t code = -1, next_code = kNoCode;
    bool has_any_missing = false;
    std::fill(inside_.begin(), inside_.end(), 0);
    std::fill(missing_.begin(), missing_.end(), 0);
    for (int64_t at = 0; at < size; ++at) {
      const int32_t own = own_codes_[at];
      if (own <= last) {
        code = std::max(code, own);
        Add(begin_ + at, inside_.data());
        continue;
      }
      next_code = std::min(next_code, own);
      if (own == feature.missing_code && level_.rules.sets_missing_apart()) {
        has_any_missing = true;
        Add(begin_ + at, missing_.data());
      }
    }
    // No rows above: the node has one value.
    if (next_code == kNoCode) return {};
    return splitter_.Threshold(feature, code, next_code, inside_.data(), missing_.data(), has_any_missing);
  }

  // The greatest code whose position is not above the drawn threshold; positions rise with the codes.
  int32_t LastBelow(const Feature& feature, int32_t least, int32_t greatest) const {
    const double* position = level_.position + feature.number * level_.num_positions;
    const double low = position[least], high = position[greatest];
    const double share = static_cast<double>(ChildHash(seed_, feature.number) >> 8) / (1 << 24);
    double threshold = low + share * (high - low);
    // Between adjacent floats the sum may round to the greatest value, above which there is no row.
    if (threshold >= high) threshold = low;
    return static_cast<int32_t>(std::upper_bound(position + least, position + greatest + 1, threshold) - position) - 1;
  }

  // Looks at random features until `most_features` are seen and one of all seen has a split.
  Split BestOfSampled() {
    order_.clear();
    for (int32_t feature = 0; feature < level_.num_features; ++feature) {
      if (level_.num_codes[feature] > 0) order_.push_back({RankOf(feature), feature});
    }
    const auto first = std::min<size_t>(most_features_, order_.size());
    std::partial_sort(order_.begin(), order_.begin() + first, order_.end());
    found_.clear();
    bool has_split = false;
    for (size_t at = 0; at < order_.size() && (at < first || !has_split); ++at) {
      if (at == first) std::sort(order_.begin() + first, order_.end());
      found_.push_back(OnFeature(order_[at].second));
      has_split |= found_.back().gain > kNoGain;
    }
    return Winner();
  }

  // The rank of a feature in the random order that the node's seed gives them: `NodeContext.feature_ranks`.
  uint32_t RankOf(int32_t feature) const { return ChildHash(Mix(seed_ ^ 0x9E3779B9u), feature); }

  // Of all splits of the greatest gain that of the lowest feature, or of the first in the node's random order.
  Split Winner() {
    double best = kNoGain;
    for (const Split& split : found_) best = std::max(best, split.gain);
    if (best == kNoGain) return {};
    const double least = best - judge_.Tolerance(best);
    Split* winner = nullptr;
    uint32_t first_place = 0;
    for (Split& split : found_) {
      if (split.gain < least) continue;
      const uint32_t place = level_.draws_ties ? RankOf(split.feature) : static_cast<uint32_t>(split.feature);
      if (winner != nullptr && place > first_place) continue;
      winner = &split;
      first_place = place;
    }
    return std::move(*winner);
  }

  const Level<Code, Value>& level_;
  Judge<Value> judge_;
  FeatureSplitter<Value> splitter_;
  std::vector<Value> cells_;
  std::vector<uint64_t> present_;
  std::vector<Value> inside_, missing_;
  std::vector<int32_t> listed_, own_codes_;
  std::vector<std::pair<uint32_t, int32_t>> order_;
  std::vector<Split> found_;
  int64_t begin_ = 0, end_ = 0;
  int32_t most_features_ = 0;
  uint32_t seed_ = 0;
};

// Where the splits are written.
struct Results {
  double* gain;
  int32_t *feature, *code, *next_code, *missing_branch;
  uint32_t* subset;
  int64_t num_words;

  void Put(int64_t slot, const Split& split) const {
    gain[slot] = split.gain;
    feature[slot] = split.feature;
    code[slot] = split.code;
    next_code[slot] = split.next_code;
    missing_branch[slot] = split.missing_branch;
    std::fill_n(subset + slot * num_words, num_words, 0);
    std::copy(split.subset.begin(), split.subset.end(), subset + slot * num_words);
  }
};

// Sums the cells of some features for all slots, in the order of the rows: [slot, code, channel], and a place for entries
// of no slot. `base` has the cell of code 0 of every entry's slot. Features share the reads of bases and values.
template <int kFeatures, typename Code, typename Value>
__attribute__((noinline)) void SumInRowOrder(const Level<Code, Value>& level, const int32_t* features,
                                             const int32_t* base, Value* const* tables) {
  const Code* codes[kFeatures];
  Value* cells[kFeatures];
  const int64_t num_channels = level.objective.num_channels, num_entries = level.num_entries;
  for (const Addition& addition : level.additions) {
    for (int f = 0; f < kFeatures; ++f) {
      codes[f] = level.codes + features[f] * level.num_rows;
      cells[f] = tables[f] + addition.channel;
    }
    const int32_t* const label = addition.label < 0 ? nullptr : level.label + addition.label * num_entries;
    const Value* const value = addition.value == kCountsRow ? nullptr : level.value + addition.value * num_entries;
    for (int64_t entry = 0; entry < num_entries; ++entry) {
      const int64_t at = base[entry] + (label ? label[entry] : 0);
      const Value added = value ? value[entry] : 1;
#pragma GCC unroll 4
      for (int f = 0; f < kFeatures; ++f) cells[f][at + level.InTable(codes[f][entry]) * num_channels] += added;
    }
  }
}

// Calls work(search, 0), ..., work(search, count - 1), some at a time; every thread has one search, with its own cells.
template <typename Code, typename Value, typename Work>
void ForEachBySearch(bool pays, ffi::ThreadPool& pool, const Level<Code, Value>& level, int64_t count, const Work& work) {
  const int64_t num_threads = std::max<int64_t>(pool.num_threads(), 1);
  const int64_t at_a_time = std::clamp<int64_t>(count / (kTurnsPerThread * num_threads), 1, kMostAtATime);
  std::atomic<int64_t> next{0};
  ForEachIf(pays, pool, num_threads, [&](int64_t) {
    int64_t first = next.fetch_add(at_a_time);
    if (first >= count) return;
    Search<Code, Value> search(level);
    for (; first < count; first = next.fetch_add(at_a_time)) {
      for (int64_t at = first; at < std::min(first + at_a_time, count); ++at) work(search, at);
    }
  });
}

template <typename Code, typename Value>
void SplitInRowOrder(ffi::ThreadPool& pool, const Level<Code, Value>& level, const Results& results) {
  const int64_t per_slot = level.num_bins * level.objective.num_channels, size = (level.num_slots + 1) * per_slot;
  std::vector<int32_t> base(level.num_entries), listed;
  for (int64_t entry = 0; entry < level.num_entries; ++entry) {
    base[entry] = std::min<int64_t>(static_cast<uint32_t>(level.slot[entry]), level.num_slots) * per_slot;
  }
  for (int32_t feature = 0; feature < level.num_features; ++feature) {
    if (level.num_codes[feature] > 0) listed.push_back(feature);
  }
  std::vector<std::vector<Split>> found(level.num_features);
  const int64_t num_listed = listed.size();
  const int64_t num_packs = (num_listed + kSideBySide - 1) / kSideBySide;
  ForEachBySearch(true, pool, level, num_packs, [&](Search<Code, Value>& search, int64_t pack) {
    const int64_t first = pack * kSideBySide, count = std::min(kSideBySide, num_listed - first);
    std::vector<Value> cells(count * size);
    Value* tables[kSideBySide];
    for (int64_t f = 0; f < count; ++f) tables[f] = cells.data() + f * size;
    if (count == kSideBySide) {
      SumInRowOrder<kSideBySide>(level, listed.data() + first, base.data(), tables);
    } else {
      for (int64_t f = 0; f < count; ++f) SumInRowOrder<1>(level, listed.data() + first + f, base.data(), tables + f);
    }
    for (int64_t slot = 0; slot < level.num_slots; ++slot) {
      search.Open(slot);
      for (int64_t f = 0; f < count; ++f) {
        const int32_t feature = listed[first + f];
        found[feature].push_back(search.OnHistogram(feature, tables[f] + slot * per_slot));
      }
    }
  });
  Search<Code, Value> search(level);
  for (int64_t slot = 0; slot < level.num_slots; ++slot) {
    search.Open(slot);
    results.Put(slot, search.BestOfAll([&](int32_t feature) { return std::move(found[feature][slot]); }));
  }
}

// One large node: its features are divided among the threads.
template <typename Code, typename Value>
void SplitByFeatures(ffi::ThreadPool& pool, const Level<Code, Value>& level, int64_t slot, const Results& results) {
  std::vector<Split> found(level.num_features);
  ForEachBySearch(true, pool, level, level.num_features, [&](Search<Code, Value>& search, int64_t feature) {
    if (level.num_codes[feature] == 0) return;
    search.Open(slot);
    found[feature] = search.OnFeature(feature);
  });
  Search<Code, Value> search(level);
  search.Open(slot);
  results.Put(slot, search.BestOfAll([&](int32_t feature) { return std::move(found[feature]); }));
}

template <typename Code, typename Value>
void SplitSlots(ffi::ThreadPool& pool, const Level<Code, Value>& level, const Results& results) {
  std::vector<int64_t> small;
  int64_t num_cells = 0;
  for (int64_t slot = 0; slot < level.num_slots; ++slot) {
    const int64_t cells = (level.stop[slot] - level.start[slot]) * level.num_features;
    if (cells >= kLeastCellsDivided && !level.samples_features && pool.num_threads() > 1) {
      SplitByFeatures(pool, level, slot, results);
    } else {
      small.push_back(slot);
      num_cells += cells;
    }
  }
  ForEachBySearch(num_cells >= kLeastCells, pool, level, small.size(), [&](Search<Code, Value>& search, int64_t at) {
    search.Open(small[at]);
    results.Put(small[at], search.Best());
  });
}

// The elements of a buffer, null if it has none.
template <typename T, typename Buffer>
const T* Data(const Buffer& buffer) {
  return buffer.element_count() == 0 ? nullptr : static_cast<const T*>(buffer.untyped_data());
}

// The arguments of the handler, in its order.
struct Arguments {
  ffi::AnyBuffer codes;
  ffi::Buffer<ffi::S32> row, slot;
  ffi::AnyBuffer label, value;
  ffi::Buffer<ffi::S32> node, start, stop, place;
  ffi::AnyBuffer sums;
  ffi::Buffer<ffi::S32> num_rows, root;
  ffi::AnyBuffer leaf_weight;
  ffi::Buffer<ffi::S32> leaf_rows, most_features;
  ffi::Buffer<ffi::U32> seed;
  ffi::Buffer<ffi::S32> kind, num_codes, missing_code, first_apart;
  ffi::Buffer<ffi::F64> position, units;
};

template <typename Code, typename Value>
ffi::Error Run(ffi::ThreadPool& pool, const Arguments& in, ffi::Span<const int32_t> channels,
               ffi::Span<const int32_t> rules, const Results& results) {
  Level<Code, Value> level{};
  level.codes = static_cast<const Code*>(in.codes.untyped_data());
  level.num_features = in.codes.dimensions()[0];
  level.num_rows = in.codes.dimensions()[1];
  level.num_entries = in.row.element_count();
  level.row = in.row.typed_data();
  level.slot = in.slot.typed_data();
  level.label = Data<int32_t>(in.label);
  level.value = Data<Value>(in.value);
  level.node = in.node.typed_data();
  level.start = in.start.typed_data();
  level.stop = in.stop.typed_data();
  level.num_slots = in.place.typed_data()[0];
  level.in_row_order = in.place.typed_data()[1] != 0;
  level.sums = Data<Value>(in.sums);
  level.num_node_channels = in.sums.dimensions()[1];
  level.rows_of_node = in.num_rows.typed_data();
  level.root = in.root.typed_data();
  level.leaf_weight = Data<Value>(in.leaf_weight);
  level.leaf_rows = in.leaf_rows.typed_data();
  level.most_features = in.most_features.typed_data();
  level.seed = Data<uint32_t>(in.seed);
  level.kind = in.kind.typed_data();
  level.num_codes = in.num_codes.typed_data();
  level.missing_code = in.missing_code.typed_data();
  level.first_apart = Data<int32_t>(in.first_apart);
  level.position = Data<double>(in.position);
  level.num_apart = in.first_apart.dimensions().back();
  level.num_positions = in.position.dimensions().back();
  level.num_bins = rules[0];
  level.objective = {static_cast<Formula>(rules[1]), rules[2], rules[3], rules[4], rules[5] != 0, rules[6] != 0,
                     in.units.typed_data()[0], in.units.typed_data()[1]};
  level.rules = {static_cast<Missing>(rules[7]), rules[8] != 0, static_cast<int32_t>(results.num_words), rules[9]};
  level.samples_features = rules[10] != 0;
  level.samples_thresholds = rules[11] != 0;
  level.draws_ties = rules[12] != 0;
  for (size_t at = 0; at + 2 < channels.size(); at += 3) {
    level.additions.push_back({channels[at], channels[at + 1], channels[at + 2]});
  }
  const Addition first = level.additions[0];
  level.adds_one_label = level.additions.size() == 1 && first.label == 0 && first.channel == 0 && first.value == 0;
  if (level.in_row_order) {
    SplitInRowOrder(pool, level, results);
  } else {
    SplitSlots(pool, level, results);
  }
  return ffi::Error::Success();
}

ffi::Error BestSplits(ffi::ThreadPool pool, ffi::AnyBuffer codes, ffi::Buffer<ffi::S32> row, ffi::Buffer<ffi::S32> slot,
                      ffi::AnyBuffer label, ffi::AnyBuffer value, ffi::Buffer<ffi::S32> node,
                      ffi::Buffer<ffi::S32> start, ffi::Buffer<ffi::S32> stop, ffi::Buffer<ffi::S32> place,
                      ffi::AnyBuffer sums, ffi::Buffer<ffi::S32> num_rows, ffi::Buffer<ffi::S32> root,
                      ffi::AnyBuffer leaf_weight, ffi::Buffer<ffi::S32> leaf_rows, ffi::Buffer<ffi::S32> most_features,
                      ffi::Buffer<ffi::U32> seed, ffi::Buffer<ffi::S32> kind, ffi::Buffer<ffi::S32> num_codes,
                      ffi::Buffer<ffi::S32> missing_code, ffi::Buffer<ffi::S32> first_apart,
                      ffi::Buffer<ffi::F64> position, ffi::Buffer<ffi::F64> units, ffi::Span<const int32_t> channels,
                      ffi::Span<const int32_t> rules, ffi::Result<ffi::Buffer<ffi::F64>> gain,
                      ffi::Result<ffi::Buffer<ffi::S32>> feature, ffi::Result<ffi::Buffer<ffi::S32>> code,
                      ffi::Result<ffi::Buffer<ffi::S32>> next_code, ffi::Result<ffi::Buffer<ffi::S32>> missing_branch,
                      ffi::Result<ffi::Buffer<ffi::U32>> subset) {
  const Arguments in{codes, row,  slot,       label,    value,       node,          start, stop, place,     sums,         num_rows,
                     root,  leaf_weight, leaf_rows, most_features, seed,  kind, num_codes, missing_code, first_apart,
                     position, units};
  const Results results{gain->typed_data(),      feature->typed_data(), code->typed_data(), next_code->typed_data(),
                        missing_branch->typed_data(), subset->typed_data(), subset->dimensions()[1]};
  return ForCodes(codes, [&](auto number_of_code) {
    return ForValues(value, [&](auto number) {
      return Run<decltype(number_of_code), decltype(number)>(pool, in, channels, rules, results);
    });
  });
}

}  // namespace
}  // namespace jaxtree

XLA_FFI_DEFINE_HANDLER_SYMBOL(jaxtree_best_splits, jaxtree::BestSplits,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::ThreadPool>()
                                  .Arg<ffi::AnyBuffer>()         // codes: [feature, row]
                                  .Arg<ffi::Buffer<ffi::S32>>()  // row: [entry]
                                  .Arg<ffi::Buffer<ffi::S32>>()  // slot: [entry]
                                  .Arg<ffi::AnyBuffer>()         // label: [label, entry], int32 if it is read
                                  .Arg<ffi::AnyBuffer>()         // value: [value, entry]
                                  .Arg<ffi::Buffer<ffi::S32>>()  // node, start, stop: [slot]
                                  .Arg<ffi::Buffer<ffi::S32>>()
                                  .Arg<ffi::Buffer<ffi::S32>>()
                                  .Arg<ffi::Buffer<ffi::S32>>()  // number of slots in use, whether in row order
                                  .Arg<ffi::AnyBuffer>()         // sums: [node, channel]
                                  .Arg<ffi::Buffer<ffi::S32>>()  // number of rows, root: [node]
                                  .Arg<ffi::Buffer<ffi::S32>>()
                                  .Arg<ffi::AnyBuffer>()         // least weight and rows of a leaf, most features: [root]
                                  .Arg<ffi::Buffer<ffi::S32>>()
                                  .Arg<ffi::Buffer<ffi::S32>>()
                                  .Arg<ffi::Buffer<ffi::U32>>()  // seed: [node], or empty
                                  .Arg<ffi::Buffer<ffi::S32>>()  // kind, number of codes, missing code: [feature]
                                  .Arg<ffi::Buffer<ffi::S32>>()
                                  .Arg<ffi::Buffer<ffi::S32>>()
                                  .Arg<ffi::Buffer<ffi::S32>>()  // first code apart: [feature, code], or empty
                                  .Arg<ffi::Buffer<ffi::F64>>()  // position: [feature, code], or empty
                                  .Arg<ffi::Buffer<ffi::F64>>()  // units of weight and target
                                  .Attr<ffi::Span<const int32_t>>("channels")  // label, channel, value of each addition
                                  .Attr<ffi::Span<const int32_t>>("rules")     // in the order of `native.best_splits`
                                  .Ret<ffi::Buffer<ffi::F64>>()  // gain: [slot]
                                  .Ret<ffi::Buffer<ffi::S32>>()  // feature, code, next code, missing branch: [slot]
                                  .Ret<ffi::Buffer<ffi::S32>>()
                                  .Ret<ffi::Buffer<ffi::S32>>()
                                  .Ret<ffi::Buffer<ffi::S32>>()
                                  .Ret<ffi::Buffer<ffi::U32>>()  // subset: [slot, word]
);
