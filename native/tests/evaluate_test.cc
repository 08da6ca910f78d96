// The gain of a division of a node, and the best split of a feature.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "check.h"
#include "evaluate/feature_split.h"
#include "evaluate/screening.h"
#include "evaluate/split_scorer.h"
#include "problem.h"

namespace jaxtree {
namespace {

using test::Value;

// The sums of codes with any weights of classes.
std::vector<Value> RandomCells(int64_t size, unsigned seed) {
  std::mt19937 draw(seed);
  std::vector<Value> cells(size);
  for (Value& cell : cells) cell = draw() % 20;
  return cells;
}

std::vector<Value> TotalOf(const std::vector<Value>& cells, int64_t num_channels) {
  std::vector<Value> total(num_channels);
  for (size_t at = 0; at < cells.size(); ++at) total[at % num_channels] += cells[at];
  return total;
}

std::vector<int32_t> AllCodes(int32_t number) {
  std::vector<int32_t> codes(number);
  for (int32_t code = 0; code < number; ++code) codes[code] = code;
  return codes;
}

const SplitRules kPlain{kLearn, false, kGain, 1, 32};

TEST(Evaluate_a_division_into_pure_branches_gains_the_impurity) {
  const Value total[] = {4, 4}, pure[] = {4, 0}, alike[] = {2, 2};
  SplitScorer<Value> gini(test::Classes(Formula::kGini, 2)), entropy(test::Classes(Formula::kEntropy, 2));
  for (auto* scorer : {&gini, &entropy}) {
    scorer->Open(total, 8, 0, 0);
    CHECK(std::abs(scorer->Gain(pure) - scorer->Impurity()) < 1e-12);
    CHECK(std::abs(scorer->Gain(alike)) < 1e-12);
  }
  CHECK_EQ(gini.Impurity(), 0.5);
  CHECK(std::abs(entropy.Impurity() - 1) < 1e-12);
}

TEST(Evaluate_a_branch_that_is_too_light_is_no_split) {
  const Value total[] = {4, 4}, inside[] = {2, 0};
  SplitScorer<Value> scorer(test::Classes(Formula::kGini, 2));
  scorer.Open(total, 8, 3, 0);
  CHECK_EQ(scorer.Gain(inside), kNoGain);
}

TEST(Evaluate_of_equal_thresholds_the_first_is_the_best) {
  // The second code adds nothing: a threshold after it gains what the one before it gains.
  const std::vector<Value> cells{5, 0, 1, 1, 0, 5};
  const Value total[] = {6, 6};
  SplitScorer<Value> scorer(test::Classes(Formula::kGini, 2));
  scorer.Open(total, 12, 0, 0);
  const Split split = FeatureSplitter<Value>(scorer, kPlain).Best({7, kThreshold, 3, 0, nullptr}, {AllCodes(3), cells.data(), 2});
  CHECK_EQ(split.feature, 7);
  CHECK_EQ(split.code, 0);
  CHECK_EQ(split.next_code, 1);
}

TEST(Evaluate_missing_values_go_where_they_gain_most) {
  // Code 2 is that of a missing value, whose rows are like those of code 0.
  const std::vector<Value> cells{5, 0, 0, 5, 4, 0};
  const Value total[] = {9, 5};
  SplitScorer<Value> scorer(test::Classes(Formula::kGini, 2));
  scorer.Open(total, 14, 0, 0);
  const SplitRules rules{kLearn, true, kGain, 1, 32};
  const Split split = FeatureSplitter<Value>(scorer, rules).Best({0, kThreshold, 2, 0, nullptr}, {AllCodes(3), cells.data(), 2});
  CHECK_EQ(split.code, 0);
  CHECK_EQ(split.missing_branch, 0);
  CHECK_EQ(split.gain, scorer.Impurity());
}

// With two classes the best subset is among the cuts of the order by share; with more all subsets are tried.
TEST(Evaluate_no_subset_of_categories_gains_more_than_the_best) {
  for (const int32_t num_classes : {2, 3}) {
    for (unsigned seed = 0; seed < 20; ++seed) {
      constexpr int32_t kCodes = 6;
      const std::vector<Value> cells = RandomCells(kCodes * num_classes, seed), total = TotalOf(cells, num_classes);
      SplitScorer<Value> scorer(test::Classes(Formula::kGini, num_classes));
      scorer.Open(total.data(), 0, 0, 0);
      const std::vector<int32_t> codes = AllCodes(kCodes);
      const Split split = FeatureSplitter<Value>(scorer, {kBranch, false, kGain, 1, kCodes})
                              .Best({0, kSubset, kCodes, 0, nullptr}, {codes, cells.data(), num_classes});
      const auto gain_of = [&](uint32_t subset) {
        std::vector<Value> sums(num_classes);
        for (int32_t at = 0; at < kCodes * num_classes; ++at) {
          if ((subset >> at / num_classes & 1) == 0) sums[at % num_classes] += cells[at];
        }
        return scorer.Gain(sums.data());
      };
      double best = kNoGain;
      for (uint32_t subset = 1; subset < (1u << kCodes) - 1; ++subset) best = std::max(best, gain_of(subset));
      CHECK(gain_of(split.subset[0]) >= scorer.LeastOfEquals(best));
      CHECK(split.gain >= scorer.LeastOfEquals(best) && split.gain <= best);
    }
  }
}

// Sums of Newton steps, up to every code.
struct Derivatives {
  explicit Derivatives(unsigned seed, int32_t num_codes) {
    std::mt19937 draw(seed);
    for (int32_t code = 0; code < num_codes; ++code) {
      alone.push_back(1 + draw() % 5000);
      alone.push_back(static_cast<Value>(draw() % 4001) - 2000);
      for (int channel = 0; channel < 2; ++channel) total[channel] += alone[2 * code + channel];
      for (const Value sum : {total[0], total[1], 0, 0}) up_to.push_back(sum);
    }
  }

