// The gains of all thresholds of a feature by Newton steps, several at a time: the operations of `Judge` in the same order,
// so that gains have the same bits, without its branches.

#ifndef JAXTREE_NATIVE_NEWTON_GAINS_H_
#define JAXTREE_NATIVE_NEWTON_GAINS_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "judge.h"

namespace jaxtree {

template <typename Value>
class NewtonGains {
 public:
  explicit NewtonGains(const Judge<Value>& judge) : judge_(judge), branch_(judge.objective().num_channels) {}

  // The gain of the threshold after each of the first `count` codes, and `kNoGain` where a branch has too little. Sums of
  // weights and rows rise with the codes, so that those with enough on both sides follow one another.
  const std::vector<double>& Of(const std::vector<int32_t>& codes, const Value* cells, int64_t count) {
    const int32_t num_channels = judge_.objective().num_channels;
    stride_ = count + kSideBySide;
    inside_.resize(stride_ * num_channels);
    gain_.assign(stride_, kNoGain);
    for (int32_t channel = 0; channel < num_channels; ++channel) SumUp(codes, cells, count, channel);
    int64_t first = 0, stop = count;
    while (first < stop && !HasEnough(first, false)) ++first;
    while (first < stop && !HasEnough(stop - 1, true)) --stop;
    for (int64_t at = first; at < stop; at += kSideBySide) {
      const Reals gain = GainsAt(inside_.data() + at);
      std::memcpy(gain_.data() + at, &gain, sizeof(gain));
    }
    std::fill(gain_.begin() + stop, gain_.end(), kNoGain);
    return gain_;
  }

 private:
  static constexpr int64_t kSideBySide = 2;
  typedef double Reals __attribute__((vector_size(kSideBySide * sizeof(double))));
  typedef Value Sums __attribute__((vector_size(kSideBySide * sizeof(Value))));

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

  Reals GainsAt(const Value* inside) const {
    Reals kept = {}, kept_outside = {};
    for (int32_t score = 0; score < judge_.objective().num_outputs; ++score) {
      kept += RiskOf(inside, score, false);
      kept_outside += RiskOf(inside, score, true);
    }
    return (judge_.risk() - (kept + kept_outside)) * judge_.inverse_weight();
  }

  // The sums of a channel inside, or outside.
  Sums Read(const Value* inside, int32_t channel, bool is_outside) const {
    Sums sums;
    std::memcpy(&sums, inside + channel * stride_, sizeof(sums));
    return is_outside ? judge_.total()[channel] - sums : sums;
  }

  // `Judge::NewtonRisk` of one score.
  Reals RiskOf(const Value* inside, int32_t score, bool is_outside) const {
    const Objective& objective = judge_.objective();
    const double* const penalties = judge_.penalties();
    const Sums gradients = Read(inside, objective.num_classes + score, is_outside);
    const Sums curvatures = Read(inside, std::min(score, objective.num_classes - 1), is_outside);
    const Reals zero = {}, most = zero + penalties[2];
    const Reals gradient = __builtin_convertvector(gradients, Reals) * objective.target_unit;
    const Reals curvature = __builtin_convertvector(curvatures, Reals) * objective.weight_unit + penalties[0];
    const Reals left = Size(gradient) - penalties[1];
    const Reals quotient = (left > 0 ? left : zero) / (curvature > 0 ? curvature : zero + 1);
    const Reals size = curvature > 0 ? quotient : zero;
    const Reals free = gradient > 0 ? -size : (gradient < 0 ? size : zero);
    const Reals raised = free < -most ? -most : free;
    const Reals step = raised > most ? most : raised;
    return (gradient + curvature * step / 2) * step + penalties[1] * Size(step);
  }

  static Reals Size(Reals values) { return values < 0 ? -values : values; }

  const Judge<Value>& judge_;
  int64_t stride_ = 0;
  std::vector<Value> inside_;  // of every channel and threshold
  std::vector<Value> branch_;
  std::vector<double> gain_;
};

}  // namespace jaxtree

#endif  // JAXTREE_NATIVE_NEWTON_GAINS_H_
