// The best split of one node on one feature, from the sums of the codes that the node has.

#ifndef JAXTREE_NATIVE_EVALUATE_FEATURE_SPLIT_H_
#define JAXTREE_NATIVE_EVALUATE_FEATURE_SPLIT_H_

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "evaluate/split_scorer.h"
#include "evaluate/threshold_gains.h"
#include "tree/node_table.h"

namespace jaxtree {

constexpr int32_t kNoCode = std::numeric_limits<int32_t>::max();
// With more than two channels every subset of so many codes is tried.
constexpr int32_t kMostCodesExhaustive = 8;

struct Split {
  double gain = kNoGain;
  int32_t feature = 0, code = 0, next_code = 0, missing_branch = kUnresolved;
  double information = 0;  // C4.5's split information
  std::vector<uint32_t> subset;
};

// The codes that a node has, in ascending order, and the sums of each: `cells` has those of code 0 first, and those of a code
// `stride` numbers after those of the code before it.
template <typename Value>
struct Histogram {
  const std::vector<int32_t>& codes;
  const Value* cells;
  int64_t stride;
};

// Gain over split information, and 0 where that is 0.
inline double GainRatio(double gain, double information) { return information <= kC45Tolerance ? 0 : gain / information; }

template <typename Value>
class FeatureSplitter {
 public:
  FeatureSplitter(SplitScorer<Value>& scorer, const SplitRules& rules)
      : scorer_(scorer), rules_(rules), sums_(scorer.objective().num_channels), with_missing_(sums_), missing_(sums_), threshold_gains_(scorer) {}

  Split Best(const Feature& feature, const Histogram<Value>& histogram) {
    scorer_.SetMonotone(feature.monotone);
    has_any_missing_ = false;
    if (rules_.shares_missing() && HasMissing(feature, histogram)) return BestOfKnown(feature, histogram);
    return BestOfAll(feature, histogram);
  }

  // The threshold between `code` and `next_code`, with the sums up to it and those of missing values.
  Split Threshold(const Feature& feature, int32_t code, int32_t next_code, const Value* inside, const Value* missing,
                  bool has_any_missing) {
    scorer_.SetMonotone(feature.monotone);
    std::copy_n(missing, missing_.size(), missing_.begin());
    is_shared_ = rules_.shares_missing() && has_any_missing;
    has_any_missing_ = has_any_missing && !is_shared_;
    if (is_shared_) scorer_.TakeOut(missing);
    const Candidate found = ThresholdCandidate(code, inside);
    double gain = scorer_.Rounded(OfWhole(found.gain));
    if (is_c45()) gain = scorer_.Corrected(gain, 1);
    const double information = InformationOf(found.inside);
    if (is_shared_) PutBack();
    if (feature.next_separable != nullptr && next_code < feature.next_separable[code]) return {};
    return {gain, feature.number, code, next_code, found.missing_branch, information, {}};
  }

  // The best threshold where `add` adds the entries of a code to sums: there are no cells.
  template <typename Add>
  Split BestOfEntries(const Feature& feature, const std::vector<int32_t>& codes, const Add& add) {
    scorer_.SetMonotone(0);
    candidates_.clear();
    has_any_missing_ = rules_.separates_missing() && !codes.empty() && codes.back() == feature.missing_code;
    std::fill_n(missing_.begin(), size(), 0);
    if (has_any_missing_) add(feature.missing_code, missing_.data());
    ScoreThresholds(feature, codes, add);
    return Choose(feature, {codes, nullptr, 0});
  }

  // The same by squares of classes: `move` moves the rows of a code from outside to inside. No value is missing, or
  // missing is a value of its own.
  template <typename Move>
  Split BestOfSquares(const Feature& feature, const std::vector<int32_t>& codes, const Move& move) {
    scorer_.SetMonotone(0);
    has_any_missing_ = false;
    candidates_.clear();
    Squares<Value> inside{0, 0}, outside = scorer_.TotalSquares();
    for (size_t at = 0; at + 1 < codes.size(); ++at) {
      move(codes[at], inside, outside);
      if (feature.next_separable != nullptr && codes[at + 1] < feature.next_separable[codes[at]]) continue;
      candidates_.push_back({codes[at], scorer_.GainOfThreshold(inside, outside), rules_.DefaultBranch(1), inside.weight});
    }
    return Choose(feature, {codes, nullptr, 0});
  }

