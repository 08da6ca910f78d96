// The boosting of one member: its gradients, its steps, and the order of its terms.

#ifndef JAXTREE_NATIVE_ADDITIVE_MEMBER_H_
#define JAXTREE_NATIVE_ADDITIVE_MEMBER_H_

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "additive/leaves.h"
#include "additive/shared_sums.h"
#include "additive/terms.h"
#include "common/simd.h"

namespace jaxtree {

// The gradients of rows, where no sums over pairs of places are held: a term's are summed when it is looked at.
class RowGradients {
 public:
  virtual ~RowGradients() = default;
  // Sums the gradients of the rows of every bin of a term.
  virtual void Sum(int64_t term, int64_t* to) const = 0;
  // Changes gradients by the step of every bin of a term.
  virtual void Add(int64_t term, const int64_t* step) = 0;
};

class Member {
 public:
  // `gradient` holds the sums of gradients of places, and is changed to those after the steps, which are added to `total`.
  // With the gradients of rows these are changed, and `gradient` and the sums of pairs of places are not read.
  Member(const Terms& terms, const SharedSums& sums, const StepRules& rules, const int32_t* monotone, int64_t* gradient,
         int64_t* total, RowGradients* rows = nullptr)
      : terms_(terms),
        sums_(sums),
        rules_(rules),
        monotone_(monotone),
        gradient_(gradient),
        total_(total),
        rows_(rows),
        gains_(terms.number, -1.0),
        step_(terms.MostBins()),
        order_(terms.number) {
    for (int64_t term = 0; term < terms.number; ++term) {
      if (rows == nullptr) MakeRunning(terms, term, gradient + terms.first[term], 1, 1);
      if (terms.kind(term) == TermKind::kSubset) {
        for (int64_t bin = 0; bin < terms.size(term); ++bin) {
          if (sums.num_rows[terms.first[term] + bin] > 0) order_[term].push_back(bin);
        }
      }
    }
  }

  void Run(int64_t num_passes) {
    for (int64_t pass = 0; pass < num_passes; ++pass) {
      for (int64_t term = 0; term < terms_.number; ++term) {
        Propose(term);
        if (gains_[term] > 0) Make(term);
      }
      for (int64_t step = 0; step < rules_.greedy_steps; ++step) {
        if (!MakeBest()) break;
      }
    }
    if (rows_ != nullptr) return;
    for (int64_t place = 0; place < terms_.num_places(); ++place) gradient_[place] += all_ * sums_.running[place];
    for (int64_t term = 0; term < terms_.number; ++term) MakePlain(terms_, term, gradient_ + terms_.first[term]);
  }

 private:
  // A stretch of the bins of a term in the order in which they were divided, or of a pair a rectangle; and its step.
  struct StepOfLeaf {
    int64_t begin, end, step;
  };

  // The step that was proposed last.
  struct Proposal {
    explicit Proposal(int64_t most) : room(most) {
      for (auto* own : {&gradient, &turned}) own->resize(most + 1 + kPadding);
      for (auto* own : {&hessian, &rows}) own->resize(most + 1 + kPadding);
    }

    std::vector<int64_t> gradient, turned;  // sums of the term, in front of which edges have a 0
    std::vector<double> hessian, rows, ratio;
    CutRoom room;
    std::vector<Stretch> stretches;
    std::vector<StepOfLeaf> leaves;  // of one axis
    int64_t step_of_missing = 0;
    PairCut cut;                     // of a pair
    bool is_turned = false;          // whether the pair is divided by its second axis first
    int64_t steps[4] = {};           // of both halves of both parts
  };

  // Takes a step on the term that gains most: gains of others are those of their last look, so that the greatest is looked
  // at anew until it stays the greatest. Returns whether one gains.
  bool MakeBest() {
    is_new_.assign(terms_.number, false);
    int64_t last = -1, best;
    while (!is_new_[best = std::max_element(gains_.begin(), gains_.end()) - gains_.begin()]) {
      Propose(best);
      is_new_[best] = true;
      last = best;
    }
    if (!(gains_[best] > 0)) return false;
    if (best != last) Propose(best);
    Make(best);
    return true;
  }

