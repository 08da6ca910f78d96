// The gains of all thresholds of a feature by Newton steps, linear moments or Gini's impurity, several at a time: the operations of
// `SplitScorer` in the same order, so that gains have the same bits, without its branches. How many at a time follows from
// the processor.

#ifndef JAXTREE_NATIVE_EVALUATE_THRESHOLD_GAINS_H_
#define JAXTREE_NATIVE_EVALUATE_THRESHOLD_GAINS_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "evaluate/split_scorer.h"

namespace jaxtree {

// The sums that a block of thresholds is scored by; `inside` has those of a channel up to every threshold, `stride` apart.
template <typename Value>
struct BlockOfThresholds {
  const Value *inside, *total;
  int64_t stride;
  bool is_newton;
  int32_t num_classes, num_scores;  // of Newton steps the second derivatives, and the scores
  double weight_unit, target_unit;
  double l2, l1, most;              // of Newton steps
  double risk, inverse_weight;
  const MomentNode* moments;        // null without any
};

// Numbers of `kLanes` thresholds.
template <int kLanes, typename Value>
struct Lanes {
  typedef double Reals __attribute__((vector_size(kLanes * sizeof(double))));
  typedef Value Sums __attribute__((vector_size(kLanes * sizeof(Value))));
};

// `SplitScorer::NewtonRisk` of the branches inside, then of the other ones. Only pointers and references go in and out,
// here and below: the code is inlined into functions for processors whose vectors have another width. There are no fused
// multiplications and additions, as elsewhere.
template <int kLanes, typename Value, typename Reals>
inline __attribute__((always_inline)) void AddNewtonRisks(const BlockOfThresholds<Value>& block, int64_t at, Reals* kept) {
  typedef typename Lanes<kLanes, Value>::Sums Sums;
  const Reals zero = {}, most = zero + block.most;
  for (int32_t score = 0; score < block.num_scores; ++score) {
    const int32_t of_gradient = block.num_classes + score, of_curvature = std::min(score, block.num_classes - 1);
    Sums gradients, curvatures;
    std::memcpy(&gradients, block.inside + of_gradient * block.stride + at, sizeof(gradients));
    std::memcpy(&curvatures, block.inside + of_curvature * block.stride + at, sizeof(curvatures));
    for (int branch = 0; branch < 2; ++branch) {
      const Reals gradient = __builtin_convertvector(gradients, Reals) * block.target_unit;
      const Reals curvature = __builtin_convertvector(curvatures, Reals) * block.weight_unit + block.l2;
      const Reals left = (gradient < 0 ? -gradient : gradient) - block.l1;
      const Reals quotient = (left > 0 ? left : zero) / (curvature > 0 ? curvature : zero + 1);
      const Reals size = curvature > 0 ? quotient : zero;
      const Reals free = gradient > 0 ? -size : (gradient < 0 ? size : zero);
      const Reals raised = free < -most ? -most : free;
      const Reals step = raised > most ? most : raised;
      kept[branch] += (gradient + curvature * step / 2) * step + block.l1 * (step < 0 ? -step : step);
      gradients = block.total[of_gradient] - gradients;
      curvatures = block.total[of_curvature] - curvatures;
    }
  }
}

// `SplitScorer::GiniRisk` of few classes, in their order.
template <int kLanes, typename Value, typename Reals>
inline __attribute__((always_inline)) void AddGiniRisks(const BlockOfThresholds<Value>& block, int64_t at, Reals* kept) {
  const Reals zero = {};
  Reals weight[2] = {{}, {}}, squares[2] = {{}, {}};
  for (int32_t c = 0; c < block.num_classes; ++c) {
    typename Lanes<kLanes, Value>::Sums sums;
    std::memcpy(&sums, block.inside + c * block.stride + at, sizeof(sums));
    for (int branch = 0; branch < 2; ++branch) {
      const Reals own = __builtin_convertvector(sums, Reals) * block.weight_unit;
      weight[branch] += own;
      squares[branch] += own * own;
      sums = block.total[c] - sums;
    }
  }
  for (int branch = 0; branch < 2; ++branch) {
    const Reals quotient = squares[branch] / (weight[branch] > 0 ? weight[branch] : zero + 1);
    kept[branch] = weight[branch] - (weight[branch] > 0 ? quotient : zero);
  }
}

// `MomentNode::Risk` of the branches inside, then of the other ones.
template <int kLanes, typename Value, typename Reals>
inline __attribute__((always_inline)) void AddMomentRisks(const BlockOfThresholds<Value>& block, int64_t at, Reals* kept) {
  typedef typename Lanes<kLanes, Value>::Sums Sums;
  const Value *const inside = block.inside + at, *const total = block.total;
  const int64_t stride = block.stride;
  const auto of_inside = [=](int32_t channel, Reals& sum) __attribute__((always_inline)) {
    Sums sums;
    std::memcpy(&sums, inside + channel * stride, sizeof(sums));
    sum = __builtin_convertvector(sums, Reals);
  };
  const auto of_outside = [=](int32_t channel, Reals& sum) __attribute__((always_inline)) {
    Sums sums;
    std::memcpy(&sums, inside + channel * stride, sizeof(sums));
    sums = total[channel] - sums;
    sum = __builtin_convertvector(sums, Reals);
  };
  block.moments->AddRisk(of_inside, kept[0]);
  block.moments->AddRisk(of_outside, kept[1]);
}

// `kLanes` gains from a threshold on.
template <int kLanes, typename Value>
inline __attribute__((always_inline)) void ScoreLanes(const BlockOfThresholds<Value>& block, int64_t at, double* gain) {
  typedef typename Lanes<kLanes, Value>::Reals Reals;
  Reals kept[2] = {{}, {}};
  if (block.moments != nullptr) AddMomentRisks<kLanes>(block, at, kept);
  else block.is_newton ? AddNewtonRisks<kLanes>(block, at, kept) : AddGiniRisks<kLanes>(block, at, kept);
  // `SplitScorer::GainOfRisks`: the difference of what is infinite, or no number, from itself is no number.
  const Reals zero = {}, all = (block.risk - (kept[0] + kept[1])) * block.inverse_weight;
  const Reals gains = all - all == 0 ? all : zero + kNoGain;
  std::memcpy(gain + at, &gains, sizeof(gains));
}

constexpr int64_t kMostLanes = 8;

// Turns the lanes of rows into rows.
template <int kLanes, int kApart, typename Row, size_t... kPlaces>
inline __attribute__((always_inline)) void SwapLanes(Row* rows, std::index_sequence<kPlaces...>) {
  // Of two rows so far apart, those lanes of one that the other has by this much before or after.
  for (int row = 0; row < kLanes; ++row) {
    if ((row & kApart) != 0) continue;
    const Row low = rows[row], high = rows[row + kApart];
    rows[row] = __builtin_shufflevector(
        low, high, ((kPlaces & kApart) != 0 ? kPlaces - kApart + kLanes : kPlaces)...);
    rows[row + kApart] = __builtin_shufflevector(
        low, high, ((kPlaces & kApart) != 0 ? kPlaces + kLanes : kPlaces + kApart)...);
  }
  if constexpr (kApart > 1) SwapLanes<kLanes, kApart / 2>(rows, std::index_sequence<kPlaces...>());
}

// Sums cells, those of a code side by side, up to each of the first `count` codes, for every channel of the width.
template <int kLanes, typename Value>
inline __attribute__((always_inline)) void SumUpTiles(const int32_t* codes, const Value* cells, int64_t width,
                                                      int64_t count, int64_t stride, Value* inside) {
  typedef typename Lanes<kLanes, Value>::Sums Sums;
  for (int64_t first = 0; first < width; first += kLanes) {
    Sums sum = {};
    for (int64_t at = 0; at < count; at += kLanes) {
      Sums rows[kLanes];
      const int64_t number = std::min<int64_t>(kLanes, count - at);
      for (int64_t lane = 0; lane < kLanes; ++lane) {
        if (lane < number) {
          Sums own;
          std::memcpy(&own, cells + codes[at + lane] * width + first, sizeof(own));
          sum += own;
        }
        rows[lane] = sum;
      }
      SwapLanes<kLanes, kLanes / 2>(rows, std::make_index_sequence<kLanes>());
      for (int64_t lane = 0; lane < kLanes; ++lane) {
        std::memcpy(inside + (first + lane) * stride + at, &rows[lane], sizeof(Sums));
      }
    }
  }
}

// The gains of the thresholds from `first` to before `stop`, and of some after them.
template <typename Value>
void ScoreByTwo(const BlockOfThresholds<Value>& block, int64_t first, int64_t stop, double* gain) {
  for (int64_t at = first; at < stop; at += 2) ScoreLanes<2>(block, at, gain);
}

template <typename Value>
void SumUpByTwo(const int32_t* codes, const Value* cells, int64_t width, int64_t count, int64_t stride, Value* inside) {
  SumUpTiles<2>(codes, cells, width, count, stride, inside);
}

#if defined(__x86_64__) && defined(__GNUC__)
template <typename Value>
__attribute__((target("avx2"))) void SumUpByFour(const int32_t* codes, const Value* cells, int64_t width, int64_t count,
                                                 int64_t stride, Value* inside) {
  SumUpTiles<4>(codes, cells, width, count, stride, inside);
}

template <typename Value>
__attribute__((target("avx512f,avx512dq,avx512vl"))) void SumUpByEight(const int32_t* codes, const Value* cells,
                                                                        int64_t width, int64_t count, int64_t stride,
                                                                        Value* inside) {
  SumUpTiles<8>(codes, cells, width, count, stride, inside);
}

template <typename Value>
__attribute__((target("avx2"))) void ScoreByFour(const BlockOfThresholds<Value>& block, int64_t first, int64_t stop,
                                                 double* gain) {
  for (int64_t at = first; at < stop; at += 4) ScoreLanes<4>(block, at, gain);
}

template <typename Value>
__attribute__((target("avx512f,avx512dq,avx512vl"))) void ScoreByEight(const BlockOfThresholds<Value>& block,
                                                                       int64_t first, int64_t stop, double* gain) {
  for (int64_t at = first; at < stop; at += 8) ScoreLanes<8>(block, at, gain);
}
#endif

// The functions for the widest vectors that this processor has.
template <typename Value>
struct WidestScores {
  void (*score)(const BlockOfThresholds<Value>&, int64_t, int64_t, double*) = ScoreByTwo<Value>;
  void (*sum_up)(const int32_t*, const Value*, int64_t, int64_t, int64_t, Value*) = SumUpByTwo<Value>;
  int64_t lanes = 2;