 private:
  struct Candidate {
    int32_t code;
    double gain;
    int32_t missing_branch;
    Value inside;  // the weight of one branch
  };

  int64_t size() const { return scorer_.num_channels(); }

  static bool HasMissing(const Feature& feature, const Histogram<Value>& histogram) {
    return !histogram.codes.empty() && histogram.codes.back() == feature.missing_code;
  }

  // The best split of the rows whose value is known, of which every branch gets a share of the others.
  Split BestOfKnown(const Feature& feature, const Histogram<Value>& histogram) {
    known_codes_.assign(histogram.codes.begin(), histogram.codes.end() - 1);
    if (known_codes_.empty()) return {};
    std::copy_n(CellsOf(histogram, feature.missing_code), size(), missing_.begin());
    is_shared_ = true;
    scorer_.TakeOut(missing_.data());
    Split split = BestOfAll(feature, {known_codes_, histogram.cells, histogram.stride});
    PutBack();
    return split;
  }

  void PutBack() {
    scorer_.PutBack();
    is_shared_ = false;
  }

  // Where rows are shared, a gain counts by the share of the weight that is known.
  double OfWhole(double gain) const {
    return is_shared_ && gain > kNoGain ? gain * (scorer_.weight() / scorer_.whole_weight()) : gain;
  }

  Split BestOfAll(const Feature& feature, const Histogram<Value>& histogram) {
    if (feature.kind == kSubset) return BestSubset(feature, histogram);
    if (rules_.separates_missing() && !is_shared_) ReadMissing(feature, histogram);
    candidates_.clear();
    if (IsScoredAtOnce(feature)) return BestOfGains(feature, histogram);
    if (feature.kind == kMultiway) return Multiway(feature, histogram);
    if (feature.kind == kThreshold) {
      ScoreThresholds(feature, histogram.codes, [&](int32_t code, Value* sums) {
        const Value* const cells = CellsOf(histogram, code);
        for (int64_t c = 0; c < size(); ++c) sums[c] += cells[c];
      });
    } else {
      ScoreOneVsRest(feature, histogram);
    }
    for (Candidate& candidate : candidates_) candidate.gain = OfWhole(candidate.gain);
    return Choose(feature, histogram);
  }

  const Value* CellsOf(const Histogram<Value>& histogram, int32_t code) const {
    return histogram.cells + code * histogram.stride;
  }

  void ReadMissing(const Feature& feature, const Histogram<Value>& histogram) {
    std::fill_n(missing_.begin(), size(), 0);
    if (!HasMissing(feature, histogram)) return;
    std::copy_n(CellsOf(histogram, feature.missing_code), size(), missing_.begin());
    has_any_missing_ = true;
  }

  bool is_c45() const { return scorer_.objective().is_c45; }

  // The side for the missing values that gains more, the first if gains are equal. `inside` has the sums of the known rows of a
  // branch, which the second side gives the missing values, too.
  Candidate Learned(int32_t code, const Value* inside, double first, int32_t first_branch, double second,
                    int32_t second_branch) const {
    const Value weight = scorer_.WeightOf(inside);
    if (second > first + scorer_.Tolerance(std::max(first, second))) {
      return {code, second, second_branch, weight + scorer_.WeightOf(missing_.data())};
    }
    return {code, first, first_branch, weight};
  }

  double InformationOf(Value inside) const {
    if (!is_c45()) return 0;
    const Value outside = scorer_.WeightOf(scorer_.total().data()) - inside;
    if (!is_shared_) return scorer_.SplitInformation(std::array<Value, 2>{inside, outside});
    return scorer_.SplitInformation(std::array<Value, 3>{inside, outside, scorer_.WeightOf(missing_.data())});
  }

  const Value* WithMissing(const Value* sums) {
    for (int64_t c = 0; c < size(); ++c) with_missing_[c] = sums[c] + missing_[c];
    return with_missing_.data();
  }

  Candidate ThresholdCandidate(int32_t code, const Value* inside) {
    const double plain = scorer_.GainOfThreshold(inside);
    if (has_any_missing_) return Learned(code, inside, plain, 1, scorer_.GainOfThreshold(WithMissing(inside)), 0);
    return {code, plain, rules_.DefaultBranch(1), scorer_.WeightOf(inside)};
  }

