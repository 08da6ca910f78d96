// Leaves of a step: how good they are, and how large a step they make; `jaxtree/additive/rules.py` has the rules.
//
// Gains are float64 of whole sums, computed in one order everywhere, so that they have the same bits in vectors of any
// width, in XLA and in NumPy.

#ifndef JAXTREE_NATIVE_ADDITIVE_LEAVES_H_
#define JAXTREE_NATIVE_ADDITIVE_LEAVES_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "common/simd.h"

namespace jaxtree {

struct StepRules {
  double learning_rate, l2, l1, max_step, least_hessian, smoothing, least_rows;
  int64_t max_leaves, greedy_steps;

  // Twice the loss that a leaf saves; 0 where second derivatives are 0.
  double Score(int64_t gradient, double hessian) const {
    const double left = std::abs(static_cast<double>(gradient)) - l1, held = left > 0 ? left : 0;
    return hessian > 0 ? held * held / (hessian + l2) : 0;
  }

  // The step of an allowed leaf before it is rounded.
  double Value(int64_t gradient, double hessian) const {
    const double own = static_cast<double>(gradient), left = std::abs(own) - l1, held = left > 0 ? left : 0;
    const double step = -((own > 0) - (own < 0)) * held / (hessian + l2);
    return learning_rate * std::min(std::max(step, -max_step), max_step);
  }

  int64_t Step(int64_t gradient, double hessian) const {
    constexpr double kLargest = 1 << 30;
    return static_cast<int64_t>(std::min(std::max(std::nearbyint(Value(gradient, hessian)), -kLargest), kLargest));
  }

  bool Allows(double rows, double hessian) const { return rows >= least_rows && hessian >= least_hessian; }
};

// The rules of a member, in the order of `jaxtree/kernels/cyclic_steps.py`.
constexpr int64_t kRealsOfRules = 6, kWholesOfRules = 3;

inline StepRules ReadRules(const double* reals, const int64_t* wholes) {
  return {reals[0], reals[1], reals[2], reals[3], std::max(reals[4], 1.0), reals[5],
          static_cast<double>(std::max<int64_t>(wholes[0], 1)), wholes[1], wholes[2]};
}

// Arrays of sums have so many more elements, as loops run to the end of a vector.
constexpr int64_t kPadding = 8;

inline int64_t Padded(int64_t size) { return (size + kPadding - 1) / kPadding * kPadding; }

// `StepRules::Score` where second derivatives are not 0.
inline double PositiveScore(const StepRules& rules, double gradient, double hessian) {
  const double left = std::abs(gradient) - rules.l1, held = left > 0 ? left : 0;
  return held * held / (hessian + rules.l2);
}

// `StepRules::Value`, without branches.
inline double StepValue(const StepRules& rules, double gradient, double hessian) {
  const double left = std::abs(gradient) - rules.l1, held = left > 0 ? left : 0;
  const double size = held / (hessian + rules.l2), step = gradient > 0 ? -size : size;
  const double raised = step < -rules.max_step ? -rules.max_step : step;
  return rules.learning_rate * (raised > rules.max_step ? rules.max_step : raised);
}

// The greatest of some gains that are not negative, and where the first of it is; -1 if all are 0.
struct Best {
  double gain = 0;
  int64_t at = -1;
};

inline Best FindBest(const double* gain, int64_t count) {
  // Floats that are not negative have the order of their bits, whose maximum has vectors.
  int64_t most = 0;
  WithWidest([&most, gain, count]() __attribute__((always_inline)) {
    int64_t own = 0;
    for (int64_t at = 0; at < count; ++at) {
      int64_t bits;
      std::memcpy(&bits, gain + at, sizeof(bits));
      own = bits > own ? bits : own;
    }
    most = own;
  });
  Best best;
  if (most == 0) return best;
  std::memcpy(&best.gain, &most, sizeof(most));
  best.at = std::find(gain, gain + count, best.gain) - gain;
  return best;
}

// Sums of the bins of an axis up to each edge between them, the first of which is 0.
struct Edges {
  const int64_t* gradient;
  const double *hessian, *rows;
};

// Room for the numbers of all cuts; conversions to floats are loops of their own, as not all processors have vectors of them.
struct CutRoom {
  explicit CutRoom(int64_t most) : left(most + kPadding), right(left.size()), gain(left.size()) {}

