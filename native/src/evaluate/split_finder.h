// The best split of a node over its features, in time that follows the node's rows.
//
// A node of n rows has at most n codes of a feature. Its sums are added to cells of their codes, a byte for each code says
// that it is there, and only the cells of these are scored and emptied again.

#ifndef JAXTREE_NATIVE_EVALUATE_SPLIT_FINDER_H_
#define JAXTREE_NATIVE_EVALUATE_SPLIT_FINDER_H_

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "common/hashes.h"
#include "common/marks.h"
#include "common/simd.h"
#include "evaluate/entry_vectors.h"
#include "evaluate/feature_split.h"
#include "evaluate/split_scorer.h"
#include "input/level.h"

namespace jaxtree {

// With so many blocks of bytes for a code, codes are sorted rather than read from the blocks.
constexpr size_t kBlocksPerSorted = 4;
constexpr int32_t kNoEntry = -1;
// Up to this many codes, reading the bits of all is quicker than sorting the codes of a node.
constexpr int64_t kFewCodes = 1 << 8;
// The cells of so many codes are cleared together as soon as those of one by themselves.
constexpr size_t kCodesClearedAtOnce = 32, kVectorsClearedAtOnce = 4;
// Bytes of codes that are compared together.
constexpr int64_t kBytesOfBlock = 16;
// The number of standard deviations by which more ranks are sought than are needed for the lowest.
constexpr double kSpreadOfRanks = 1.5;
// As in `jaxtree/growth/device/split.py`.
constexpr double kC45Slack = 1e-3;

// One thread's search: its cells are empty before and after every feature.
template <typename Code, typename Value>
class SplitFinder {
 public:
  explicit SplitFinder(const Level<Code, Value>& level)
      : level_(level), table_(level.table), rules_(level.rules), has_places_(level.HasFewOfManyClasses()),
        vectors_(level), scorer_(rules_.objective), splitter_(scorer_, rules_.split),
        place_(has_places_ ? rules_.objective.num_classes : 0), last_entry_(has_places_ ? table_.num_bins : 0),
        present_((table_.num_bins + kBytesOfMarks - 1) / kBytesOfMarks * kBytesOfMarks),
        marked_(present_.size() + kMoreThanMarked),
        inside_(rules_.objective.num_channels), missing_(rules_.objective.num_channels) {
    if (!has_places_) cells_.Resize(table_.num_bins * stride());
  }

  void Open(int64_t slot) {
    const int32_t node = level_.node[slot], root = level_.root[node];
    assert(node >= 0 && root >= 0 && root <= node);
    node_ = node;
    seed_ = level_.seed ? level_.seed[node] : 0;
    most_features_ = rules_.limits.max_features[root];
    noise_ = rules_.limits.score_noise[root];
    if (level_.slot == nullptr) {
      begin_ = level_.start[slot], end_ = level_.stop[slot];
      assert(0 <= begin_ && begin_ <= end_ && end_ <= level_.num_entries);
      vectors_.Open(begin_, end_);
    }
    scorer_.SetParameters(rules_.ParametersOf(root));
    const Value* const sums = level_.sums + node * level_.num_node_channels;
    if (has_places_) {
      scorer_.OpenPresent(sums, rules_.limits.leaf_weight[root], rules_.limits.leaf_rows[root], place_);
    } else {
      scorer_.Open(sums, level_.rows_of_node[node], rules_.limits.leaf_weight[root], rules_.limits.leaf_rows[root]);
    }
    if (level_.lower) scorer_.OpenBounds(level_.lower[node], level_.upper[node]);
    if (rules_.objective.is_c45) scorer_.OpenC45(rules_.limits.mdl_correction[root], rules_.limits.num_declared_classes[root]);
  }