  bool IsScoredAtOnce(const Feature& feature) const {
    if (feature.kind != kThreshold || is_shared_ || !threshold_gains_.KnowFormula()) return false;
    return !has_any_missing_ && feature.monotone == 0 && feature.next_separable == nullptr;
  }

  // The best threshold where no row's value is missing, and all gains are known at once.
  Split BestOfGains(const Feature& feature, const Histogram<Value>& histogram) {
    const auto& codes = histogram.codes;
    if (codes.size() < 2) return {};
    const Gains gains = threshold_gains_.Of(codes, histogram.cells, histogram.stride, codes.size() - 1);
    if (gains.first == gains.stop) return {};
    const double best = gains.Best();
    if (best == kNoGain) return {};
    const double least = scorer_.LeastOfEquals(best);
    int64_t at = gains.first;
    while (at + 1 < gains.stop && gains.gain[at] < least) ++at;
    assert(gains.gain[at] >= least);
    return {scorer_.Rounded(best), feature.number, codes[at], codes[at + 1], rules_.DefaultBranch(1), 0, {}};
  }

  template <typename Add>
  void ScoreThresholds(const Feature& feature, const std::vector<int32_t>& codes, const Add& add) {
    std::fill_n(sums_.begin(), size(), 0);
    for (size_t at = 0; at < codes.size(); ++at) {
      // The last code's branches are those of the code before it: it has no rows above.
      if (at + 1 == codes.size() && !has_any_missing_) break;
      if (has_any_missing_ && codes[at] == feature.missing_code) break;
      add(codes[at], sums_.data());
      if (feature.next_separable != nullptr && at + 1 < codes.size() && codes[at + 1] < feature.next_separable[codes[at]]) continue;
      candidates_.push_back(ThresholdCandidate(codes[at], sums_.data()));
    }
  }

  void ScoreOneVsRest(const Feature& feature, const Histogram<Value>& histogram) {
    for (const int32_t code : histogram.codes) {
      std::copy_n(CellsOf(histogram, code), size(), sums_.begin());
      const double plain = scorer_.Gain(sums_.data());
      const Value weight = scorer_.WeightOf(sums_.data());
      const bool is_missing = code == feature.missing_code;
      if (!has_any_missing_) {
        candidates_.push_back({code, plain, rules_.DefaultBranch(is_missing), weight});
      } else if (is_missing) {
        candidates_.push_back({code, plain, 1, weight});
      } else {
        candidates_.push_back(Learned(code, sums_.data(), plain, 0, scorer_.Gain(WithMissing(sums_.data())), 1));
      }
    }
  }

  // The split into all codes that the node has.
  Split Multiway(const Feature& feature, const Histogram<Value>& histogram) {
    double kept = 0, least_more = std::numeric_limits<double>::infinity();
    int64_t num_used = 0, num_enough = 0;
    more_.clear();
    weights_.clear();
    for (const int32_t code : histogram.codes) {
      if (has_any_missing_ && code == feature.missing_code) continue;
      const Value* cells = CellsOf(histogram, code);
      const double risk = scorer_.RiskOf(cells);
      kept += risk;
      ++num_used;
      num_enough += scorer_.IsEnough(cells);
      weights_.push_back(scorer_.WeightOf(cells));
      if (!has_any_missing_) continue;
      more_.push_back({scorer_.RiskOf(WithMissing(cells)) - risk, code});
      least_more = std::min(least_more, more_.back().first);
    }
    if (!(num_enough >= 2 && (is_c45() || num_enough == num_used))) return {};
    int32_t branch = rules_.DefaultBranch(feature.missing_code);
    if (has_any_missing_) kept += least_more;
    const double gain = OfWhole(scorer_.GainOfRisks(kept));
    if (gain == kNoGain) return {};
    if (is_shared_) weights_.push_back(scorer_.WeightOf(missing_.data()));
    if (has_any_missing_) {
      const auto host = std::find_if(more_.begin(), more_.end(), [&](const auto& more) {
        return more.first <= least_more + scorer_.RiskTolerance();
      });
      assert(host != more_.end());
      branch = host->second;
    }
    const double information = is_c45() ? scorer_.SplitInformation(weights_) : 0;
    const int32_t next = histogram.codes.size() > 1 ? histogram.codes[1] : kNoCode;
    return {scorer_.Rounded(gain), feature.number, histogram.codes[0], next, branch, information, {}};
  }

