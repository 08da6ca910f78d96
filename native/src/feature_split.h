// The best split of one node on one feature, from the sums of the codes that the node has.

#ifndef JAXTREE_NATIVE_FEATURE_SPLIT_H_
#define JAXTREE_NATIVE_FEATURE_SPLIT_H_

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "judge.h"
#include "types.h"

namespace jaxtree {

constexpr int32_t kUnresolved = -1;
constexpr int32_t kNoCode = std::numeric_limits<int32_t>::max();
// With more than two channels every subset of so many codes is tried.
constexpr int32_t kMostCodesExhaustive = 8;

enum Missing : int32_t { kBranch = 0, kLearn = 1 };

struct Feature {
  int32_t number, kind, missing_code;
  const int32_t* first_apart;  // null if all neighbours may be separated
};

struct Split {
  double gain = kNoGain;
  int32_t feature = 0, code = 0, next_code = 0, missing_branch = kUnresolved;
  std::vector<uint32_t> subset;
};

// The codes that a node has, in ascending order, and the sums of each: `cells` has those of code 0 first.
template <typename Value>
struct Histogram {
  const std::vector<int32_t>& codes;
  const Value* cells;
};

// What missing values may do, and how many words a subset has.
struct SplitRules {
  Missing missing;
  bool has_missing;
  int32_t num_words, num_bins;

  bool sets_missing_apart() const { return has_missing && missing != kBranch; }
};

template <typename Value>
class FeatureSplitter {
 public:
  FeatureSplitter(Judge<Value>& judge, const SplitRules& rules)
      : judge_(judge), rules_(rules), sums_(judge.objective().num_channels), with_missing_(sums_), missing_(sums_) {}

  Split Best(const Feature& feature, const Histogram<Value>& histogram) {
    if (feature.kind == kSubset) return BestSubset(feature, histogram);
    has_any_missing_ = false;
    if (rules_.sets_missing_apart()) ReadMissing(feature, histogram);
    candidates_.clear();
    if (feature.kind == kThreshold) {
      ScoreThresholds(feature, histogram);
    } else {
      ScoreOneVsRest(feature, histogram);
    }
    return Choose(feature, histogram);
  }

  // The threshold between `code` and `next_code`, with the sums up to it and those of missing values.
  Split Threshold(const Feature& feature, int32_t code, int32_t next_code, const Value* inside, const Value* missing,
                  bool has_any_missing) {
    std::copy_n(missing, missing_.size(), missing_.begin());
    has_any_missing_ = has_any_missing;
    const Candidate found = ThresholdCandidate(code, inside);
    if (feature.first_apart != nullptr && next_code < feature.first_apart[code]) return {};
    return {judge_.Rounded(found.gain), feature.number, code, next_code, found.missing_branch, {}};
  }

 private:
  struct Candidate {
    int32_t code;
    double gain;
    int32_t missing_branch;
  };

  int64_t size() const { return judge_.objective().num_channels; }

  const Value* CellsOf(const Histogram<Value>& histogram, int32_t code) const {
    return histogram.cells + code * size();
  }

  void ReadMissing(const Feature& feature, const Histogram<Value>& histogram) {
    std::fill(missing_.begin(), missing_.end(), 0);
    if (histogram.codes.empty() || histogram.codes.back() != feature.missing_code) return;
    std::copy_n(CellsOf(histogram, feature.missing_code), size(), missing_.begin());
    has_any_missing_ = true;
  }

  // Of two sides for the missing values the one that gains more, of equal gains the first.
  Candidate Learned(int32_t code, double first, int32_t first_branch, double second, int32_t second_branch) const {
    const bool takes_second = second > first + judge_.Tolerance(std::max(first, second));
    return {code, takes_second ? second : first, takes_second ? second_branch : first_branch};
  }

  const Value* WithMissing(const Value* sums) {
    for (int64_t c = 0; c < size(); ++c) with_missing_[c] = sums[c] + missing_[c];
    return with_missing_.data();
  }

  Candidate ThresholdCandidate(int32_t code, const Value* inside) {
    const double plain = judge_.Gain(inside);
    if (has_any_missing_) return Learned(code, plain, 1, judge_.Gain(WithMissing(inside)), 0);
    return {code, plain, rules_.missing == kBranch ? 1 : kUnresolved};
  }

  void ScoreThresholds(const Feature& feature, const Histogram<Value>& histogram) {
    std::fill(sums_.begin(), sums_.end(), 0);
    const auto& codes = histogram.codes;
    for (size_t at = 0; at < codes.size(); ++at) {
      // The last code's branches are those of the code before it: it has no rows above.
      if (at + 1 == codes.size() && !has_any_missing_) break;
      if (has_any_missing_ && codes[at] == feature.missing_code) break;
      const Value* cells = CellsOf(histogram, codes[at]);
      for (int64_t c = 0; c < size(); ++c) sums_[c] += cells[c];
      if (feature.first_apart != nullptr && at + 1 < codes.size() && codes[at + 1] < feature.first_apart[codes[at]]) continue;
      candidates_.push_back(ThresholdCandidate(codes[at], sums_.data()));
    }
  }

