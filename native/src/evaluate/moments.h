// The risk of moments that are linear in their parameters, by sums of a branch: the rules of
// `jaxtree/growth/inputs/moments.py`, operation by operation. The coefficients of pseudo-outcomes are made once a node.
//
// Sums are whole numbers of a unit that is a power of two: all is computed in units, and the risk multiplied by it, which
// gives the bits of sums that are multiplied first.

#ifndef JAXTREE_NATIVE_EVALUATE_MOMENTS_H_
#define JAXTREE_NATIVE_EVALUATE_MOMENTS_H_

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "input/rules.h"

namespace jaxtree {

// Share of the products' size below which their centred sum, or a pivot of a matrix of such, counts as 0.
constexpr double kSingular = 1e-10;
// The numbers of `MomentLimits` in Python.
constexpr int64_t kNumMomentLimits = 4;

inline double SafeDivide(double numerator, double denominator) { return denominator > 0 ? numerator / denominator : 0; }

// The channels of statistics: `Places` in Python.
struct MomentPlaces {
  int32_t num_arms, num_outcomes, rows, number;
  bool is_stabilised;
  std::array<int32_t, kMostArms> treatment{}, instrument{}, with_outcome{}, squares{}, above{};
  std::array<int32_t, kMostArms * kMostArms> with_treatment{};  // of every instrument and treatment

  explicit MomentPlaces(const Moments& moments)
      : num_arms(moments.num_arms), num_outcomes(moments.num_outcomes), is_stabilised(moments.is_stabilised) {
    int32_t at = 1 + num_outcomes;
    const auto take = [&](auto& places) {
      for (int32_t arm = 0; arm < num_arms; ++arm) places[arm] = at++;
    };
    take(treatment);
    if (moments.has_instruments) take(instrument);
    else instrument = treatment;
    take(with_outcome);
    for (int32_t row = 0; row < num_arms; ++row) {
      for (int32_t column = 0; column < num_arms; ++column) {
        const bool is_known = !moments.has_instruments && row > column;
        with_treatment[row * num_arms + column] = is_known ? with_treatment[column * num_arms + row] : at++;
      }
    }
    for (int32_t arm = 0; arm < num_arms; ++arm) squares[arm] = with_treatment[arm * num_arms + arm];
    if (is_stabilised && moments.has_instruments) take(squares);
    if (is_stabilised) take(above);
    rows = is_stabilised && num_arms > 0 ? at++ : 0;
    number = at;
  }
};

// The solution of a moment: `Solution` in Python.
struct MomentSolution {
  bool is_regular = false;
  double intercept = 0;
  std::array<double, kMostArms> effect{}, instrument{};
  std::array<double, kMostArms * kMostArms> inverse{};
  std::vector<double> outcome;

  // `of(channel)` returns the sum of a channel.
  template <typename Of>
  void Solve(const MomentPlaces& places, const Of& of) {
    const int32_t arms = places.num_arms;
    const double weight = of(0);
    outcome.resize(places.num_outcomes);
    for (int32_t number = 0; number < places.num_outcomes; ++number) outcome[number] = SafeDivide(of(1 + number), weight);
    std::array<double, kMostArms * kMostArms> products{};
    std::array<double, kMostArms> sizes{}, scores{};
    for (int32_t arm = 0; arm < arms; ++arm) {
      instrument[arm] = SafeDivide(of(places.instrument[arm]), weight);
      for (int32_t other = 0; other < arms; ++other) {
        products[arm * arms + other] =
            of(places.with_treatment[arm * arms + other]) - instrument[arm] * of(places.treatment[other]);
      }
      const double own = of(places.with_treatment[arm * arms + arm]);
      sizes[arm] = std::abs(own) + std::abs(instrument[arm] * of(places.treatment[arm]));
      scores[arm] = of(places.with_outcome[arm]) - instrument[arm] * of(1);
    }
    is_regular = Invert(arms, products.data(), sizes.data()) & (weight > 0);
    intercept = outcome[0];
    for (int32_t arm = 0; arm < arms; ++arm) Product(arms, &inverse[arm * arms], scores.data(), effect[arm]);
    for (int32_t arm = 0; arm < arms; ++arm) intercept -= effect[arm] * SafeDivide(of(places.treatment[arm]), weight);
  }

  template <typename Real>
  static inline __attribute__((always_inline)) void Product(int32_t size, const double* row, const Real* column,
                                                            Real& product) {
    product = row[0] * column[0];
    for (int32_t at = 1; at < size; ++at) product += row[at] * column[at];
  }