  // C4.5 ranks one code against the rest by the gain ratio.
  double RankOf(const Feature& feature, const Candidate& candidate) const {
    if (rules_.selection != kGainRatio || feature.kind != kOneVsRest || candidate.gain == kNoGain) return candidate.gain;
    return GainRatio(candidate.gain, InformationOf(candidate.inside));
  }

  Split Choose(const Feature& feature, const Histogram<Value>& histogram) const {
    double best = kNoGain;
    for (const Candidate& candidate : candidates_) best = std::max(best, RankOf(feature, candidate));
    if (best == kNoGain) return {};
    const double least = scorer_.LeastOfEquals(best);
    const auto chosen = std::find_if(candidates_.begin(), candidates_.end(), [&](const Candidate& candidate) {
      return RankOf(feature, candidate) >= least;
    });
    assert(chosen != candidates_.end());
    const auto next = std::upper_bound(histogram.codes.begin(), histogram.codes.end(), chosen->code);
    double gain = scorer_.Rounded(best);
    if (is_c45() && feature.kind == kThreshold) {
      gain = scorer_.Corrected(gain, std::count_if(candidates_.begin(), candidates_.end(),
                                                  [](const Candidate& tried) { return tried.gain > kNoGain; }));
    } else if (rules_.selection == kGainRatio) {
      gain = chosen->gain;
    }
    // The missing code is the last one that the node has.
    const int32_t past_all = is_shared_ ? feature.missing_code : kNoCode;
    return {gain, feature.number, chosen->code, next == histogram.codes.end() ? past_all : *next,
            chosen->missing_branch, InformationOf(chosen->inside), {}};
  }

  // The number of orders of categories: one for two classes, else one a class; one a mean of numbers, or an effect.
  int32_t NumOrders() const {
    const Objective& objective = scorer_.objective();
    if (objective.IsOfMoments()) return std::max(objective.moments.num_arms, objective.num_outputs);
    if (objective.IsOfNumbers()) return objective.num_outputs;
    return objective.num_class_channels() == 2 ? 1 : objective.num_class_channels();
  }

  // The channel whose share gives the first order.
  int32_t FirstOrder() const {
    const Objective& objective = scorer_.objective();
    if (objective.IsOfNumbers()) return objective.FirstTarget();
    return objective.num_class_channels() == 2 ? 1 : 0;
  }

  void SumLower(const Histogram<Value>& histogram) {
    std::fill(sums_.begin(), sums_.end(), 0);
    for (const int32_t code : lower_) {
      const Value* cells = CellsOf(histogram, code);
      for (int64_t c = 0; c < size(); ++c) sums_[c] += cells[c];
    }
  }

  // What the codes of an order are sorted by, times their weight: the sum of a channel, or of pseudo-outcomes.
  double OrderOf(const Value* cells, int32_t number) const {
    if (scorer_.objective().IsOfMoments()) return scorer_.moments().PseudoOutcome(cells, number);
    return static_cast<double>(cells[FirstOrder() + number]);
  }

  // Sorts the codes by their share of an order; of equal shares the lower code comes first.
  void SortCodes(const Histogram<Value>& histogram, int32_t number) {
    order_.clear();
    for (const int32_t code : histogram.codes) {
      const Value* cells = CellsOf(histogram, code);
      const double share = OrderOf(cells, number) / static_cast<double>(scorer_.WeightOf(cells));
      // NaN has no place in an order: it comes last.
      order_.push_back({std::isnan(share) ? std::numeric_limits<double>::infinity() : share, code});
    }
    std::sort(order_.begin(), order_.end());
  }

  // Every cut of every order is a candidate; its number is that of the last code below, after those of earlier orders.
  void ScoreCuts(const Histogram<Value>& histogram) {
    for (int32_t at = 0; at < NumOrders(); ++at) {
      SortCodes(histogram, at);
      std::fill(sums_.begin(), sums_.end(), 0);
      for (const auto& [share, code] : order_) {
        const Value* cells = CellsOf(histogram, code);
        for (int64_t c = 0; c < size(); ++c) sums_[c] += cells[c];
        candidates_.push_back({at * rules_.num_bins + code, scorer_.Gain(sums_.data()), 0, 0});
      }
    }
  }

  // The lower codes of a candidate that is a subset of the first codes: code 0, and those whose bit is 0.
  void ReadSubset(const Histogram<Value>& histogram, int32_t number) {
    lower_.clear();
    for (const int32_t code : histogram.codes) {
      if (code == 0 || code >= kMostCodesExhaustive || (number >> (code - 1) & 1) == 0) lower_.push_back(code);
    }
  }

