// Which thresholds of a node may be its best, by Newton steps in single precision with a bound of their error.
//
// The gain of a division grows with the sum over scores and sides of max(|G| - alpha, 0)^2 / (H + lambda). In units of whole
// numbers this is quick to compute approximately for many thresholds at once. Few thresholds come near the greatest, and only
// their gains are computed as `SplitScorer` does.

#ifndef JAXTREE_NATIVE_EVALUATE_SCREENING_H_
#define JAXTREE_NATIVE_EVALUATE_SCREENING_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "common/simd.h"
#include "evaluate/split_scorer.h"
#include "histogram/node_histograms.h"

namespace jaxtree {

// Above that sums of derivatives would lose their digits beside it.
constexpr double kMostL2 = 1e12;

// Gains that may be greater are computed one by one, as some may be infinite.
constexpr double kMostScreened = 0x1p1000;

// The score of a threshold whose error may be greater than the bound.
constexpr float kUncertain = 0x1p100f;

// Penalties in the units of the whole numbers.
struct ScreenedPenalties {
  bool are_screened;  // steps are not bounded, and nothing overflows
  float l2;
  int32_t l1;

  static ScreenedPenalties Of(const Objective& objective, const double* penalties) {
    const double l2 = penalties[0] / objective.weight_unit, most = std::numeric_limits<int32_t>::max();
    const auto l1 = static_cast<int32_t>(Held(std::round(penalties[1] / objective.target_unit), 0, most));
    // The greatest gain that there may be: of no threshold is it infinite.
    const double gradient = most * objective.target_unit, weight = objective.weight_unit;
    const double gain = objective.num_outputs * (gradient * gradient / weight) / weight;
    const bool are_screened = std::isinf(penalties[2]) && l2 >= 0 && l2 < kMostL2 && gain < kMostScreened;
    return {are_screened, static_cast<float>(are_screened ? l2 : 0), l1};
  }
};

// The score below which a threshold cannot be the best, where `most` is the greatest score.
//
// Rounded, alpha is off by at most 1/2, and so the part of a score and side by |G| / H + 1/4, where the square of |G| / H is at
// most that part if H is 1 or more. Roundings of floats are 2**-24 each. The tolerance of ties, 1e-9, is less than what is
// added.
inline float LeastOfBest(float most, int32_t num_scores) {
  if (most >= kUncertain) return 0;
  const double parts = num_scores;
  const double margin = 2 * (1.5 * std::sqrt(parts * most) + parts + 0x1p-20 * parts * most);
  return static_cast<float>(most - margin);
}

// The greatest of numbers from 0 on, whose order is that of their bits.
inline __attribute__((always_inline)) float Greatest(const float* numbers, int64_t first, int64_t stop) {
  int32_t most = 0;
  for (int64_t at = first; at < stop; ++at) {
    int32_t bits;
    std::memcpy(&bits, numbers + at, sizeof(bits));
    most = std::max(most, bits);
  }
  float greatest;
  std::memcpy(&greatest, &most, sizeof(greatest));
  return greatest;
}

// Scores the thresholds after the codes from `first` to before `stop`.
inline __attribute__((always_inline)) void ScoreOne(const int32_t* cells, int64_t first, int64_t stop, const int32_t* total,
                                                    float l2, int32_t l1, float* score) {
  const int32_t curvature = total[0], gradient = total[1];
  const auto of_side = [=](int32_t g, int32_t h) {
    const auto left = static_cast<float>(std::max(std::abs(g) - l1, 0));
    return left * left / (static_cast<float>(h) + l2);
  };
  for (int64_t code = first; code < stop; ++code) {
    const int32_t h = cells[4 * code], g = cells[4 * code + 1];
    score[code] = of_side(g, h) + of_side(gradient - g, curvature - h);
  }
}

// The same of several scores. Where a sum of second derivatives is below 1, the bound of errors does not hold.
template <int kHalf>
inline __attribute__((always_inline)) void ScoreSeveral(const int32_t* cells, int64_t first, int64_t stop,
                                                        const int32_t* total, float l2, int32_t l1, float* score) {
  const auto of_side = [=](int32_t g, int32_t h) {
    const auto left = static_cast<float>(std::max(std::abs(g) - l1, 0));
    const float curvature = static_cast<float>(h) + l2;
    const bool is_certain = (h >= 0) & (curvature >= 1);
    const float part = left * left / (is_certain ? curvature : 1);
    return (is_certain | (left == 0)) ? part : kUncertain;
  };
  for (int64_t code = first; code < stop; ++code) {
    const int32_t* const own = cells + 2 * kHalf * code;
    float part[kHalf];
    for (int lane = 0; lane < kHalf; ++lane) {
      const int32_t h = own[lane], g = own[kHalf + lane];
      part[lane] = of_side(g, h) + of_side(total[kHalf + lane] - g, total[lane] - h);
    }
    for (int half = kHalf / 2; half > 0; half /= 2) {
      for (int lane = 0; lane < half; ++lane) part[lane] += part[lane + half];
    }
    score[code] = part[0];
  }
}

// Scores thresholds, and returns the greatest score.
template <int kWidth>
inline __attribute__((always_inline)) float ScoreThresholds(const int32_t* cells, int64_t first, int64_t stop,
                                                            const int32_t* total, const ScreenedPenalties& penalties,
                                                            float* score) {
  if constexpr (kWidth == 4) {
    ScoreOne(cells, first, stop, total, penalties.l2, penalties.l1, score);
  } else {
    ScoreSeveral<kWidth / 2>(cells, first, stop, total, penalties.l2, penalties.l1, score);
  }
  return Greatest(score, first, stop);
}

}  // namespace jaxtree

#endif  // JAXTREE_NATIVE_EVALUATE_SCREENING_H_