  // The best split of the opened slot over all its features.
  Split Best() {
    // A moment without a solution has no gain, unless the known rows of a feature have one.
    if (rules_.objective.IsOfMoments() && !scorer_.moments().is_regular() && !rules_.split.shares_missing()) return {};
    return BestOf([this](int32_t feature) { return OnFeature(feature); });
  }

  // The best of the splits that `find` returns for features, which it is asked for once each.
  template <typename Find>
  Split BestOf(const Find& find) {
    return rules_.samples_features ? BestOfSampled(find) : BestOfAll(find);
  }

  SplitScorer<Value>& scorer() { return scorer_; }

  // Whether the opened slot may split by a feature.
  bool IsOpen(int32_t feature) const { return level_.IsOpen(node_, feature); }

  // The best of the splits that `find` returns for every open feature.
  template <typename Find>
  Split BestOfAll(const Find& find) {
    found_.clear();
    for (int32_t feature = 0; feature < table_.num_features; ++feature) {
      if (IsOpen(feature)) found_.push_back(find(feature));
    }
    return Winner();
  }

  Split OnFeature(int32_t number) {
    const Feature feature = table_.FeatureAt(number);
    const Code* codes = table_.ColumnOf(number);
    if (rules_.samples_thresholds && feature.kind == kThreshold) return OnRandomThreshold(feature, codes);
    if (has_places_ && feature.kind == kThreshold && !rules_.split.shares_missing()) return OnEntries(feature, codes);
    Fill(number, codes);
    if (listed_.size() == 1 && feature.kind == kThreshold) level_.constants.Add(node_, number);
    const Split split = splitter_.Best(feature, {listed_, cells_.data(), stride()});
    ClearCells();
    return split;
  }

  // The split of a histogram that was summed elsewhere; codes of no rows have no weight.
  Split OnHistogram(int32_t number, const Value* cells) {
    const int32_t num_codes = table_.num_codes[number];
    // Every row has a second derivative above 0; of other sums any may be 0.
    const int64_t looked_at = rules_.objective.IsNewton() ? 1 : channels();
    listed_.resize(num_codes);
    int32_t num_listed = 0;
    for (int32_t code = 0; code < num_codes; ++code) {
      const Value* const own = cells + code * channels();
      Value any = own[0];
      for (int64_t channel = 1; channel < looked_at; ++channel) any |= own[channel];
      listed_[num_listed] = code;
      num_listed += any != 0;
    }
    listed_.resize(num_listed);
    return splitter_.Best(table_.FeatureAt(number), {listed_, cells, channels()});
  }

 private:
  int64_t channels() const { return scorer_.num_channels(); }

  // The numbers from the cells of a code to those of the next.
  int64_t stride() const { return vectors_.width() > 0 ? vectors_.width() : channels(); }

  // Lists the codes of the node's entries in ascending order, and of each the entries, from the last to the first.
  void ListEntries(const Code* codes) {
    entry_before_.resize(std::max<size_t>(entry_before_.size(), end_ - begin_));
    listed_.clear();
    for (int64_t entry = begin_; entry < end_; ++entry) {
      const int32_t code = table_.InTable(codes[level_.row[entry]]);
      if (!std::exchange(present_[code], 1)) listed_.push_back(code), last_entry_[code] = kNoEntry;
      entry_before_[entry - begin_] = std::exchange(last_entry_[code], static_cast<int32_t>(entry - begin_));
    }
    SortListed();
  }

  // The best threshold of a node of few of many classes. Sums over these are made anew at every code only where they
  // must be: squares change with the entries.
  Split OnEntries(const Feature& feature, const Code* codes) {
    ListEntries(codes);
    const bool is_any_missing = !listed_.empty() && listed_.back() == feature.missing_code;
    if (scorer_.HasExactSquares() && !(is_any_missing && rules_.split.separates_missing())) return OnSquares(feature);
    return splitter_.BestOfEntries(feature, listed_, [&](int32_t code, Value* sums) {
      for (int32_t at = last_entry_[code]; at != kNoEntry; at = entry_before_[at]) Add(begin_ + at, sums);
    });
  }