  void Propose(int64_t term) {
    switch (terms_.kind(term)) {
      case TermKind::kOrdered: return ProposeOrdered(term);
      case TermKind::kSubset: return ProposeSubset(term);
      case TermKind::kPair: return ProposePair(term);
    }
  }

  // Finds the gradients of a term in running form; what all steps added is added to them.
  void FindGradients(int64_t term, int64_t* to) const {
    if (rows_ != nullptr) {
      rows_->Sum(term, to);
      return MakeRunning(terms_, term, to, 1, 1);
    }
    const int64_t *own = gradient_ + terms_.first[term], *weight = sums_.running.data() + terms_.first[term];
    const int64_t size = terms_.size(term), all = all_;
    WithWidest([&]() __attribute__((always_inline)) {
      for (int64_t bin = 0; bin < size; ++bin) to[bin] = own[bin] + all * weight[bin];
    });
  }

  // Turns stretches into leaves with steps; returns their gain.
  double TakeStretches() {
    double gain = 0;
    step_.leaves.clear();
    for (const Stretch& own : step_.stretches) {
      const int64_t sum = step_.gradient[own.end] - step_.gradient[own.begin];
      step_.leaves.push_back({own.begin, own.end, rules_.Step(sum, step_.hessian[own.end] - step_.hessian[own.begin])});
      gain += own.score;
    }
    return gain;
  }

  void ProposeOrdered(int64_t term) {
    const int64_t first = terms_.first[term], known = terms_.size(term) - 1;
    FindGradients(term, step_.gradient.data() + 1);
    std::copy_n(sums_.hessian.data() + first, known + 1, step_.hessian.data() + 1);
    std::copy_n(sums_.rows.data() + first, known + 1, step_.rows.data() + 1);
    const int64_t missing = step_.gradient[known + 1];
    step_.stretches.clear();
    if (known > 0) {
      const Edges edges{step_.gradient.data(), step_.hessian.data(), step_.rows.data()};
      const int sign = monotone_[term];
      Divide(edges, rules_, known, sign != 0 ? 2 : rules_.max_leaves, sign, step_.room, step_.stretches);
    }
    double gain = TakeStretches();
    const double hessian = step_.hessian[known + 1];
    const bool has_missing = rules_.Allows(step_.rows[known + 1], hessian);
    step_.step_of_missing = has_missing ? rules_.Step(missing, hessian) : 0;
    if (has_missing) gain += rules_.Score(missing, hessian);
    gains_[term] = has_missing || !step_.leaves.empty() ? gain : -1;
  }

  void ProposeSubset(int64_t term) {
    const int64_t first = terms_.first[term];
    std::vector<int32_t>& order = order_[term];
    const int64_t present = order.size();
    int64_t* const sums = step_.turned.data();
    FindGradients(term, sums);
    step_.ratio.resize(terms_.size(term));
    for (const int32_t bin : order) {
      const double denominator = static_cast<double>(sums_.diagonal[first + bin]) + rules_.smoothing;
      step_.ratio[bin] = denominator > 0 ? static_cast<double>(sums[bin]) / denominator : 0;
    }
    Sort(order);
    for (int64_t at = 0; at < present; ++at) {
      const int64_t bin = order[at];
      step_.gradient[at + 1] = step_.gradient[at] + sums[bin];
      step_.hessian[at + 1] = step_.hessian[at] + static_cast<double>(sums_.diagonal[first + bin]);
      step_.rows[at + 1] = step_.rows[at] + sums_.num_rows[first + bin];
    }
    step_.stretches.clear();
    const Edges edges{step_.gradient.data(), step_.hessian.data(), step_.rows.data()};
    if (present > 0) Divide(edges, rules_, present, rules_.max_leaves, 0, step_.room, step_.stretches);
    const double gain = TakeStretches();
    gains_[term] = step_.leaves.empty() ? -1 : gain;
  }

