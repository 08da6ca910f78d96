// The worth of ways to divide a node's rows: the rules of `jaxtree/growth/device/candidates.py`, operation by operation, so that
// gains have the bits of XLA's. (Where XLA contracts a product and a sum, for entropy and weights of floats, the last
// bit may differ, as it does between programs of XLA; ties are decided with a tolerance.)

#ifndef JAXTREE_NATIVE_EVALUATE_SPLIT_SCORER_H_
#define JAXTREE_NATIVE_EVALUATE_SPLIT_SCORER_H_

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "evaluate/moments.h"
#include "input/rules.h"

namespace jaxtree {

constexpr double kNoGain = -std::numeric_limits<double>::infinity();
// The least gain of a split that there is.
constexpr double kLeastGain = std::numeric_limits<double>::lowest() / 2;
constexpr double kTieTolerance = 1e-9;
constexpr double kC45Tolerance = 1e-6, kC45Share = 0.1, kC45Most = 25;
// Up to this number, classes are added in their order, as `criteria.py` does; above it, in four sums.
constexpr int32_t kMostClassesInOrder = 8, kSumsOfClasses = 4;
// Sums of squares of whole weights up to this are whole numbers that a double holds.
constexpr double kMostSquared = 1 << 26;

// A number held within bounds, so that it can be made a whole one; what is no number becomes the least.
inline double Held(double number, double least, double most) { return number > least ? std::min(number, most) : least; }

// The weight of a branch, and the sum of the squares of its classes' weights.
template <typename Value>
struct Squares {
  Value weight;
  int64_t sum;

  // Moves so much of a class to a branch that has some of it.
  void Add(int64_t has, Value moved) {
    weight += moved;
    sum += moved * (2 * has + moved);
  }
};

inline double Log2(double x) { return std::log(x) * (1 / std::log(2.0)); }

inline double XLogX(double x) { return x * Log2(x > 0 ? x : 1); }

// The node whose rows are divided. Sums are whole numbers, one per channel.
template <typename Value>
class SplitScorer {
 public:
  explicit SplitScorer(const Objective& objective)
      : objective_(objective), num_classes_(objective.num_classes), num_channels_(objective.num_channels),
        total_(objective.num_channels), outside_(objective.num_channels), center_(objective.num_outputs), moments_(objective) {}

  void Open(const Value* sums, int64_t num_rows, Value least_weight, Value least_rows) {
    const int32_t own = objective_.num_channels - objective_.counts_rows;
    num_classes_ = objective_.num_classes, num_channels_ = objective_.num_channels;
    has_places_ = false;
    std::copy_n(sums, own, total_.begin());
    if (objective_.counts_rows) total_[own] = num_rows;
    OpenTotal(least_weight, least_rows);
  }

  // The same of a node of few of many classes, which alone have channels from here on: `place` gets those of classes.
  // Classes stand as they are added, those of one sum side by side, so that sums have the bits that they have with the
  // zeros of all others.
  void OpenPresent(const Value* sums, Value least_weight, Value least_rows, std::vector<int32_t>& place) {
    const int32_t count = objective_.num_classes, whole = count / kSumsOfClasses * kSumsOfClasses;
    int32_t number = 0;
    const auto add = [&](int32_t c) {
      place[c] = 0;  // of a class without weight any: it adds nothing
      if (sums[c] == 0) return;
      place[c] = number;
      total_[number++] = sums[c];
    };
    for (int32_t lane = 0; lane < kSumsOfClasses; ++lane) {
      for (int32_t c = lane; c < whole; c += kSumsOfClasses) add(c);
      for (int32_t c = whole; c < count && lane == 0; ++c) add(c);
      stop_of_lane_[lane] = number;
    }
    if (number == 0) total_[number++] = 0;
    num_classes_ = num_channels_ = number;
    has_places_ = true;
    OpenTotal(least_weight, least_rows);
  }

  // The channels of sums: of a node of few of many classes those of its classes.
  int32_t num_channels() const { return num_channels_; }
  // The limits of C4.5, for which thresholds have a least weight of their own.
  void OpenC45(double mdl_correction, double num_declared_classes) {
    mdl_correction_ = mdl_correction;
    num_declared_classes_ = num_declared_classes;
    SetLeastOfThresholds();
  }