  Split OnSquares(const Feature& feature) {
    const std::vector<Value>& total = scorer_.total();
    of_class_.assign(channels(), 0);
    return splitter_.BestOfSquares(feature, listed_, [&](int32_t code, Squares<Value>& inside, Squares<Value>& outside) {
      for (int32_t at = last_entry_[code]; at != kNoEntry; at = entry_before_[at]) {
        const int32_t place = place_[level_.label[begin_ + at]];
        const Value moved = level_.value[begin_ + at];
        outside.Add(total[place] - of_class_[place], -moved);
        inside.Add(of_class_[place], moved);
        of_class_[place] += moved;
      }
    });
  }

  // Adds an entry to the sums of a code, in the channels that the node has.
  void Add(int64_t entry, Value* sums) const {
    if (!has_places_) return level_.Add(entry, sums);
    const int32_t place = place_[level_.label[entry]];
    assert(0 <= place && place < channels());
    sums[place] += level_.value[entry];
  }

  // All at once, where that is sooner done than code by code.
  void ClearCells() {
    const int64_t cells_of_code = stride();
    const size_t as_quick = vectors_.width() > 0 ? kVectorsClearedAtOnce : kCodesClearedAtOnce;
    if (!has_places_ && listed_.size() * as_quick >= static_cast<size_t>(table_.num_bins)) {
      std::fill_n(cells_.data(), table_.num_bins * cells_of_code, Value{0});
      return;
    }
    for (const int32_t code : listed_) std::fill_n(cells_.data() + code * cells_of_code, cells_of_code, Value{0});
  }

  // Adds the node's entries to the cells of their codes, and lists the codes in ascending order.
  void Fill(int32_t feature, const Code* codes) {
    if (rules_.adds_two_values) return rules_.objective.counts_rows ? FillTwo<true>(codes) : FillTwo<false>(codes);
    if (AddsFewClasses() && table_.num_bins <= kFewCodes) return FillClasses(codes);
    if (vectors_.width() > 0 && vectors_.AreFew()) return FillVectors(feature);
    if (has_places_) cells_.Resize(table_.num_bins * stride());
    listed_.clear();
    for (int64_t entry = begin_; entry < end_; ++entry) {
      const int32_t code = table_.InTable(codes[level_.row[entry]]);
      if (!std::exchange(present_[code], 1)) listed_.push_back(code);
      Add(entry, cells_.data() + code * stride());
    }
    SortListed();
  }

  // Fills the cells of entries that are vectors.
  void FillVectors(int32_t feature) {
    vectors_.AddTo(feature, present_.data(), cells_.data());
    ListPresent();
  }

  // Whether an entry adds its weight to the channel of its class, and nothing else.
  bool AddsFewClasses() const { return rules_.adds_one_label && !has_places_; }

  // Fills the cells of such entries, of few codes, without a question.
  void FillClasses(const Code* codes) {
    const int32_t *const row = level_.row, *const label = level_.label;
    const Value* const value = level_.value;
    const int32_t last_code = table_.num_bins - 1, num_channels = channels();
    uint8_t* const present = present_.data();
    Value* const cells = cells_.data();
    for (int64_t entry = begin_, end = end_; entry < end; ++entry) {
      const int32_t code = std::clamp<int32_t>(codes[row[entry]], 0, last_code);
      const Value added = value[entry];
      present[code] = 1;
      cells[code * num_channels + label[entry]] += added;
    }
    ListPresent();
  }

  // Brings the listed codes into ascending order, and forgets that they are there.
  void SortListed() {
    if (listed_.size() * kBlocksPerSorted * kBytesOfMarks < present_.size()) {
      std::sort(listed_.begin(), listed_.end());
      for (const int32_t code : listed_) present_[code] = 0;
    } else {
      ListPresent();
    }
  }

