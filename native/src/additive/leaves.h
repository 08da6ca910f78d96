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

  // What a leaf saves, twice; of second derivatives that are 0, nothing.
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

constexpr int kLanes = 8;
typedef double Reals __attribute__((vector_size(kLanes * sizeof(double))));
typedef int64_t Longs __attribute__((vector_size(kLanes * sizeof(int64_t))));

// Arrays of sums have so many more elements, as all lanes are read at once.
constexpr int64_t kPadding = kLanes;

// Only references go in and out, here and below: the code is inlined into functions for processors with other vectors.
template <typename Lanes, typename From>
inline __attribute__((always_inline)) void Load(const From* from, Lanes& to) { std::memcpy(&to, from, sizeof(to)); }

// `StepRules::Score` where second derivatives are not 0.
inline __attribute__((always_inline)) void ScoreLanes(const StepRules& rules, const Longs& gradient, const Reals& hessian,
                                                      Reals& score) {
  const Reals zero = {}, own = __builtin_convertvector(gradient, Reals);
  const Reals left = (own < 0 ? -own : own) - rules.l1, held = left > 0 ? left : zero;
  score = held * held / (hessian + rules.l2);
}

inline __attribute__((always_inline)) void ValueLanes(const StepRules& rules, const Longs& gradient, const Reals& hessian,
                                                      Reals& value) {
  const Reals zero = {}, own = __builtin_convertvector(gradient, Reals), most = zero + rules.max_step;
  const Reals left = (own < 0 ? -own : own) - rules.l1, held = left > 0 ? left : zero;
  const Reals step = (own > 0 ? -held : (own < 0 ? held : zero)) / (hessian + rules.l2);
  const Reals raised = step < -most ? -most : step;
  value = rules.learning_rate * (raised > most ? most : raised);
}

// The best of the numbers that lanes have seen, and where; of equal ones the first.
struct Best {
  double gain = 0;
  int64_t at = -1;

  void Take(const Reals& gains, const Longs& places) {
    for (int lane = 0; lane < kLanes; ++lane) {
      if (gains[lane] > gain || (gains[lane] == gain && at >= 0 && places[lane] < at && gain > 0)) {
        gain = gains[lane];
        at = places[lane];
      }
    }
  }
};

// Sums of the bins of an axis up to each edge between them, the first of which is 0.
struct Edges {
  const int64_t* gradient;
  const double *hessian, *rows;
};

// A stretch of bins between two edges.
struct Stretch {
  int64_t begin, end;
  double score;
  Best cut;  // the edge that divides it best
};

// The edge that divides a stretch best. `sign` says how steps may go: -1, 1, or 0 for either way.
inline Best FindCut(const Edges& edges, const StepRules& rules, int sign, const Stretch& stretch) {
  const int64_t begin = stretch.begin, end = stretch.end;
  Reals best = {};
  Longs places = {};
  WithWidest([&]() __attribute__((always_inline)) {
    const Longs lanes = {0, 1, 2, 3, 4, 5, 6, 7};
    for (int64_t first = begin + 1; first < end; first += kLanes) {
      Longs left;
      Reals left_hessian, left_rows, scores, other_scores;
      Load(edges.gradient + first, left);
      Load(edges.hessian + first, left_hessian);
      Load(edges.rows + first, left_rows);
      const Longs right = edges.gradient[end] - left;
      const Reals right_hessian = edges.hessian[end] - left_hessian, right_rows = edges.rows[end] - left_rows;
      left -= edges.gradient[begin];
      left_hessian -= edges.hessian[begin];
      left_rows -= edges.rows[begin];
      ScoreLanes(rules, left, left_hessian, scores);
      ScoreLanes(rules, right, right_hessian, other_scores);
      const Reals gain = scores + other_scores - stretch.score;
      const Longs at = lanes + first;
      Longs is_better = (gain > best) & (at < end) & (left_rows >= rules.least_rows) & (right_rows >= rules.least_rows) &
                        (left_hessian >= rules.least_hessian) & (right_hessian >= rules.least_hessian);
      if (sign != 0) {
        Reals value, other_value;
        ValueLanes(rules, left, left_hessian, value);
        ValueLanes(rules, right, right_hessian, other_value);
        is_better &= ~((other_value - value) * static_cast<double>(sign) < 0);
      }
      best = is_better ? gain : best;
      places = is_better ? at : places;
    }
  });
  Best found;
  found.Take(best, places);
  return found;
}