  std::vector<double> left, right, gain;
};

// A stretch of bins between two edges.
struct Stretch {
  int64_t begin, end;
  double score;
  Best cut;  // the edge that divides it best
};

// The edge that divides a stretch best. `sign` says how steps may go: -1, 1, or 0 for either way.
inline Best FindCut(const Edges& edges, const StepRules& rules, int sign, const Stretch& stretch, CutRoom& room) {
  const int64_t begin = stretch.begin, end = stretch.end, count = end - begin - 1;
  if (count < 1) return {};
  WithWidest([&]() __attribute__((always_inline)) {
    const StepRules own = rules;
    const int64_t *const sum = edges.gradient + begin + 1, before = edges.gradient[begin], all = edges.gradient[end];
    const double *const hessian = edges.hessian + begin + 1, *const rows = edges.rows + begin + 1;
    const double hessian_before = edges.hessian[begin], all_hessian = edges.hessian[end];
    const double rows_before = edges.rows[begin], all_rows = edges.rows[end];
    double *const left = room.left.data(), *const right = room.right.data(), *const gain = room.gain.data();
    const int64_t padded = Padded(count);
    for (int64_t at = 0; at < padded; ++at) {
      left[at] = static_cast<double>(sum[at] - before);
      right[at] = static_cast<double>(all - sum[at]);
    }
    for (int64_t at = 0; at < padded; ++at) {
      const double left_hessian = hessian[at] - hessian_before, right_hessian = all_hessian - hessian[at];
      const double left_rows = rows[at] - rows_before, right_rows = all_rows - rows[at];
      const double saved = PositiveScore(own, left[at], left_hessian) + PositiveScore(own, right[at], right_hessian) - stretch.score;
      const bool is_allowed = (saved > 0) & (left_rows >= own.least_rows) & (right_rows >= own.least_rows) &
                              (left_hessian >= own.least_hessian) & (right_hessian >= own.least_hessian);
      gain[at] = is_allowed ? saved : 0;
    }
    if (sign == 0) return;
    for (int64_t at = 0; at < padded; ++at) {
      const double one = StepValue(own, left[at], hessian[at] - hessian_before);
      const double other = StepValue(own, right[at], all_hessian - hessian[at]);
      gain[at] = sign * (other - one) < 0 ? 0 : gain[at];
    }
  });
  Best best = FindBest(room.gain.data(), count);
  if (best.at >= 0) best.at += begin + 1;
  return best;
}

// Divides the bins between edge 0 and `end` into at most `most` stretches, best first; none where no cut gains.
inline void Divide(const Edges& edges, const StepRules& rules, int64_t end, int64_t most, int sign,
                   CutRoom& room, std::vector<Stretch>& stretches) {
  const auto make = [&](int64_t begin, int64_t stop, bool is_cut) {
    Stretch own{begin, stop, rules.Score(edges.gradient[stop] - edges.gradient[begin], edges.hessian[stop] - edges.hessian[begin]), {}};
    if (is_cut) own.cut = FindCut(edges, rules, sign, own, room);
    return own;
  };
  stretches.clear();
  stretches.push_back(make(0, end, true));
  while (static_cast<int64_t>(stretches.size()) < most) {
    int64_t chosen = 0;
    for (int64_t at = 1; at < static_cast<int64_t>(stretches.size()); ++at) {
      if (stretches[at].cut.gain > stretches[chosen].cut.gain) chosen = at;
    }
    const Stretch whole = stretches[chosen];
    if (whole.cut.at < 0) break;
    const bool is_last = static_cast<int64_t>(stretches.size()) + 1 == most;
    stretches[chosen] = make(whole.begin, whole.cut.at, !is_last);
    stretches.insert(stretches.begin() + chosen + 1, make(whole.cut.at, whole.end, !is_last));
  }
  if (stretches.size() == 1) stretches.clear();
}

// Running sums of the cells of a pair: [inner, outer], outer being the axis that a tree divides first.
struct Cells {
  const int64_t* gradient;
  const double *hessian, *rows;
  int64_t num_inner, num_outer;

  int64_t Sum(int64_t inner, int64_t outer) const { return inner < 0 || outer < 0 ? 0 : gradient[inner * num_outer + outer]; }
  double Hessian(int64_t inner, int64_t outer) const { return inner < 0 || outer < 0 ? 0 : hessian[inner * num_outer + outer]; }
};

// A tree of two levels: the last outer bin of its first part, and of both parts the last inner bin of their first half,
// -1 where they are not divided.
struct PairCut {
  double gain = 0;
  int64_t outer = -1, inner[2] = {-1, -1};
};

// So many outer cuts are looked at together.
constexpr int kLanes = 8;

// Running sums of cells beside some outer cuts, which are those of the first part, and beside all bins of the outer axis.
struct Below {
  int64_t gradient[kLanes], all_gradient;
  double hessian[kLanes], rows[kLanes], all_hessian, all_rows;