  // The same of entries that add two values each. A compiler that cannot know that bytes and cells are not members would
  // read these again and again.
  template <bool kCountsRows>
  void FillTwo(const Code* codes) {
    const Value *const first = level_.value, *const second = level_.value + level_.num_entries;
    const int32_t *const row = level_.row, last_code = table_.num_bins - 1;
    uint8_t* const present = present_.data();
    Value* const cells = cells_.data();
    for (int64_t entry = begin_, end = end_; entry < end; ++entry) {
      const int32_t code = std::clamp<int32_t>(codes[row[entry]], 0, last_code);
      const Value added[2] = {first[entry], second[entry]};
      Value* const sums = cells + code * (2 + kCountsRows);
      present[code] = 1;
      sums[0] += added[0];
      sums[1] += added[1];
      if (kCountsRows) ++sums[2];
    }
    ListPresent();
  }

  // Lists the codes that are there in ascending order, and forgets them.
  void ListPresent() {
    const int32_t* const stop = TakeMarked(present_.data(), present_.size(), marked_.data());
    listed_.assign(static_cast<const int32_t*>(marked_.data()), stop);
  }

  // A threshold drawn uniformly between the least and the greatest known value: needs no cells.
  Split OnRandomThreshold(const Feature& feature, const Code* codes) {
    const CodeRange range = ReadOwnCodes(feature, codes);
    // A single value, which may be a missing one, has no threshold.
    if (range.least == range.greatest) level_.constants.Add(node_, feature.number);
    if (range.least > range.known || range.least == range.greatest) return {};
    const int32_t last = LastBelow(feature, range.least, range.known);
    // No rows above: the known rows have one value, and no missing one is a value of its own.
    if (range.greatest <= last) return {};
    const bool has_any_missing = range.greatest == feature.missing_code && rules_.split.separates_missing();
    const bool are_classes = AddsFewClasses() && channels() <= kMostClassesInOrder && !has_any_missing;
    const Divided divided = are_classes ? DivideClasses(last) : DivideEntries(feature, last);
    return splitter_.Threshold(feature, divided.code, divided.next_code, inside_.data(), missing_.data(), has_any_missing);
  }

  // The least and the greatest code of a node, and the greatest known one, which is below the least if none is known.
  struct CodeRange {
    int32_t least, greatest, known;
  };

  // Codes of entries that stand side by side.
  typedef Code Block __attribute__((vector_size(kBytesOfBlock)));
  static constexpr int64_t kPerBlock = kBytesOfBlock / sizeof(Code);
  static constexpr Code kMostOfCode = std::numeric_limits<Code>::max();

  static Block Alike(Code code) { return Block{} + code; }

  Block BlockAt(int64_t at) const {
    Block block;
    std::memcpy(&block, own_codes_.data() + at, sizeof(block));
    return block;
  }

  static Code Least(const Block& block) {
    Code least = block[0];
    for (int64_t lane = 1; lane < kPerBlock; ++lane) least = std::min<Code>(least, block[lane]);
    return least;
  }

  static Code Greatest(const Block& block) {
    Code greatest = block[0];
    for (int64_t lane = 1; lane < kPerBlock; ++lane) greatest = std::max<Code>(greatest, block[lane]);
    return greatest;
  }