  // From here on a feature's splits divide the rows whose value is known: every branch gets a share of the others, whose
  // sums are `missing`. The tolerance of ties, and C4.5's split information, are still those of the whole node.
  void TakeOut(const Value* missing) {
    whole_.assign(total_.begin(), total_.end());
    for (int32_t c = 0; c < num_channels_; ++c) total_[c] -= missing[c];
    WeighTotal();
    if (objective_.is_c45) SetLeastOfThresholds();
  }

  // From here on splits divide the whole node again.
  void PutBack() {
    assert(whole_.size() == total_.size());
    total_.swap(whole_);
    WeighTotal();
    if (objective_.is_c45) SetLeastOfThresholds();
  }

  // The weight of the rows that splits divide, and that of the node.
  double weight() const { return weight_; }
  double whole_weight() const { return whole_weight_; }
  double whole_risk() const { return whole_risk_; }

  // The bounds of the values of the node's branches.
  void OpenBounds(double lower, double upper) {
    lower_ = lower;
    upper_ = upper;
  }

  // From here on penalties, or limits of moments, are those of `parameters`, as in `jaxtree/growth/inputs/newton.py` and
  // `moments.py`; null without any.
  void SetParameters(const double* parameters) { penalties_ = parameters; }

  // From here on the value of branch 1 must not be below that of branch 0 (1), not above it (-1), or may be any (0).
  void SetMonotone(int32_t sign) { monotone_ = sign; }

  // The value that monotone constraints order: the share of class 1, the mean, the first step, or the first effect.
  double MonotoneValue(const Value* sums) {
    if (objective_.IsOfMoments()) return moments_.MonotoneValue(sums);
    if (objective_.IsNewton()) return StepOf(sums, 0).step;
    const double unit = objective_.IsOfNumbers() ? objective_.target_unit : objective_.weight_unit;
    return SafeDivide(static_cast<double>(sums[1]) * unit, Real(WeightOf(sums)));
  }

  const Objective& objective() const { return objective_; }
  const std::vector<Value>& total() const { return total_; }
  const double* penalties() const { return penalties_; }
  const MomentNode& moments() const { return moments_; }
  double risk() const { return risk_; }
  double inverse_weight() const { return inverse_weight_; }

  Value WeightOf(const Value* sums) const {
    Value weight = sums[0];
    for (int32_t c = 1; c < num_classes_; ++c) weight += sums[c];
    return weight;
  }

  // The gain of the division into `inside` and the rest; `kNoGain` if a branch has too little.
  double Gain(const Value* inside) { return Gain(inside, least_weight_); }

  double GainOfThreshold(const Value* inside) {
    return Gain(inside, objective_.is_c45 ? threshold_least_weight_ : least_weight_);
  }

  // Whether gains follow from whole sums of squares, which a row changes without a look at all classes.
  bool HasExactSquares() const {
    return has_places_ && objective_.formula == Formula::kGini && objective_.weight_unit == 1 && weight_ <= kMostSquared;
  }

  // The squares of the node.
  Squares<Value> TotalSquares() const {
    Squares<Value> squares{0, 0};
    for (int32_t c = 0; c < num_classes_; ++c) squares.Add(0, total_[c]);
    return squares;
  }

  // The gain of a threshold between branches of these squares, with the bits of the sums over classes.
  double GainOfThreshold(const Squares<Value>& inside, const Squares<Value>& outside) const {
    const Value least = objective_.is_c45 ? threshold_least_weight_ : least_weight_;
    return inside.weight < least || outside.weight < least ? kNoGain : GainOfRisks(RiskOf(inside) + RiskOf(outside));
  }

  // The impurity of the node, the mean over outputs: rounding may leave a pure one a little below 0.
  double Impurity() const { return std::max(SafeDivide(risk_, weight_), 0.0); }