  inline __attribute__((always_inline)) Below(const Cells& cells, int64_t inner, int64_t outer) {
    const int64_t begin = inner * cells.num_outer, last = begin + cells.num_outer - 1;
    std::memcpy(gradient, cells.gradient + begin + outer, sizeof(gradient));
    std::memcpy(hessian, cells.hessian + begin + outer, sizeof(hessian));
    std::memcpy(rows, cells.rows + begin + outer, sizeof(rows));
    all_gradient = cells.gradient[last];
    all_hessian = cells.hessian[last];
    all_rows = cells.rows[last];
  }
};

// A part beside some outer cuts: its sums, the best way to leave it whole or to halve it, and the scores of its leaves.
template <bool kIsSecond>
struct Part {
  int64_t gradient[kLanes], at[kLanes];
  double hessian[kLanes], rows[kLanes], sum[kLanes], first[kLanes], second[kLanes];

  inline __attribute__((always_inline)) Part(const StepRules& rules, const Below& all) {
    double own[kLanes];
    for (int lane = 0; lane < kLanes; ++lane) {
      gradient[lane] = kIsSecond ? all.all_gradient - all.gradient[lane] : all.gradient[lane];
      own[lane] = static_cast<double>(gradient[lane]);
      at[lane] = -1;
    }
    for (int lane = 0; lane < kLanes; ++lane) {
      hessian[lane] = kIsSecond ? all.all_hessian - all.hessian[lane] : all.hessian[lane];
      rows[lane] = kIsSecond ? all.all_rows - all.rows[lane] : all.rows[lane];
      const double score = PositiveScore(rules, own[lane], hessian[lane]);
      sum[lane] = first[lane] = hessian[lane] > 0 ? score : 0;
      second[lane] = 0;
    }
  }

  // Keeps a cut where it is better than what is there.
  inline __attribute__((always_inline)) void Try(const StepRules& rules, const Below& all, int64_t cut) {
    double half[kLanes], rest[kLanes];
    for (int lane = 0; lane < kLanes; ++lane) {
      const int64_t inside = kIsSecond ? all.all_gradient - all.gradient[lane] : all.gradient[lane];
      half[lane] = static_cast<double>(inside);
      rest[lane] = static_cast<double>(gradient[lane] - inside);
    }
    for (int lane = 0; lane < kLanes; ++lane) {
      const double inside = kIsSecond ? all.all_hessian - all.hessian[lane] : all.hessian[lane];
      const double inside_rows = kIsSecond ? all.all_rows - all.rows[lane] : all.rows[lane];
      const double outside = hessian[lane] - inside, outside_rows = rows[lane] - inside_rows;
      const double one = PositiveScore(rules, half[lane], inside), two = PositiveScore(rules, rest[lane], outside);
      const double both = one + two;
      const bool is_better = (both > sum[lane]) & (inside_rows >= rules.least_rows) & (outside_rows >= rules.least_rows) &
                             (inside >= rules.least_hessian) & (outside >= rules.least_hessian);
      sum[lane] = is_better ? both : sum[lane];
      first[lane] = is_better ? one : first[lane];
      second[lane] = is_better ? two : second[lane];
      at[lane] = is_better ? cut : at[lane];
    }
  }
};

// The best tree whose first cut is of the outer axis, if it is better than `found`.
inline void FindPairCut(const Cells& cells, const StepRules& rules, PairCut& found) {
  const int64_t count = cells.num_outer - 1;
  for (int64_t begin = 0; begin < count; begin += kLanes) {
    double gain[kLanes];
    int64_t cuts[2][kLanes];
    WithWidest([&]() __attribute__((always_inline)) {
      const StepRules own = rules;
      const Below all(cells, cells.num_inner - 1, begin);
      Part<false> left(own, all);
      Part<true> right(own, all);
      const int64_t num_cuts = cells.num_inner - 1;
      for (int64_t cut = 0; cut < num_cuts; ++cut) {
        const Below below(cells, cut, begin);
        left.Try(own, below, cut);
        right.Try(own, below, cut);
      }
      for (int lane = 0; lane < kLanes; ++lane) {
        const bool is_allowed = (left.rows[lane] >= own.least_rows) & (right.rows[lane] >= own.least_rows) &
                                (left.hessian[lane] >= own.least_hessian) & (right.hessian[lane] >= own.least_hessian);
        const double saved = left.sum[lane] + right.first[lane] + right.second[lane];
        gain[lane] = is_allowed ? saved : 0;
        cuts[0][lane] = left.at[lane];
        cuts[1][lane] = right.at[lane];
      }
    });
    const Best best = FindBest(gain, std::min<int64_t>(kLanes, count - begin));
    if (best.gain > found.gain) found = {best.gain, begin + best.at, {cuts[0][best.at], cuts[1][best.at]}};
  }
}

}  // namespace jaxtree

#endif  // JAXTREE_NATIVE_ADDITIVE_LEAVES_H_