  // Reads the codes of the node's entries, side by side; the last block is filled up with one of them.
  CodeRange ReadOwnCodes(const Feature& feature, const Code* codes) {
    const int64_t size = end_ - begin_;
    if (size == 0) return {0, 0, -1};
    const int64_t filled = (size + kPerBlock - 1) / kPerBlock * kPerBlock;
    own_codes_.resize(std::max<size_t>(own_codes_.size(), filled));
    Code* const own_codes = own_codes_.data();
    const int32_t* const row = level_.row + begin_;
    const int32_t last_code = table_.num_bins - 1;
    for (int64_t at = 0; at < size; ++at) {
      own_codes[at] = static_cast<Code>(std::clamp<int32_t>(codes[row[at]], 0, last_code));
    }
    std::fill(own_codes + size, own_codes + filled, own_codes[0]);
    const bool may_miss = feature.missing_code <= kMostOfCode;
    const Block zero = {}, missing = Alike(static_cast<Code>(feature.missing_code));
    Block least = Alike(kMostOfCode), greatest = zero, known = zero;
    for (int64_t at = 0; at < filled; at += kPerBlock) {
      const Block own = BlockAt(at), own_known = own == missing ? zero : own;
      least = own < least ? own : least;
      greatest = own > greatest ? own : greatest;
      known = own_known > known ? own_known : known;
    }
    const Code least_of_all = Least(least), greatest_of_all = Greatest(greatest);
    if (!may_miss) return {least_of_all, greatest_of_all, greatest_of_all};
    return {least_of_all, greatest_of_all, least_of_all == feature.missing_code ? -1 : int32_t{Greatest(known)}};
  }

  // The codes beside a threshold.
  struct Divided {
    int32_t code, next_code;
  };

  // Adds the entries up to a code inside, and those of missing values apart.
  Divided DivideEntries(const Feature& feature, int32_t last) {
    std::fill_n(inside_.begin(), channels(), 0);
    std::fill_n(missing_.begin(), channels(), 0);
    Divided divided{-1, kNoCode};
    for (int64_t at = 0, size = end_ - begin_; at < size; ++at) {
      const int32_t own = own_codes_[at];
      if (own <= last) {
        divided.code = std::max(divided.code, own);
        Add(begin_ + at, inside_.data());
        continue;
      }
      divided.next_code = std::min(divided.next_code, own);
      if (own == feature.missing_code && rules_.split.separates_missing()) Add(begin_ + at, missing_.data());
    }
    return divided;
  }

  // The same of entries that add their weight to one of few classes, where no value is missing or that is a value of its
  // own. Which side an entry is on cannot be foreseen: nothing branches.
  Divided DivideClasses(int32_t last) {
    std::fill_n(missing_.begin(), channels(), 0);
    const int64_t size = end_ - begin_;
    const Block bound = Alike(static_cast<Code>(last)), most = Alike(kMostOfCode);
    Block below = {}, above = most;
    for (int64_t at = 0; at < size; at += kPerBlock) {
      const Block own = BlockAt(at), own_below = own <= bound ? own : Block{}, own_above = own <= bound ? most : own;
      below = own_below > below ? own_below : below;
      above = own_above < above ? own_above : above;
    }
    const Code* const own_codes = own_codes_.data();
    const int32_t* const label = level_.label + begin_;
    const Value* const value = level_.value + begin_;
    // Entries that follow one another do not wait for one another.
    Value even[kMostClassesInOrder] = {}, odd[kMostClassesInOrder] = {};
    int64_t at = 0;
    for (; at + 2 <= size; at += 2) {
      even[label[at]] += own_codes[at] <= last ? value[at] : Value{0};
      odd[label[at + 1]] += own_codes[at + 1] <= last ? value[at + 1] : Value{0};
    }
    if (at < size) even[label[at]] += own_codes[at] <= last ? value[at] : Value{0};
    for (int32_t c = 0; c < channels(); ++c) inside_[c] = even[c] + odd[c];
    return {Greatest(below), Least(above)};
  }

  // The greatest code whose position is not above the drawn threshold; positions rise with the codes.
  int32_t LastBelow(const Feature& feature, int32_t least, int32_t greatest) const {
    const double* position = table_.position + feature.number * table_.num_positions;
    const double low = position[least], high = position[greatest];
    const double share = static_cast<double>(ChildHash(seed_, feature.number) >> 8) / (1 << 24);
    double threshold = low + share * (high - low);
    // Between adjacent floats the sum may round to the greatest value, above which there is no row.
    if (threshold >= high) threshold = low;
    const double* const above = std::upper_bound(position + least, position + greatest + 1, threshold);
    // Positions that do not rise, or are no numbers, may have none that is not above.
    return std::max(static_cast<int32_t>(above - position) - 1, least);
  }