  std::vector<Value> alone, up_to;
  Value total[4] = {};
};

TEST(Evaluate_gains_of_newton_steps_at_once_are_those_one_by_one) {
  const double penalties[] = {1, 0.5, test::kUnbounded};
  for (unsigned seed = 0; seed < 20; ++seed) {
    constexpr int32_t kCodes = 37;
    const Derivatives sums(seed, kCodes);
    SplitScorer<Value> scorer(test::NewtonSteps());
    scorer.SetParameters(penalties);
    scorer.Open(sums.total, 0, 0, 0);
    ThresholdGains<Value> gains(scorer);
    const std::vector<int32_t> codes = AllCodes(kCodes);
    const Gains all = gains.Of(codes, sums.alone.data(), 2, kCodes - 1);
    CHECK_EQ(all.first, 0);
    CHECK_EQ(all.stop, kCodes - 1);
    for (int32_t code = 0; code + 1 < kCodes; ++code) CHECK_EQ(all.gain[code], scorer.Gain(&sums.up_to[4 * code]));
  }
}

// The statistics of rows of one code each, one after another.
struct Statistics {
  Statistics(const Moments& moments, unsigned seed, int32_t num_codes) : places(moments), total(places.number) {
    std::mt19937 draw(seed);
    std::normal_distribution<double> normal;
    for (int32_t code = 0; code < num_codes; ++code) {
      std::vector<double> treatment(moments.num_arms), instrument(moments.num_arms), row(places.number);
      double outcome = normal(draw);
      for (int32_t arm = 0; arm < moments.num_arms; ++arm) {
        treatment[arm] = instrument[arm] = normal(draw);
        if (moments.has_instruments) treatment[arm] += normal(draw);
        outcome += (1 + arm + code % 3) * treatment[arm];
      }
      row[0] = 1;
      for (int32_t number = 0; number < moments.num_outcomes; ++number) row[1 + number] = outcome * (number + 1) + normal(draw);
      for (int32_t arm = 0; arm < moments.num_arms; ++arm) {
        row[places.treatment[arm]] = treatment[arm];
        row[places.instrument[arm]] = instrument[arm];
        row[places.with_outcome[arm]] = instrument[arm] * row[1];
        for (int32_t other = 0; other < moments.num_arms; ++other) {
          row[places.with_treatment[arm * moments.num_arms + other]] = instrument[arm] * treatment[other];
        }
        if (!moments.is_stabilised) continue;
        row[places.squares[arm]] = instrument[arm] * instrument[arm];
        row[places.above[arm]] = instrument[arm] > 0, row[places.rows] = 1;
      }
      for (int32_t channel = 0; channel < places.number; ++channel) {
        cells.push_back(static_cast<Value>(std::lround(row[channel] * 1024)));
        total[channel] += cells.back();
      }
    }
  }