  // The same of more branches, from the sum of their risks. A gain that is infinite, or no number, is none: every choice
  // below compares gains, of which `kNoGain` alone may be infinite.
  double GainOfRisks(double kept) const {
    const double gain = (risk_ - kept) * inverse_weight_;
    return std::isfinite(gain) ? gain : kNoGain;
  }

  // Weight times impurity of a branch.
  double RiskOf(const Value* sums) const {
    switch (objective_.formula) {
      case Formula::kGini: return MeanOfOutputs([&](int32_t output) { return GiniRisk(ClassesOf(sums, output)); });
      case Formula::kEntropy: return MeanOfOutputs([&](int32_t output) { return EntropyRisk(ClassesOf(sums, output)); });
      case Formula::kMisclassification:
        return MeanOfOutputs([&](int32_t output) { return ErrorRisk(ClassesOf(sums, output)); });
      case Formula::kNewton: return NewtonRisk(sums);
      case Formula::kLinearMoments: return moments_.Risk(sums);
      case Formula::kPoisson: return MeanOfOutputs([&](int32_t output) { return -ExplainedLog(sums, output); });
      default: return MeanOfOutputs([&](int32_t output) { return -Explained(sums, output); });
    }
  }

  bool IsEnough(const Value* sums) const { return IsEnough(sums, least_weight_); }

  // The greatest difference of risks that count as equal.
  double RiskTolerance() const { return kTieTolerance * std::abs(risk_); }

  // The entropy in bits of the branches' weights over the node's.
  template <typename Weights>
  double SplitInformation(const Weights& weights) const {
    double sum = 0;
    for (const Value weight : weights) sum += XLogX(Real(weight) / whole_weight_);
    return -sum;
  }

  // C4.5's correction of the gain of a threshold by the description length of its choice; `kNoGain` if none is left.
  double Corrected(double gain, int64_t num_tried) const {
    const double cost = mdl_correction_ * Log2(static_cast<double>(std::max<int64_t>(num_tried, 1)));
    const double left = gain - cost / (whole_weight_ > 0 ? whole_weight_ : 1);
    return left > kC45Tolerance ? left : kNoGain;
  }

  // The greatest difference from the best gain of gains that count as equal.
  double Tolerance(double best) const {
    if (objective_.is_c45) return kC45Tolerance;
    return objective_.IsOfNumbers() ? kTieTolerance * std::max(best, 0.0) : kTieTolerance * SafeDivide(whole_risk_, whole_weight_);
  }

  // The least gain that counts as equal to the best one: some gain is at least that, and `kNoGain` never is.
  double LeastOfEquals(double best) const {
    return std::min(best, std::max(kLeastGain, best - Tolerance(best)));
  }

  // The best gain, 0 within the tolerance; the risk of numbers cannot rise, but penalties may.
  double Rounded(double best) const { return Rounded(best, Tolerance(best)); }

  double Rounded(double best, double tolerance) const {
    if (std::abs(best) <= tolerance) return 0;
    const bool is_convex = objective_.IsOfNumbers() && !objective_.IsNewton() && !objective_.IsOfMoments();
    return is_convex && best > kNoGain ? std::max(best, 0.0) : best;
  }

 private:
  void OpenTotal(Value least_weight, Value least_rows) {
    least_weight_ = least_weight;
    least_rows_ = least_rows;
    WeighTotal();
    whole_weight_ = weight_;
    whole_risk_ = risk_;
  }

  // XLA turns a division by a constant, and by one number of many, into a product with its inverse.
  void WeighTotal() {
    weight_ = static_cast<double>(WeightOf(total_.data())) * objective_.weight_unit;
    inverse_weight_ = 1 / (weight_ > 0 ? weight_ : 1);
    for (int32_t output = 0; output < objective_.num_outputs && objective_.IsCentred(); ++output) {
      center_[output] = FloorDivide(total_[1 + output], std::max<Value>(total_[0], 1));
    }
    if (objective_.IsOfMoments()) moments_.Open(total_.data(), penalties_);
    risk_ = RiskOf(total_.data());
  }