  // Looks at random features until `most_features` are seen and one of all seen has a split.
  template <typename Find>
  Split BestOfSampled(const Find& find) {
    RankFeatures();
    const auto first = order_.begin() + std::min<size_t>(most_features_, order_.size());
    found_.clear();
    const auto is_constant = [&](uint64_t ranked) { return level_.constants.Has(node_, static_cast<int32_t>(ranked)); };
    const auto look = [&](uint64_t ranked) {
      if (is_constant(ranked)) return false;
      found_.push_back(find(static_cast<int32_t>(ranked)));
      return found_.back().gain > kNoGain;
    };
    bool has_split = false;
    for (auto ranked = order_.begin(); ranked < first; ++ranked) has_split |= look(*ranked);
    const auto later = std::greater<uint64_t>();
    auto end = order_.end();
    if (!has_split) {
      end = std::remove_if(first, end, is_constant);
      std::make_heap(first, end, later);
    }
    for (auto last = end; !has_split && first < last; --last) {
      std::pop_heap(first, last, later);
      has_split = look(last[-1]);
    }
    return Winner();
  }

  // Lists the open features, each after its rank, those of the `most_features` lowest ranks first.
  void RankFeatures() {
    const int64_t num_features = table_.num_features;
    ranks_.resize(num_features);
    const uint32_t seed = Mix(seed_ ^ kDrawsOfNode);
    uint32_t* const ranks = ranks_.data();
    WithWidest([=] {
      for (int64_t feature = 0; feature < num_features; ++feature) ranks[feature] = ChildHash(seed, feature);
    });
    // Ranks are spread evenly: nearly always enough of them, and not many more, are below a bound.
    const double most = most_features_, expected = most + kSpreadOfRanks * std::sqrt(most);
    const auto bound = static_cast<uint32_t>(std::min(expected / num_features, 1.0) * std::numeric_limits<uint32_t>::max());
    order_.resize(num_features);
    uint64_t *low = order_.data(), *high = low + num_features;
    for (int32_t feature = 0; feature < num_features; ++feature) {
      if (!IsOpen(feature)) continue;
      const bool is_low = ranks[feature] < bound;
      *(is_low ? low : high - 1) = uint64_t{ranks[feature]} << 32 | feature;
      low += is_low;
      high -= !is_low;
    }
    const auto num_low = low - order_.data();
    order_.erase(order_.begin() + num_low, order_.begin() + (high - order_.data()));
    const auto first = order_.begin() + std::min<size_t>(most_features_, order_.size());
    const auto stop = most_features_ <= num_low ? order_.begin() + num_low : order_.end();
    if (first < stop) std::nth_element(order_.begin(), first, stop);
  }

  // The rank of a feature in the random order that the node's seed gives them: `NodeContext.feature_ranks`.
  uint32_t RankOf(int32_t feature) const { return ChildHash(Mix(seed_ ^ kDrawsOfNode), feature); }

  // Leaves the splits among which C4.5 chooses (Quinlan, 1993, section 2.4): of those with at least average gain those of
  // the greatest gain ratio. They count as equal then.
  void RankByC45() {
    double total = 0, greatest = kNoGain;
    int64_t number = 0;
    for (const Split& split : found_) {
      if (split.gain == kNoGain) continue;
      greatest = std::max(greatest, split.gain);
      if (!table_.in_average[split.feature]) continue;
      total += split.gain;
      ++number;
    }
    if (rules_.split.selection == kInformation) {
      return KeepIf([&](const Split& split) { return split.gain >= greatest - kC45Tolerance; });
    }
    const double least = total / std::max<int64_t>(number, 1) - kC45Slack;
    const auto ratio_of = [&](const Split& split) {
      return split.gain > kNoGain && split.gain >= least ? GainRatio(split.gain, split.information) : 0;
    };
    double best = 0;
    for (const Split& split : found_) best = std::max(best, ratio_of(split));
    KeepIf([&](const Split& split) {
      return number > 0 && best > kC45Tolerance && ratio_of(split) >= best - kC45Tolerance;
    });
  }