 private:
  // Makes of products their inverse, and of them the unit matrix; returns whether there is one.
  bool Invert(int32_t size, double* left, const double* sizes) {
    bool is_invertible = true;
    double* const right = inverse.data();
    for (int32_t at = 0; at < size * size; ++at) right[at] = at % (size + 1) == 0;
    for (int32_t pivot = 0; pivot < size; ++pivot) {
      const double value = left[pivot * size + pivot];
      const bool is_enough = std::abs(value) > kSingular * sizes[pivot];
      is_invertible &= is_enough;
      const double factor = is_enough ? 1 / value : 0;
      for (int32_t column = 0; column < size; ++column) {
        left[pivot * size + column] *= factor;
        right[pivot * size + column] *= factor;
      }
      for (int32_t row = 0; row < size; ++row) {
        if (row == pivot) continue;
        const double times = left[row * size + pivot];
        for (int32_t column = 0; column < size; ++column) {
          left[row * size + column] -= times * left[pivot * size + column];
          right[row * size + column] -= times * right[pivot * size + column];
        }
      }
    }
    return is_invertible;
  }
};

// A node whose rows are divided: the coefficients of the pseudo-outcomes of its branches, and what these must have.
class MomentNode {
 public:
  // Pseudo-outcomes of several treatments have no unit: they are products with an inverse.
  explicit MomentNode(const Objective& objective)
      : places_(objective.moments), unit_(objective.target_unit), unit_of_risk_(places_.num_arms > 1 ? 1 / unit_ : unit_) {}

  // Of a growth whose limits have been set.
  template <typename Value>
  void Open(const Value* sums, const double* limits) {
    const auto of = [&](int32_t channel) { return static_cast<double>(sums[channel]); };
    solution_.Solve(places_, of);
    const double alpha = limits[0];
    // Sizes are in units.
    penalty_ = limits[1] / unit_;
    arm_rows_ = limits[2] / unit_;
    rows_ = limits[3] / unit_;
    least_weight_ = alpha * of(0);
    for (int32_t arm = 0; arm < places_.num_arms && IsOfVariation(); ++arm) {
      double size;
      Variation(arm, SafeDivide(1, of(0)), [&](int32_t channel, double& sum) { sum = of(channel); }, size);
      least_variation_[arm] = alpha * size;
    }
  }

  const MomentPlaces& places() const { return places_; }
  bool is_regular() const { return solution_.is_regular; }

  // The value that monotone constraints order: the first effect, or the first mean.
  template <typename Value>
  double MonotoneValue(const Value* sums) {
    own_.Solve(places_, [&](int32_t channel) { return static_cast<double>(sums[channel]); });
    return places_.num_arms > 0 ? own_.effect[0] : own_.outcome[0];
  }

  // The sum of the pseudo-outcomes of a branch, in a unit of its own.
  template <typename Value>
  double PseudoOutcome(const Value* sums, int32_t number) const {
    const auto of = [&](int32_t channel, double& sum) { sum = static_cast<double>(sums[channel]); };
    double weight, outcome;
    of(0, weight);
    if (places_.num_arms == 0) {
      of(1 + number, outcome);
      return outcome - solution_.outcome[number] * weight;
    }
    double scores[kMostArms] = {};
    Scores(places_.num_arms, weight, of, scores);
    if (places_.num_arms == 1) return scores[0];
    Transform(number, scores, outcome);
    return outcome;
  }

  template <typename Value>
  double Risk(const Value* sums) const {
    if (!solution_.is_regular) return std::numeric_limits<double>::infinity();
    double risk;
    AddRisk([&](int32_t channel, double& sum) { sum = static_cast<double>(sums[channel]); }, risk);
    return risk;
  }

  // The risk of a branch, or of several side by side: `of(channel, sum)` reads a sum. References alone go in and out, see
  // `AddNewtonRisks`. The node has a solution.
  template <typename Real, typename Of>
  inline __attribute__((always_inline)) void AddRisk(const Of& of, Real& risk) const {
    // Loops over one treatment are written out.
    if (places_.num_arms == 1) AddRiskOf(1, of, risk);
    else AddRiskOf(places_.num_arms, of, risk);
  }