  // The least weight of a side of a C4.5 threshold: `SplitScorer.c45_least_weight` in Python.
  void SetLeastOfThresholds() {
    const double mean = kC45Share * weight_ / num_declared_classes_;
    const auto in_units = [this](double weight) {
      const double most = static_cast<double>(std::numeric_limits<Value>::max() / 2);
      return Held(std::ceil((weight - kC45Tolerance) / objective_.weight_unit), -most, most);
    };
    const bool least_is_enough = in_units(mean) <= static_cast<double>(least_weight_);
    threshold_least_weight_ =
        least_is_enough ? least_weight_ : static_cast<Value>(in_units(std::min(mean, kC45Most)));
  }

  static Value FloorDivide(Value a, Value b) { return a / b - (a % b != 0 && a < 0); }

  double Gain(const Value* inside, Value least_weight) {
    Value* const outside = outside_.data();
    for (int32_t c = 0; c < num_channels_; ++c) outside[c] = total_[c] - inside[c];
    if (!IsEnough(inside, least_weight) || !IsEnough(outside, least_weight)) return kNoGain;
    if (!IsDefined(inside) || !IsDefined(outside)) return kNoGain;
    if (monotone_ != 0 && !IsMonotone(MonotoneValue(inside), MonotoneValue(outside))) return kNoGain;
    return GainOfRisks(RiskOf(inside) + RiskOf(outside));
  }

  // Poisson's deviance has no value where all targets are 0.
  bool IsDefined(const Value* sums) const {
    if (objective_.formula != Formula::kPoisson) return true;
    return std::all_of(sums + 1, sums + 1 + objective_.num_outputs, [](Value sum) { return sum > 0; });
  }

  bool IsMonotone(double inside, double outside) const {
    return (inside - outside) * monotone_ <= 0 && std::min(inside, outside) >= lower_ && std::max(inside, outside) <= upper_;
  }

  bool IsEnough(const Value* sums, Value least_weight) const {
    if (WeightOf(sums) < least_weight) return false;
    return !objective_.counts_rows || sums[objective_.num_channels - 1] >= least_rows_;
  }

  template <typename Risk>
  double MeanOfOutputs(const Risk& risk_of) const {
    double risk = risk_of(0);
    if (objective_.num_outputs == 1) return risk;
    for (int32_t output = 1; output < objective_.num_outputs; ++output) risk += risk_of(output);
    return risk / objective_.num_outputs;
  }

  const Value* ClassesOf(const Value* sums, int32_t output) const { return sums + output * objective_.num_classes; }

  double Real(Value sum) const { return static_cast<double>(sum) * objective_.weight_unit; }

  // The sum of a term over the classes.
  template <typename Term>
  double SumOf(const Value* sums, const Term& term) const {
    if (has_places_) return SumOfPresent(sums, term);
    const int32_t count = objective_.num_classes;
    if (count <= kMostClassesInOrder) {
      double sum = term(Real(sums[0]));
      for (int32_t c = 1; c < count; ++c) sum += term(Real(sums[c]));
      return sum;
    }
    double sum[4] = {0, 0, 0, 0};
    int32_t c = 0;
    for (; c + 4 <= count; c += 4) {
      for (int32_t lane = 0; lane < 4; ++lane) sum[lane] += term(Real(sums[c + lane]));
    }
    for (; c < count; ++c) sum[0] += term(Real(sums[c]));
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
  }

  template <typename Term>
  double SumOfPresent(const Value* sums, const Term& term) const {
    double sum[kSumsOfClasses] = {0, 0, 0, 0};
    int32_t next[kSumsOfClasses] = {0, stop_of_lane_[0], stop_of_lane_[1], stop_of_lane_[2]};
    int32_t together = num_classes_;
    for (int32_t lane = 0; lane < kSumsOfClasses; ++lane) together = std::min(together, stop_of_lane_[lane] - next[lane]);
    // The sums do not wait for one another.
    for (int32_t at = 0; at < together; ++at) {
      for (int32_t lane = 0; lane < kSumsOfClasses; ++lane) sum[lane] += term(Real(sums[next[lane] + at]));
    }
    for (int32_t lane = 0; lane < kSumsOfClasses; ++lane) {
      for (int32_t c = next[lane] + together; c < stop_of_lane_[lane]; ++c) sum[lane] += term(Real(sums[c]));
    }
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
  }