  template <typename Condition>
  void KeepIf(const Condition& holds) {
    const auto fails = [&](const Split& split) { return split.gain == kNoGain || !holds(split); };
    found_.erase(std::remove_if(found_.begin(), found_.end(), fails), found_.end());
  }

  // The split of the greatest score, among equal ones that of the lowest feature, or of the first in the node's random order.
  Split Winner() {
    if (rules_.objective.is_c45) RankByC45();
    double best = kNoGain;
    scores_.clear();
    for (const Split& split : found_) {
      scores_.push_back(IsNoisy() ? NoisyScore(split) : split.gain);
      best = std::max(best, scores_.back());
    }
    if (best == kNoGain) return {};
    const double least = LeastOfEquals(best);
    Split* winner = nullptr;
    uint32_t first_place = 0;
    for (size_t at = 0; at < found_.size(); ++at) {
      if (scores_[at] < least) continue;
      const int32_t feature = found_[at].feature;
      const uint32_t place = rules_.draws_ties ? RankOf(feature) : static_cast<uint32_t>(feature);
      if (winner != nullptr && place > first_place) continue;
      winner = &found_[at];
      first_place = place;
    }
    assert(winner != nullptr);
    return std::move(*winner);
  }

  // The least score that counts as equal to the best.
  double LeastOfEquals(double best) const {
    if (IsNoisy()) return best - kTieTolerance * std::abs(best);
    return rules_.objective.is_c45 ? std::min(best, kLeastGain) : scorer_.LeastOfEquals(best);
  }

  bool IsNoisy() const { return rules_.draws_scores && noise_ > 0; }

  // The root of what the branches save, with what the node draws for the feature: `_noisy_scores` of
  // `jaxtree/growth/device/split.py`.
  double NoisyScore(const Split& split) const {
    if (!(split.gain > 0)) return kNoGain;
    const double saved = std::max(split.gain * scorer_.whole_weight() - scorer_.whole_risk(), 0.0);
    const uint32_t seed = Mix(seed_ ^ kDrawsOfScores);
    return std::sqrt(saved) + noise_ * NearNormal(ChildHash(seed, static_cast<uint32_t>(split.feature)));
  }

  const Level<Code, Value>& level_;
  const Table<Code>& table_;
  const Rules<Value>& rules_;
  const bool has_places_;
  EntryVectors<Code, Value> vectors_;
  SplitScorer<Value> scorer_;
  FeatureSplitter<Value> splitter_;
  AlignedCells<Value> cells_;
  std::vector<int32_t> place_;  // of every class that the node has, its channel
  std::vector<int32_t> last_entry_, entry_before_;  // of every code, and of every entry that of the same code before it
  std::vector<uint8_t> present_;  // of every code
  std::vector<int32_t> marked_;   // room for the codes that are there
  std::vector<Value> inside_, missing_;
  std::vector<int32_t> listed_;
  std::vector<Code> own_codes_;  // of the node's entries
  std::vector<Value> of_class_;  // moved inside already, by the channels of classes
  std::vector<uint32_t> ranks_;  // of all features
  std::vector<uint64_t> order_;  // the features, each after its rank
  std::vector<Split> found_;
  std::vector<double> scores_;       // of the splits that were found
  int64_t begin_ = 0, end_ = 0;
  int32_t node_ = 0, most_features_ = 0;
  uint32_t seed_ = 0;
  double noise_ = 0;
};


}  // namespace jaxtree

#endif  // JAXTREE_NATIVE_EVALUATE_SPLIT_FINDER_H_