  MomentPlaces places;
  std::vector<Value> cells, total;
};

const Moments kMoments[] = {{0, 1, false, true}, {0, 3, false, true},  {1, 1, false, true}, {1, 1, false, false},
                            {1, 1, true, true},  {2, 1, false, true}, {2, 1, true, true},  {3, 1, true, false}};

TEST(Evaluate_gains_of_moments_at_once_are_those_one_by_one) {
  constexpr int32_t kCodes = 61;
  for (const Moments& moments : kMoments) {
    for (const double penalty : {0.0, 0.01}) {
      const double limits[] = {0.1, penalty, 3, 0};
      const Statistics sums(moments, moments.num_arms, kCodes);
      const int32_t size = sums.places.number;
      SplitScorer<Value> scorer(test::LinearMoments(moments));
      scorer.SetParameters(limits);
      scorer.Open(sums.total.data(), kCodes, 1, 0);
      CHECK(scorer.moments().is_regular());
      ThresholdGains<Value> gains(scorer);
      CHECK(gains.KnowFormula());
      const Gains all = gains.Of(AllCodes(kCodes), sums.cells.data(), size, kCodes - 1);
      std::vector<Value> inside(size);
      int32_t num_found = 0;
      for (int32_t code = 0; code + 1 < kCodes; ++code) {
        for (int32_t c = 0; c < size; ++c) inside[c] += sums.cells[size * code + c];
        CHECK_EQ(all.gain[code], scorer.Gain(inside.data()));
        num_found += all.gain[code] > kNoGain;
      }
      CHECK(num_found > 10 && num_found < kCodes - 1);
    }
  }
}

// Cells of whole lines are summed up by tiles.
TEST(Evaluate_gains_of_padded_cells_are_those_of_others) {
  constexpr int32_t kCodes = 45;
  const double limits[] = {0.05, 0, 1, 0};
  for (const Moments& moments : kMoments) {
    const Statistics sums(moments, 7, kCodes);
    const int64_t size = sums.places.number, padded_size = (size + 7) / 8 * 8;
    std::vector<int64_t> total(sums.total.begin(), sums.total.end()), cells(sums.cells.begin(), sums.cells.end());
    std::vector<int64_t> padded(kCodes * padded_size);
    for (size_t at = 0; at < cells.size(); ++at) padded[at / size * padded_size + at % size] = cells[at];
    SplitScorer<int64_t> scorer(test::LinearMoments(moments));
    scorer.SetParameters(limits);
    scorer.Open(total.data(), kCodes, 1, 0);
    ThresholdGains<int64_t> plain(scorer), by_tiles(scorer);
    for (const int64_t count : {1, 2, 7, 8, 9, 31, kCodes - 1}) {
      const Gains expected = plain.Of(AllCodes(kCodes), cells.data(), size, count);
      const Gains found = by_tiles.Of(AllCodes(kCodes), padded.data(), padded_size, count);
      CHECK_EQ(found.first, expected.first);
      CHECK_EQ(found.stop, expected.stop);
      for (int64_t at = found.first; at < found.stop; ++at) CHECK_EQ(found.gain[at], expected.gain[at]);
    }
  }
}

TEST(Evaluate_pseudo_outcomes_of_a_node_add_up_to_nothing) {
  const double limits[] = {0, 0, 0, 0};
  for (const Moments& moments : kMoments) {
    const Statistics sums(moments, 5, 100);
    MomentNode node(test::LinearMoments(moments));
    node.Open(sums.total.data(), limits);
    CHECK(node.is_regular());
    for (int32_t number = 0; number < std::max(moments.num_arms, 1); ++number) {
      CHECK(std::abs(node.PseudoOutcome(sums.total.data(), number)) < 1e-9);
      CHECK(std::abs(node.PseudoOutcome(sums.cells.data(), number)) > 1e-9);
    }
  }
}

TEST(Evaluate_a_treatment_of_one_value_has_no_solution) {
  const Moments moments{1, 1, false, true};
  // Two rows of treatment 1: weight, outcome, treatment, products, square, count above, count.
  const Value total[] = {2048, 3072, 2048, 3072, 2048, 2048, 2048}, inside[] = {1024, 2048, 1024, 2048, 1024, 1024, 1024};
  const double limits[] = {0, 0, 0, 0};
  SplitScorer<Value> scorer(test::LinearMoments(moments));
  scorer.SetParameters(limits);
  scorer.Open(total, 2, 0, 0);
  CHECK(!scorer.moments().is_regular());
  CHECK_EQ(scorer.Gain(inside), kNoGain);
}

TEST(Evaluate_gains_of_gini_at_once_are_those_one_by_one) {
  constexpr int32_t kCodes = 37;
  for (const int32_t num_classes : {2, 3, 8}) {
    const std::vector<Value> cells = RandomCells(kCodes * num_classes, num_classes);
    const std::vector<Value> total = TotalOf(cells, num_classes);
    SplitScorer<Value> scorer(test::Classes(Formula::kGini, num_classes));
    constexpr Value kLeast = 100;
    scorer.Open(total.data(), 0, kLeast, 0);
    ThresholdGains<Value> gains(scorer);
    CHECK(gains.KnowFormula());
    const Gains all = gains.Of(AllCodes(kCodes), cells.data(), num_classes, kCodes - 1);
    std::vector<Value> inside(num_classes);
    for (int32_t code = 0; code + 1 < kCodes; ++code) {
      for (int32_t c = 0; c < num_classes; ++c) inside[c] += cells[num_classes * code + c];
      const bool is_enough = all.first <= code && code < all.stop;
      CHECK_EQ(is_enough ? all.gain[code] : kNoGain, scorer.Gain(inside.data()));
    }
  }
}

TEST(Evaluate_a_threshold_that_is_screened_out_is_never_the_best) {
  const double penalties[] = {1, 0.5, test::kUnbounded};
  const Objective objective = test::NewtonSteps();
  const auto screened = ScreenedPenalties::Of(objective, penalties);
  CHECK(screened.are_screened);
  for (unsigned seed = 0; seed < 50; ++seed) {
    constexpr int32_t kCodes = 64;
    const Derivatives sums(seed, kCodes);
    SplitScorer<Value> scorer(objective);
    scorer.SetParameters(penalties);
    scorer.Open(sums.total, 0, 0, 0);
    float score[kCodes];
    const float most = ScoreThresholds<4>(sums.up_to.data(), 0, kCodes - 1, sums.total, screened, score);
    const float least = LeastOfBest(most, 1);
    double best = kNoGain, best_left = kNoGain;
    for (int32_t code = 0; code + 1 < kCodes; ++code) {
      const double gain = scorer.Gain(&sums.up_to[4 * code]);
      best = std::max(best, gain);
      if (score[code] >= least) best_left = std::max(best_left, gain);
    }
    CHECK_EQ(best_left, best);
  }
}

}  // namespace
}  // namespace jaxtree