  static double RiskOf(const Squares<Value>& squares) {
    const auto weight = static_cast<double>(squares.weight);
    return weight - SafeDivide(static_cast<double>(squares.sum), weight);
  }

  double GiniRisk(const Value* sums) const {
    const double weight = SumOf(sums, [](double count) { return count; });
    return weight - SafeDivide(SumOf(sums, [](double count) { return count * count; }), weight);
  }

  double EntropyRisk(const Value* sums) const {
    return XLogX(SumOf(sums, [](double count) { return count; })) - SumOf(sums, XLogX);
  }

  double ErrorRisk(const Value* sums) const {
    const double most = Real(*std::max_element(sums, sums + num_classes_));
    return SumOf(sums, [](double count) { return count; }) - most;
  }

  // The squared sum over the weight, of sums centred at the node's mean, which therefore lose no digits.
  double Explained(const Value* sums, int32_t output) const {
    const Value sum = sums[1 + output];
    const double weight = Real(sums[0]);
    double own;
    if (objective_.is_scaled) {
      const double mean = static_cast<double>(total_[1 + output]) * objective_.target_unit / (weight_ > 0 ? weight_ : 1);
      own = static_cast<double>(sum) * objective_.target_unit - mean * weight;
    } else {
      own = static_cast<double>(sum - center_[output] * sums[0]) * objective_.target_unit;
    }
    return SafeDivide(own * own, weight);
  }

  // The sum times the logarithm of its mean over that of the node.
  double ExplainedLog(const Value* sums, int32_t output) const {
    const double sum = static_cast<double>(sums[1 + output]) * objective_.target_unit, weight = Real(sums[0]);
    const double mean = static_cast<double>(total_[1 + output]) * objective_.target_unit / (weight_ > 0 ? weight_ : 1);
    const double ratio = SafeDivide(sum, weight * mean);
    return sum * std::log(ratio > 0 ? ratio : 1);
  }

  struct Step {
    double gradient, curvature, step;  // the curvature with its penalty
  };

  Step StepOf(const Value* sums, int32_t score) const {
    const double gradient = static_cast<double>(sums[objective_.num_classes + score]) * objective_.target_unit;
    const double curvature = Real(sums[std::min(score, objective_.num_classes - 1)]) + penalties_[0];
    const double size = SafeDivide(std::max(std::abs(gradient) - penalties_[1], 0.0), curvature);
    const double step = gradient > 0 ? -size : gradient < 0 ? size : 0;
    return {gradient, curvature, std::clamp(step, -penalties_[2], penalties_[2])};
  }

  // The loss that the best steps leave, less that of no step.
  double NewtonRisk(const Value* sums) const {
    double risk = 0;
    for (int32_t score = 0; score < objective_.num_outputs; ++score) {
      const Step own = StepOf(sums, score);
      const double change = (own.gradient + own.curvature * own.step / 2) * own.step;
      risk += change + penalties_[1] * std::abs(own.step);
    }
    return risk;
  }

  const Objective objective_;
  int32_t num_classes_, num_channels_, stop_of_lane_[kSumsOfClasses] = {};
  bool has_places_ = false;
  const double* penalties_ = nullptr;
  std::vector<Value> total_, whole_, outside_, center_;  // `whole_`: the node's, while the known rows alone are divided
  MomentNode moments_;
  Value least_weight_ = 0, threshold_least_weight_ = 0, least_rows_ = 0;
  double weight_ = 0, inverse_weight_ = 1, risk_ = 0, whole_weight_ = 0, whole_risk_ = 0;
  double mdl_correction_ = 0, num_declared_classes_ = 0;
  double lower_ = -std::numeric_limits<double>::infinity(), upper_ = std::numeric_limits<double>::infinity();
  int32_t monotone_ = 0;
};

}  // namespace jaxtree

#endif  // JAXTREE_NATIVE_EVALUATE_SPLIT_SCORER_H_