  // Sorts bins by their ratios, and of equal ones by their numbers. They are nearly sorted from their last time.
  void Sort(std::vector<int32_t>& order) const {
    const auto is_before = [&](int32_t one, int32_t other) {
      const double own = step_.ratio[one], its = step_.ratio[other];
      return own < its || (own == its && one < other);
    };
    const int64_t size = order.size();
    int64_t moves = 0;
    for (int64_t at = 1; at < size; ++at) {
      const int32_t bin = order[at];
      int64_t to = at;
      for (; to > 0 && is_before(bin, order[to - 1]); --to) order[to] = order[to - 1];
      order[to] = bin;
      moves += at - to;
      if (moves > kMostMoves * size) return std::sort(order.begin(), order.end(), is_before);
    }
  }

  void ProposePair(int64_t term) {
    const int64_t first = terms_.first[term], one = terms_.num_bins[2 * term], other = terms_.num_bins[2 * term + 1];
    int64_t* const sums = step_.gradient.data() + 1;
    FindGradients(term, sums);
    ForCells(terms_, term, [&](int64_t cell, int64_t turned) { step_.turned[turned] = sums[cell]; });
    const Cells turned{step_.turned.data(), sums_.turned_hessian.data() + first, sums_.turned_rows.data() + first, other, one};
    const Cells straight{sums, sums_.hessian.data() + first, sums_.rows.data() + first, one, other};
    step_.cut = {};
    FindPairCut(turned, rules_, step_.cut);
    const double gain = step_.cut.gain;
    FindPairCut(straight, rules_, step_.cut);
    gains_[term] = step_.cut.gain > 0 ? step_.cut.gain : -1;
    step_.is_turned = step_.cut.gain > gain;
    if (step_.cut.gain > 0) FindSteps(step_.is_turned ? straight : turned);
  }

  void FindSteps(const Cells& cells) {
    const int64_t last = cells.num_inner - 1;
    for (int part = 0; part < 2; ++part) {
      const int64_t after = part == 0 ? -1 : step_.cut.outer, until = part == 0 ? step_.cut.outer : cells.num_outer - 1;
      const int64_t cut = step_.cut.inner[part];
      const auto step = [&](int64_t below, int64_t top) {
        const int64_t sum = cells.Sum(top, until) - cells.Sum(top, after) - cells.Sum(below, until) + cells.Sum(below, after);
        const double hessian = cells.Hessian(top, until) - cells.Hessian(top, after) - cells.Hessian(below, until) +
                               cells.Hessian(below, after);
        return rules_.Step(sum, hessian);
      };
      step_.steps[2 * part + 1] = step(cut, last);
      step_.steps[2 * part] = cut < 0 ? step_.steps[2 * part + 1] : step(-1, cut);
    }
  }

  // Makes the step that was proposed.
  void Make(int64_t term) {
    change_.Clear();
    int64_t* const total = total_ + terms_.first[term];
    const int64_t size = terms_.size(term);
    if (rows_ != nullptr) before_.assign(total, total + size);
    switch (terms_.kind(term)) {
      case TermKind::kOrdered: MakeOrdered(term); break;
      case TermKind::kSubset: MakeSubset(term); break;
      case TermKind::kPair: MakePair(term); break;
    }
    if (rows_ == nullptr) return change_.Apply(gradient_, terms_.num_places());
    for (int64_t bin = 0; bin < size; ++bin) before_[bin] = total[bin] - before_[bin];
    rows_->Add(term, before_.data());
  }