  WidestScores() {
#if defined(__x86_64__) && defined(__GNUC__)
    const bool has_eight = __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    if (has_eight && __builtin_cpu_supports("avx512f")) score = ScoreByEight<Value>, sum_up = SumUpByEight<Value>, lanes = 8;
    else if (__builtin_cpu_supports("avx2")) score = ScoreByFour<Value>, sum_up = SumUpByFour<Value>, lanes = 4;
#endif
  }
};

// The gains of thresholds one after another, of which those from `first` to before `stop` leave enough on both sides.
struct Gains {
  const double* gain;
  int64_t first, stop;

  // The greatest of at least one, by several chains of comparisons side by side.
  double Best() const {
    constexpr int64_t kChains = 4;
    double best[kChains];
    std::fill_n(best, kChains, gain[first]);
    int64_t at = first;
    for (; at + kChains <= stop; at += kChains) {
      for (int64_t chain = 0; chain < kChains; ++chain) best[chain] = std::max(best[chain], gain[at + chain]);
    }
    for (; at < stop; ++at) best[0] = std::max(best[0], gain[at]);
    return *std::max_element(best, best + kChains);
  }
};

template <typename Value>
class ThresholdGains {
 public:
  explicit ThresholdGains(const SplitScorer<Value>& scorer) : scorer_(scorer), branch_(scorer.objective().num_channels) {}