// Divides the bins between edge 0 and `end` into at most `most` stretches, best first; none where no cut gains.
inline void Divide(const Edges& edges, const StepRules& rules, int64_t end, int64_t most, int sign,
                   std::vector<Stretch>& stretches) {
  const auto make = [&](int64_t begin, int64_t stop, bool is_cut) {
    Stretch own{begin, stop, rules.Score(edges.gradient[stop] - edges.gradient[begin], edges.hessian[stop] - edges.hessian[begin]), {}};
    if (is_cut) own.cut = FindCut(edges, rules, sign, own);
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

// The numbers of one part, of all lanes, beside every outer cut.
struct PartLanes {
  Longs gradient;
  Reals hessian, rows;
};

// Keeps the best way to leave a part whole or to halve it: the scores of its leaves and where it is halved.
struct HalvedLanes {
  Reals sum, first, second;
  Longs at;

  __attribute__((always_inline)) void Begin(const StepRules& rules, const PartLanes& whole) {
    const Reals zero = {};
    Reals score;
    ScoreLanes(rules, whole.gradient, whole.hessian, score);
    first = sum = whole.hessian > 0 ? score : zero;
    second = zero;
    at = Longs{} - 1;
  }

  __attribute__((always_inline)) void Try(const StepRules& rules, const PartLanes& whole, const PartLanes& half, int64_t cut) {
    const Longs other = whole.gradient - half.gradient;
    const Reals hessian = whole.hessian - half.hessian, rows = whole.rows - half.rows;
    Reals one, two;
    ScoreLanes(rules, half.gradient, half.hessian, one);
    ScoreLanes(rules, other, hessian, two);
    const Reals both = one + two;
    const Longs is_better = (both > sum) & (half.rows >= rules.least_rows) & (rows >= rules.least_rows) &
                            (half.hessian >= rules.least_hessian) & (hessian >= rules.least_hessian);
    sum = is_better ? both : sum;
    first = is_better ? one : first;
    second = is_better ? two : second;
    at = is_better ? Longs{} + cut : at;
  }
};

// The best tree whose first cut is of the outer axis, if it is better than `found`.
inline void FindPairCut(const Cells& cells, const StepRules& rules, PairCut& found) {
  const int64_t num_outer = cells.num_outer, num_inner = cells.num_inner, last = num_outer - 1;
  const auto load = [&](int64_t row, int64_t first, PartLanes& part, PartLanes& rest) __attribute__((always_inline)) {
    const int64_t at = row * num_outer;
    Load(cells.gradient + at + first, part.gradient);
    Load(cells.hessian + at + first, part.hessian);
    Load(cells.rows + at + first, part.rows);
    rest = {cells.gradient[at + last] - part.gradient, cells.hessian[at + last] - part.hessian, cells.rows[at + last] - part.rows};
  };
  for (int64_t first = 0; first < last; first += kLanes) {
    HalvedLanes left, right;
    Reals gain;
    WithWidest([&]() __attribute__((always_inline)) {
      const Longs lanes = {0, 1, 2, 3, 4, 5, 6, 7};
      PartLanes part, rest, half, half_of_rest;
      load(num_inner - 1, first, part, rest);
      left.Begin(rules, part);
      right.Begin(rules, rest);
      for (int64_t cut = 0; cut < num_inner - 1; ++cut) {
        load(cut, first, half, half_of_rest);
        left.Try(rules, part, half, cut);
        right.Try(rules, rest, half_of_rest, cut);
      }
      const Reals zero = {};
      const Longs is_allowed = (part.rows >= rules.least_rows) & (rest.rows >= rules.least_rows) & (lanes + first < last) &
                               (part.hessian >= rules.least_hessian) & (rest.hessian >= rules.least_hessian);
      gain = is_allowed ? left.sum + right.first + right.second : zero;
    });
    for (int lane = 0; lane < kLanes; ++lane) {
      if (gain[lane] > found.gain) found = {gain[lane], first + lane, {left.at[lane], right.at[lane]}};
    }
  }
}

}  // namespace jaxtree

#endif  // JAXTREE_NATIVE_ADDITIVE_LEAVES_H_