  // A number for all bins that have no other; the last leaf of known bins says it.
  void MakeOrdered(int64_t term) {
    const int64_t first = terms_.first[term], missing = terms_.size(term) - 1;
    const int64_t all = step_.leaves.empty() ? 0 : step_.leaves.back().step;
    all_ += all;
    for (size_t leaf = 0; leaf < step_.leaves.size(); ++leaf) {
      const StepOfLeaf& own = step_.leaves[leaf];
      for (int64_t bin = own.begin; bin < own.end; ++bin) total_[first + bin] += own.step;
      if (leaf + 1 == step_.leaves.size()) break;
      change_.AddNew(sums_.Row(first + own.end - 1), own.step - step_.leaves[leaf + 1].step);
    }
    total_[first + missing] += step_.step_of_missing;
    if (sums_.diagonal[first + missing] > 0) change_.AddNew(sums_.Row(first + missing), step_.step_of_missing - all);
  }

  // The leaf of most bins says the number for all; bins without rows make no step.
  void MakeSubset(int64_t term) {
    const int64_t first = terms_.first[term];
    const std::vector<int32_t>& order = order_[term];
    const StepOfLeaf& largest = *std::max_element(step_.leaves.begin(), step_.leaves.end(), [](const auto& one, const auto& other) {
      return one.end - one.begin < other.end - other.begin;
    });
    all_ += largest.step;
    for (const StepOfLeaf& own : step_.leaves) {
      for (int64_t at = own.begin; at < own.end; ++at) {
        const int64_t place = first + order[at];
        total_[place] += own.step;
        change_.AddNew(sums_.Row(place), own.step - largest.step);
      }
    }
    for (int64_t place = first; place < terms_.first[term + 1]; ++place) {
      if (sums_.num_rows[place] <= 0 && sums_.diagonal[place] > 0) change_.AddNew(sums_.Row(place), -largest.step);
    }
  }

  // The second half of the second part says the number for all; the others differ from it by four rectangles at a corner.
  void MakePair(int64_t term) {
    const int64_t first = terms_.first[term], one = terms_.num_bins[2 * term], other = terms_.num_bins[2 * term + 1];
    const int64_t num_inner = step_.is_turned ? one : other;
    const int64_t* const steps = step_.steps;
    const PairCut& cut = step_.cut;
    all_ += steps[3];
    const auto row = [&](int64_t inner, int64_t outer) {
      return sums_.Row(first + (step_.is_turned ? inner * other + outer : outer * other + inner));
    };
    const int64_t num_outer = step_.is_turned ? other : one;
    change_.Add(row(num_inner - 1, cut.outer), steps[1] - steps[3]);
    if (cut.inner[0] >= 0) change_.Add(row(cut.inner[0], cut.outer), steps[0] - steps[1]);
    if (cut.inner[1] >= 0) {
      change_.Add(row(cut.inner[1], num_outer - 1), steps[2] - steps[3]);
      change_.Add(row(cut.inner[1], cut.outer), steps[3] - steps[2]);
    }
    for (int64_t row = 0; row < one; ++row) {
      int64_t* const total = total_ + first + row * other;
      for (int64_t column = 0; column < other; ++column) {
        const int64_t inner = step_.is_turned ? row : column, outer = step_.is_turned ? column : row;
        const int part = outer <= cut.outer ? 0 : 1;
        total[column] += steps[2 * part + (inner <= cut.inner[part] ? 0 : 1)];
      }
    }
  }

  static constexpr int64_t kMostMoves = 8;  // of a bin, on average, before they are sorted from the beginning

  const Terms& terms_;
  const SharedSums& sums_;
  const StepRules& rules_;
  const int32_t* const monotone_;
  int64_t* const gradient_;  // in running form, without `all_` times the weights
  int64_t* const total_;
  RowGradients* const rows_;
  std::vector<int64_t> before_;  // of the bins of a term, before its step, and then the step
  int64_t all_ = 0;  // the sum of the numbers of steps for all bins
  std::vector<double> gains_;
  Proposal step_;
  std::vector<std::vector<int32_t>> order_;  // the bins of subsets that have rows, as they were sorted last
  std::vector<char> is_new_;
  Change change_;
};

}  // namespace jaxtree

#endif  // JAXTREE_NATIVE_ADDITIVE_MEMBER_H_