  void ReadCut(const Histogram<Value>& histogram, int32_t number) {
    SortCodes(histogram, number / rules_.num_bins);
    lower_.clear();
    for (const auto& [share, code] : order_) {
      lower_.push_back(code);
      if (code == number % rules_.num_bins) break;
    }
  }

  bool TriesAllSubsets(const Feature& feature, const Histogram<Value>& histogram) const {
    const Objective& objective = scorer_.objective();
    if (objective.IsOfNumbers() || objective.num_class_channels() <= 2) return false;
    // A missing value has the code behind the categories.
    const bool are_few = histogram.codes.empty() || histogram.codes.back() < kMostCodesExhaustive;
    return are_few && feature.missing_code <= kMostCodesExhaustive;
  }

  Split BestSubset(const Feature& feature, const Histogram<Value>& histogram) {
    candidates_.clear();
    const bool all = TriesAllSubsets(feature, histogram);
    if (all) {
      const int32_t num_codes = std::min(kMostCodesExhaustive, rules_.num_bins);
      for (int32_t number = 1; number < 1 << (num_codes - 1); ++number) {
        ReadSubset(histogram, number);
        SumLower(histogram);
        candidates_.push_back({number, scorer_.Gain(sums_.data()), 0, 0});
      }
    } else {
      ScoreCuts(histogram);
    }
    double best = kNoGain;
    for (const Candidate& candidate : candidates_) best = std::max(best, candidate.gain);
    if (best == kNoGain) return {};
    const double least = scorer_.LeastOfEquals(best);
    int32_t chosen = kNoCode;
    for (const Candidate& candidate : candidates_) {
      if (candidate.gain >= least) chosen = std::min(chosen, candidate.code);
    }
    assert(chosen < kNoCode);
    all ? ReadSubset(histogram, chosen) : ReadCut(histogram, chosen);
    SumLower(histogram);
    return SplitOff(feature, histogram, best);
  }

  // The split whose branch 1 has the codes that are not lower; codes that the node lacks go to the heavier branch.
  Split SplitOff(const Feature& feature, const Histogram<Value>& histogram, double best) const {
    const bool upper_is_heavier = 2 * scorer_.WeightOf(sums_.data()) < scorer_.WeightOf(scorer_.total().data());
    const int32_t branch = rules_.missing == kFraction ? kAllBranches : kUnresolved;
    const double information = InformationOf(scorer_.WeightOf(sums_.data()));
    const double gain = scorer_.Rounded(OfWhole(best), scorer_.Tolerance(best));
    Split split{gain, feature.number, 0, 0, branch, information, {}};
    split.subset.assign(rules_.num_words, 0);
    assert(histogram.codes.empty() || histogram.codes.back() < rules_.num_words * kCodesPerWord);
    assert(rules_.num_bins <= rules_.num_words * kCodesPerWord);
    for (int32_t code = 0; code < rules_.num_bins && upper_is_heavier; ++code) {
      split.subset[code / kCodesPerWord] |= uint32_t{1} << code % kCodesPerWord;
    }
    for (const int32_t code : histogram.codes) split.subset[code / kCodesPerWord] |= uint32_t{1} << code % kCodesPerWord;
    for (const int32_t code : lower_) split.subset[code / kCodesPerWord] &= ~(uint32_t{1} << code % kCodesPerWord);
    if (rules_.has_missing && !histogram.codes.empty() && histogram.codes.back() == feature.missing_code) {
      split.missing_branch = split.subset[feature.missing_code / kCodesPerWord] >> feature.missing_code % kCodesPerWord & 1;
    }
    return split;
  }

  SplitScorer<Value>& scorer_;
  const SplitRules rules_;
  bool has_any_missing_ = false;  // and one branch gets the rows whose value is missing
  bool is_shared_ = false;        // or every branch gets a share
  std::vector<int32_t> known_codes_;
  std::vector<Value> sums_, with_missing_, missing_;
  ThresholdGains<Value> threshold_gains_;
  std::vector<Candidate> candidates_;
  std::vector<std::pair<double, int32_t>> order_, more_;
  std::vector<Value> weights_;
  std::vector<int32_t> lower_;
};

}  // namespace jaxtree

#endif  // JAXTREE_NATIVE_EVALUATE_FEATURE_SPLIT_H_
