// The gains of all thresholds of a feature by Newton steps, several at a time: the operations of `Judge` in the same order,
// so that gains have the same bits, without its branches. How many at a time follows from the processor.

#ifndef JAXTREE_NATIVE_NEWTON_GAINS_H_
#define JAXTREE_NATIVE_NEWTON_GAINS_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "judge.h"

namespace jaxtree {

// What a block of thresholds is scored by; `inside` has the sums of a channel up to every threshold, `stride` apart.
template <typename Value>
struct BlockOfThresholds {
  const Value *inside, *total;
  int64_t stride;
  int32_t num_curvatures, num_scores;
  double curvature_unit, gradient_unit;
  double l2, l1, most;
  double risk, inverse_weight;
};

// `kLanes` gains from a threshold on. Only pointers go in and out: the code is inlined into functions for processors whose
// vectors have another width. There are no fused multiplications and additions, as elsewhere.
template <int kLanes, typename Value>
inline __attribute__((always_inline)) void ScoreLanes(const BlockOfThresholds<Value>& block, int64_t at, double* gain) {
  typedef double Reals __attribute__((vector_size(kLanes * sizeof(double))));
  typedef Value Sums __attribute__((vector_size(kLanes * sizeof(Value))));
  const Reals zero = {}, most = zero + block.most;
  Reals kept[2] = {{}, {}};
  for (int32_t score = 0; score < block.num_scores; ++score) {
    const int32_t of_gradient = block.num_curvatures + score, of_curvature = std::min(score, block.num_curvatures - 1);
    Sums gradients, curvatures;
    std::memcpy(&gradients, block.inside + of_gradient * block.stride + at, sizeof(gradients));
    std::memcpy(&curvatures, block.inside + of_curvature * block.stride + at, sizeof(curvatures));
    // `Judge::NewtonRisk` of the branch inside, then of the other one.
    for (Reals& of_branch : kept) {
      const Reals gradient = __builtin_convertvector(gradients, Reals) * block.gradient_unit;
      const Reals curvature = __builtin_convertvector(curvatures, Reals) * block.curvature_unit + block.l2;
      const Reals left = (gradient < 0 ? -gradient : gradient) - block.l1;
      const Reals quotient = (left > 0 ? left : zero) / (curvature > 0 ? curvature : zero + 1);
      const Reals size = curvature > 0 ? quotient : zero;
      const Reals free = gradient > 0 ? -size : (gradient < 0 ? size : zero);
      const Reals raised = free < -most ? -most : free;
      const Reals step = raised > most ? most : raised;
      of_branch += (gradient + curvature * step / 2) * step + block.l1 * (step < 0 ? -step : step);
      gradients = block.total[of_gradient] - gradients;
      curvatures = block.total[of_curvature] - curvatures;
    }
  }
  const Reals gains = (block.risk - (kept[0] + kept[1])) * block.inverse_weight;
  std::memcpy(gain + at, &gains, sizeof(gains));
}

constexpr int64_t kMostLanes = 8;

// The gains of the thresholds from `first` to before `stop`, and of some after them.
template <typename Value>
void ScoreByTwo(const BlockOfThresholds<Value>& block, int64_t first, int64_t stop, double* gain) {
  for (int64_t at = first; at < stop; at += 2) ScoreLanes<2>(block, at, gain);
}

#if defined(__x86_64__) && defined(__GNUC__)
template <typename Value>
__attribute__((target("avx2"))) void ScoreByFour(const BlockOfThresholds<Value>& block, int64_t first, int64_t stop, double* gain) {
  for (int64_t at = first; at < stop; at += 4) ScoreLanes<4>(block, at, gain);
}

template <typename Value>
__attribute__((target("avx512f,avx512dq,avx512vl"))) void ScoreByEight(const BlockOfThresholds<Value>& block, int64_t first,
                                                                       int64_t stop, double* gain) {
  for (int64_t at = first; at < stop; at += 8) ScoreLanes<8>(block, at, gain);
}
#endif

template <typename Value>
using Scores = void (*)(const BlockOfThresholds<Value>&, int64_t, int64_t, double*);

// The function for the widest vectors that this processor has.
template <typename Value>
Scores<Value> WidestScores() {
#if defined(__x86_64__) && defined(__GNUC__)
  const bool has_eight = __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  if (has_eight && __builtin_cpu_supports("avx512f")) return ScoreByEight<Value>;
  if (__builtin_cpu_supports("avx2")) return ScoreByFour<Value>;
#endif
  return ScoreByTwo<Value>;
}

template <typename Value>
class NewtonGains {
 public:
  explicit NewtonGains(const Judge<Value>& judge) : judge_(judge), branch_(judge.objective().num_channels) {}

  // The gain of the threshold after each of the first `count` codes, and `kNoGain` where a branch has too little. Sums of
  // weights and rows rise with the codes, so that those with enough on both sides follow one another.
  const std::vector<double>& Of(const std::vector<int32_t>& codes, const Value* cells, int64_t count) {
    const Objective& objective = judge_.objective();
    const double* const penalties = judge_.penalties();
    stride_ = count + kMostLanes;
    inside_.resize(std::max<size_t>(inside_.size(), stride_ * objective.num_channels));
    gain_.resize(stride_);
    for (int32_t channel = 0; channel < objective.num_channels; ++channel) SumUp(codes, cells, count, channel);
    int64_t first = 0, stop = count;
    while (first < stop && !HasEnough(first, false)) ++first;
    while (first < stop && !HasEnough(stop - 1, true)) --stop;
    const BlockOfThresholds<Value> block{
        inside_.data(), judge_.total().data(), stride_, objective.num_classes, objective.num_outputs,
        objective.weight_unit, objective.target_unit, penalties[0], penalties[1], penalties[2],
        judge_.risk(), judge_.inverse_weight()};
    score_(block, first, stop, gain_.data());
    std::fill_n(gain_.begin(), first, kNoGain);
    std::fill(gain_.begin() + stop, gain_.end(), kNoGain);
    return gain_;
  }

 private:
  // The sums of a channel up to every code.
  void SumUp(const std::vector<int32_t>& codes, const Value* cells, int64_t count, int32_t channel) {
    const int64_t num_channels = judge_.objective().num_channels;
    const int32_t* const code = codes.data();
    Value* const to = inside_.data() + channel * stride_;
    Value sum = 0;
    for (int64_t at = 0; at < count; ++at) to[at] = sum += cells[code[at] * num_channels + channel];
    std::fill(to + count, to + stride_, Value{0});
  }

  // `Judge::IsEnough` of a branch of one threshold.
  bool HasEnough(int64_t at, bool is_outside) {
    for (size_t channel = 0; channel < branch_.size(); ++channel) {
      const Value sum = inside_[channel * stride_ + at];
      branch_[channel] = is_outside ? judge_.total()[channel] - sum : sum;
    }
    return judge_.IsEnough(branch_.data());
  }

  const Judge<Value>& judge_;
  const Scores<Value> score_ = WidestScores<Value>();
  int64_t stride_ = 0;
  std::vector<Value> inside_;  // of every channel and threshold
  std::vector<Value> branch_;
  std::vector<double> gain_;
};

}  // namespace jaxtree

#endif  // JAXTREE_NATIVE_NEWTON_GAINS_H_