 private:
  template <typename Real, typename Of>
  inline __attribute__((always_inline)) void AddRiskOf(int32_t num_arms, const Of& of, Real& risk) const {
    const Real zero = {}, none = zero + std::numeric_limits<double>::infinity();
    Real weight, inverse, explained;
    of(0, weight);
    // Without weight, which is a whole number, all sums are 0. GCC 12 fails where `weight > 0` is asked twice.
    inverse = 1 / (weight < 1 ? zero + 1 : weight);
    Explained(num_arms, weight, of, explained);
    risk = -(explained * inverse) * unit_of_risk_;
    // How much more a branch has than it must have. GCC makes vectors of choices by one comparison, not by several.
    Real more = zero;
    if (!IsOfVariation()) {
      Penalise(weight, risk);
      more = weight - least_weight_;
    } else {
      for (int32_t arm = 0; arm < num_arms; ++arm) {
        Real size, above, rows;
        Variation(arm, inverse, of, size);
        of(places_.above[arm], above);
        of(places_.rows, rows);
        Penalise(size, risk);
        Least(size - least_variation_[arm], more);
        Least(above - arm_rows_, more);
        Least(rows - above - arm_rows_, more);
        Least(rows - rows_, more);
      }
    }
    risk = more < 0 ? none : risk;
  }

  // Whether limits are of the variation of instruments.
  bool IsOfVariation() const { return places_.num_arms > 0 && places_.is_stabilised; }

  template <typename Real>
  static inline __attribute__((always_inline)) void Quotient(const Real& numerator, const Real& denominator, Real& quotient) {
    const Real zero = {};
    const Real whole = numerator / (denominator > 0 ? denominator : zero + 1);
    quotient = denominator > 0 ? whole : zero;
  }

  template <typename Real>
  static inline __attribute__((always_inline)) void Least(const Real& number, Real& least) {
    least = number < least ? number : least;
  }

  template <typename Real>
  inline __attribute__((always_inline)) void Penalise(const Real& size, Real& risk) const {
    if (penalty_ == 0) return;
    const Real zero = {};
    Real quotient;
    Quotient(zero + penalty_, size, quotient);
    risk += quotient;
  }

  // The centred sum of squares of an instrument, by the inverse of the weight.
  template <typename Real, typename Of>
  inline __attribute__((always_inline)) void Variation(int32_t arm, const Real& inverse, const Of& of, Real& size) const {
    Real total, squares;
    of(places_.instrument[arm], total);
    of(places_.squares[arm], squares);
    size = squares - total * total * inverse;
  }

  // The sums of pseudo-outcomes before they are multiplied by the inverse.
  template <typename Real, typename Of>
  inline __attribute__((always_inline)) void Scores(int32_t arms, const Real& weight, const Of& of, Real* scores) const {
    Real residual, sum;
    of(1, residual);
    for (int32_t arm = 0; arm < arms; ++arm) {
      of(places_.treatment[arm], sum);
      residual -= solution_.effect[arm] * sum;
    }
    residual -= solution_.intercept * weight;
    for (int32_t arm = 0; arm < arms; ++arm) {
      Real own;
      of(places_.with_outcome[arm], own);
      for (int32_t other = 0; other < arms; ++other) {
        of(places_.with_treatment[arm * arms + other], sum);
        own -= solution_.effect[other] * sum;
      }
      of(places_.instrument[arm], sum);
      own -= solution_.intercept * sum;
      scores[arm] = own - solution_.instrument[arm] * residual;
    }
  }

  template <typename Real>
  inline __attribute__((always_inline)) void Transform(int32_t arm, const Real* scores, Real& outcome) const {
    MomentSolution::Product(places_.num_arms, &solution_.inverse[arm * places_.num_arms], scores, outcome);
  }

  // The sum of the squared sums of pseudo-outcomes.
  template <typename Real, typename Of>
  inline __attribute__((always_inline)) void Explained(int32_t arms, const Real& weight, const Of& of, Real& explained) const {
    explained = Real{};
    if (arms == 0) {
      for (int32_t number = 0; number < places_.num_outcomes; ++number) {
        Real own;
        of(1 + number, own);
        own -= solution_.outcome[number] * weight;
        explained += own * own;
      }
      return;
    }
    Real scores[kMostArms];
    Scores(arms, weight, of, scores);
    if (arms == 1) {
      explained = scores[0] * scores[0];
      return;
    }
    for (int32_t arm = 0; arm < arms; ++arm) {
      Real own;
      Transform(arm, scores, own);
      explained += own * own;
    }
  }

  MomentPlaces places_;
  double unit_, unit_of_risk_, penalty_ = 0, arm_rows_ = 0, rows_ = 0, least_weight_ = 0;
  std::array<double, kMostArms> least_variation_{};
  MomentSolution solution_, own_;  // of the node; of a branch
};

}  // namespace jaxtree

#endif  // JAXTREE_NATIVE_EVALUATE_MOMENTS_H_