  // Whether the gains of a node's thresholds are those of one formula for all.
  bool KnowFormula() const {
    const Objective& objective = scorer_.objective();
    if (objective.IsNewton() || objective.IsOfMoments()) return true;
    const bool is_gini = objective.formula == Formula::kGini && objective.num_outputs == 1 && !objective.is_c45;
    return is_gini && objective.num_classes <= kMostClassesInOrder;
  }

  // The gain of the threshold after each of the first `count` codes, each of which has `cells_of_code`.
  Gains Of(const std::vector<int32_t>& codes, const Value* cells, int64_t cells_of_code, int64_t count) {
    const Objective& objective = scorer_.objective();
    constexpr double kNoPenalties[3] = {};
    const double* const penalties = objective.IsNewton() ? scorer_.penalties() : kNoPenalties;
    stride_ = count + kMostLanes;
    inside_.resize(std::max<size_t>(inside_.size(), stride_ * cells_of_code));
    gain_.resize(std::max<size_t>(gain_.size(), stride_));
    // Padded cells are those of vectors.
    const bool are_padded = sizeof(Value) == sizeof(int64_t) && cells_of_code % widest_.lanes == 0;
    are_padded ? widest_.sum_up(codes.data(), cells, cells_of_code, count, stride_, inside_.data())
               : SumUp(codes.data(), cells, cells_of_code, count);
    // Sums of weights and rows do not fall with the codes.
    const int64_t first = FirstOf(0, count, [&](int64_t at) { return HasEnough(at, false); });
    const int64_t stop = FirstOf(first, count, [&](int64_t at) { return !HasEnough(at, true); });
    const BlockOfThresholds<Value> block{
        inside_.data(), scorer_.total().data(), stride_, objective.IsNewton(), objective.num_classes, objective.num_outputs,
        objective.weight_unit, objective.target_unit, penalties[0], penalties[1], penalties[2],
        scorer_.risk(), scorer_.inverse_weight(), objective.IsOfMoments() ? &scorer_.moments() : nullptr};
    widest_.score(block, first, stop, gain_.data());
    return {gain_.data(), first, stop};
  }