  void ScoreOneVsRest(const Feature& feature, const Histogram<Value>& histogram) {
    for (const int32_t code : histogram.codes) {
      std::copy_n(CellsOf(histogram, code), size(), sums_.begin());
      const double plain = judge_.Gain(sums_.data());
      const bool is_missing = code == feature.missing_code;
      if (!has_any_missing_) {
        candidates_.push_back({code, plain, rules_.missing == kBranch ? is_missing : kUnresolved});
      } else if (is_missing) {
        candidates_.push_back({code, plain, 1});
      } else {
        candidates_.push_back(Learned(code, plain, 0, judge_.Gain(WithMissing(sums_.data())), 1));
      }
    }
  }

  Split Choose(const Feature& feature, const Histogram<Value>& histogram) const {
    double best = kNoGain;
    for (const Candidate& candidate : candidates_) best = std::max(best, candidate.gain);
    if (best == kNoGain) return {};
    const double least = best - judge_.Tolerance(best);
    const auto chosen = std::find_if(candidates_.begin(), candidates_.end(),
                                     [least](const Candidate& candidate) { return candidate.gain >= least; });
    const auto next = std::upper_bound(histogram.codes.begin(), histogram.codes.end(), chosen->code);
    return {judge_.Rounded(best), feature.number, chosen->code, next == histogram.codes.end() ? kNoCode : *next,
            chosen->missing_branch, {}};
  }

  // The number of orders of categories: one for two classes, else one a class; one a mean of numbers.
  int32_t NumOrders() const {
    const Objective& objective = judge_.objective();
    if (objective.IsOfNumbers()) return objective.num_outputs;
    return objective.num_class_channels() == 2 ? 1 : objective.num_class_channels();
  }

  // The channel whose share gives the first order.
  int32_t FirstOrder() const {
    return judge_.objective().IsOfNumbers() || judge_.objective().num_class_channels() == 2 ? 1 : 0;
  }

  void SumLower(const Histogram<Value>& histogram) {
    std::fill(sums_.begin(), sums_.end(), 0);
    for (const int32_t code : lower_) {
      const Value* cells = CellsOf(histogram, code);
      for (int64_t c = 0; c < size(); ++c) sums_[c] += cells[c];
    }
  }

  // Sorts the codes by the share of a channel; of equal shares the lower code comes first.
  void SortCodes(const Histogram<Value>& histogram, int32_t channel) {
    order_.clear();
    for (const int32_t code : histogram.codes) {
      const Value* cells = CellsOf(histogram, code);
      order_.push_back({static_cast<double>(cells[channel]) / static_cast<double>(judge_.WeightOf(cells)), code});
    }
    std::sort(order_.begin(), order_.end());
  }

  // Every cut of every order is a candidate; its number is that of the last code below, after those of earlier orders.
  void ScoreCuts(const Histogram<Value>& histogram) {
    for (int32_t at = 0; at < NumOrders(); ++at) {
      SortCodes(histogram, FirstOrder() + at);
      std::fill(sums_.begin(), sums_.end(), 0);
      for (const auto& [share, code] : order_) {
        const Value* cells = CellsOf(histogram, code);
        for (int64_t c = 0; c < size(); ++c) sums_[c] += cells[c];
        candidates_.push_back({at * rules_.num_bins + code, judge_.Gain(sums_.data()), 0});
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
    SortCodes(histogram, FirstOrder() + number / rules_.num_bins);
    lower_.clear();
    for (const auto& [share, code] : order_) {
      lower_.push_back(code);
      if (code == number % rules_.num_bins) break;
    }
  }

  bool TriesAllSubsets(const Feature& feature) const {
    const Objective& objective = judge_.objective();
    return !objective.IsOfNumbers() && objective.num_class_channels() > 2 && feature.missing_code < kMostCodesExhaustive;
  }

  Split BestSubset(const Feature& feature, const Histogram<Value>& histogram) {
    candidates_.clear();
    const bool all = TriesAllSubsets(feature);
    if (all) {
      const int32_t num_codes = std::min(kMostCodesExhaustive, rules_.num_bins);
      for (int32_t number = 1; number < 1 << (num_codes - 1); ++number) {
        ReadSubset(histogram, number);
        SumLower(histogram);
        candidates_.push_back({number, judge_.Gain(sums_.data()), 0});
      }
    } else {
      ScoreCuts(histogram);
    }
    double best = kNoGain;
    for (const Candidate& candidate : candidates_) best = std::max(best, candidate.gain);
    if (best == kNoGain) return {};
    const double least = best - judge_.Tolerance(best);
    int32_t chosen = kNoCode;
    for (const Candidate& candidate : candidates_) {
      if (candidate.gain >= least) chosen = std::min(chosen, candidate.code);
    }
    all ? ReadSubset(histogram, chosen) : ReadCut(histogram, chosen);
    SumLower(histogram);
    return SplitOff(feature, histogram, best);
  }

  // The split whose branch 1 has the codes that are not lower; codes that the node lacks go to the heavier branch.
  Split SplitOff(const Feature& feature, const Histogram<Value>& histogram, double best) const {
    const bool upper_is_heavier = 2 * judge_.WeightOf(sums_.data()) < judge_.WeightOf(judge_.total().data());
    Split split{judge_.Rounded(best), feature.number, 0, 0, kUnresolved, {}};
    split.subset.assign(rules_.num_words, 0);
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

  Judge<Value>& judge_;
  const SplitRules rules_;
  bool has_any_missing_ = false;
  std::vector<Value> sums_, with_missing_, missing_;
  std::vector<Candidate> candidates_;
  std::vector<std::pair<double, int32_t>> order_;
  std::vector<int32_t> lower_;
};

}  // namespace jaxtree

#endif  // JAXTREE_NATIVE_FEATURE_SPLIT_H_