 private:
  void SumUp(const int32_t* codes, const Value* cells, int64_t cells_of_code, int64_t count) {
    switch (scorer_.objective().num_channels) {
      case 2: return SumUpChannels<2>(codes, cells, cells_of_code, count);
      case 3: return SumUpChannels<3>(codes, cells, cells_of_code, count);
      default: return SumUpChannels<0>(codes, cells, cells_of_code, count);
    }
  }

  // The sums of all channels up to every code. Any number of channels has `kChannels` 0.
  template <int kChannels>
  void SumUpChannels(const int32_t* codes, const Value* cells, int64_t cells_of_code, int64_t count) {
    const int64_t num_channels = kChannels > 0 ? kChannels : scorer_.objective().num_channels;
    Value* const to = inside_.data();
    std::fill(branch_.begin(), branch_.end(), 0);
    Value few[kChannels > 0 ? kChannels : 1] = {};
    Value* const sum = kChannels > 0 ? few : branch_.data();
    for (int64_t at = 0; at < count; ++at) {
      const Value* const own = cells + codes[at] * cells_of_code;
      for (int64_t channel = 0; channel < num_channels; ++channel) {
        to[channel * stride_ + at] = sum[channel] += own[channel];
      }
    }
    for (int64_t channel = 0; channel < num_channels; ++channel) {
      std::fill_n(to + channel * stride_ + count, kMostLanes, Value{0});
    }
  }

  // The first threshold that has a property, which all after it have, too.
  template <typename Property>
  static int64_t FirstOf(int64_t first, int64_t stop, const Property& has) {
    while (first < stop) {
      const int64_t middle = (first + stop) / 2;
      has(middle) ? stop = middle : first = middle + 1;
    }
    return first;
  }

  // `SplitScorer::IsEnough` of a branch of one threshold.
  bool HasEnough(int64_t at, bool is_outside) {
    const Objective& objective = scorer_.objective();
    const auto read = [&](int64_t channel) {
      const Value sum = inside_[channel * stride_ + at];
      branch_[channel] = is_outside ? scorer_.total()[channel] - sum : sum;
    };
    for (int64_t channel = 0; channel < objective.FirstTarget(); ++channel) read(channel);
    if (objective.counts_rows) read(objective.num_channels - 1);
    return scorer_.IsEnough(branch_.data());
  }

  const SplitScorer<Value>& scorer_;
  const WidestScores<Value> widest_;
  int64_t stride_ = 0;
  std::vector<Value> inside_;  // of every channel and threshold
  std::vector<Value> branch_;
  std::vector<double> gain_;
};

}  // namespace jaxtree

#endif  // JAXTREE_NATIVE_EVALUATE_THRESHOLD_GAINS_H_
