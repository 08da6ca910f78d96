// Additive models: running form, weights that bins share, the best cuts, and changes of gradients.

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "additive/gram.h"
#include "additive/leaves.h"
#include "additive/member.h"
#include "additive/shared_sums.h"
#include "additive/terms.h"
#include "check.h"
#include "pool.h"

namespace jaxtree {
namespace {

constexpr int64_t kCodes = 5;

// Terms of all kinds of three features of five codes, the last of which is of missing values.
struct Problem {
  std::vector<int32_t> kinds{0, 1, 2, 0}, num_bins{5, 1, 3, 1, 5, 3, 2, 1}, features{0, -1, 1, -1, 0, 2, 2, -1};
  std::vector<uint16_t> bins;
  Terms terms{kinds.data(), num_bins.data(), 4};

  Problem() {
    for (const int64_t bins_of_axis : num_bins) {
      for (int64_t code = 0; code < kCodes; ++code) bins.push_back(std::min(code, bins_of_axis - 1));
    }
  }
};

template <typename Code>
std::vector<Code> RandomCodes(std::mt19937& random, int64_t num_rows) {
  std::vector<Code> codes(3 * num_rows);
  for (Code& code : codes) code = random() % kCodes;
  return codes;
}

// Whether sums at `place` contain those of a bin.
bool Contains(const Terms& terms, int64_t term, int64_t place, int64_t bin) {
  const int64_t second = terms.num_bins[2 * term + 1];
  if (terms.kind(term) == TermKind::kPair) return bin / second <= place / second && bin % second <= place % second;
  if (terms.kind(term) == TermKind::kOrdered && place < terms.size(term) - 1) return bin <= place;
  return bin == place;
}

template <typename Code>
void CheckGram(int64_t num_rows, int64_t num_threads) {
  const Problem problem;
  const Terms& terms = problem.terms;
  std::mt19937 random(static_cast<uint32_t>(num_rows));
  const std::vector<Code> codes = RandomCodes<Code>(random, num_rows);
  std::vector<int32_t> weight(num_rows);
  for (int32_t& own : weight) own = random() % 3;
  const BinnedRows<Code> rows{terms, problem.features.data(), problem.bins.data(), codes.data(), kCodes, 3, num_rows, num_rows};
  CHECK(rows.Wrong() == nullptr);
  const int64_t places = terms.num_places();
  std::vector<int32_t> matrix(places * places, -1), expected(places * places);
  std::vector<int64_t> diagonal(places), weights(places);
  test::Pool pool(num_threads);
  Threads threads = pool.threads();
  GramCounter<Code>(rows, weight.data(), threads, matrix.data()).Run(diagonal.data());
  for (int64_t row = 0; row < num_rows; ++row) {
    std::vector<bool> is_there(places);
    for (int64_t term = 0; term < terms.number; ++term) {
      rows.ForRows(term, 1, [&](int64_t) { return row; }, [&](int64_t, int64_t bin) {
        weights[terms.first[term] + bin] += weight[row];
        for (int64_t at = 0; at < terms.size(term); ++at) is_there[terms.first[term] + at] = Contains(terms, term, at, bin);
      });
    }
    for (int64_t at = 0; at < places * places; ++at) {
      if (is_there[at / places] && is_there[at % places]) expected[at] += weight[row];
    }
  }
  CHECK(matrix == expected);
  CHECK(diagonal == weights);
}

TEST(Additive_weights_that_bins_share_are_those_of_a_plain_count) {
  for (const int64_t num_threads : {1, 3}) {
    for (const int64_t num_rows : {0, 1, 77, 20'001}) {
      CheckGram<uint8_t>(num_rows, num_threads);
      CheckGram<uint16_t>(num_rows, num_threads);
    }
  }
}

TEST(Additive_sums_return_from_running_form) {
  const Problem problem;
  const Terms& terms = problem.terms;
  std::mt19937 random(3);
  std::vector<int64_t> plain(terms.num_places());
  for (int64_t& own : plain) own = random() % 100;
  std::vector<int64_t> running = plain;
  for (int64_t term = 0; term < terms.number; ++term) {
    MakeRunning(terms, term, running.data() + terms.first[term], 1, 1);
    for (int64_t place = 0; place < terms.size(term); ++place) {
      int64_t sum = 0;
      for (int64_t bin = 0; bin < terms.size(term); ++bin) {
        if (Contains(terms, term, place, bin)) sum += plain[terms.first[term] + bin];
      }
      CHECK_EQ(running[terms.first[term] + place], sum);
    }
    MakePlain(terms, term, running.data() + terms.first[term]);
  }
  CHECK(running == plain);
}

TEST(Additive_terms_that_do_not_fit_are_told) {
  Problem problem;
  CHECK(problem.terms.Wrong() == nullptr);
  problem.num_bins[1] = 2;
  CHECK(problem.terms.Wrong() != nullptr);
  problem.num_bins[1] = 1;
  const std::vector<uint8_t> codes(3);
  const BinnedRows<uint8_t> rows{problem.terms, problem.features.data(), problem.bins.data(), codes.data(), kCodes, 3, 1, 1};
  CHECK(rows.Wrong() == nullptr);
  problem.features[5] = 3;
  CHECK(rows.Wrong() != nullptr);
  problem.features[5] = -1;
  CHECK(rows.Wrong() != nullptr);
}

constexpr StepRules kRules{0.5, 1.5, 2, 30, 2, 0, 3, 4, 0};

TEST(Additive_the_best_cut_is_the_first_of_the_greatest_gain) {
  std::mt19937 random(5);
  for (const int64_t size : {1, 2, 7, 8, 9, 40}) {
    for (const int sign : {-1, 0, 1}) {
      std::vector<int64_t> gradient(size + 1 + kPadding);
      std::vector<double> hessian(gradient.size()), rows(gradient.size());
      for (int64_t bin = 0; bin < size; ++bin) {
        gradient[bin + 1] = gradient[bin] + static_cast<int64_t>(random() % 41) - 20;
        hessian[bin + 1] = hessian[bin] + random() % 3;
        rows[bin + 1] = rows[bin] + random() % 3;
      }
      const double whole = kRules.Score(gradient[size], hessian[size]);
      Best expected;
      for (int64_t cut = 1; cut < size; ++cut) {
        const int64_t left = gradient[cut], right = gradient[size] - left;
        const double left_hessian = hessian[cut], right_hessian = hessian[size] - left_hessian;
        if (!kRules.Allows(rows[cut], left_hessian) || !kRules.Allows(rows[size] - rows[cut], right_hessian)) continue;
        if (sign * (kRules.Value(right, right_hessian) - kRules.Value(left, left_hessian)) < 0) continue;
        const double gain = kRules.Score(left, left_hessian) + kRules.Score(right, right_hessian) - whole;
        if (gain > expected.gain) expected = {gain, cut};
      }
      CutRoom room(size);
      const Edges edges{gradient.data(), hessian.data(), rows.data()};
      const Best found = FindCut(edges, kRules, sign, {0, size, whole, {}}, room);
      CHECK_EQ(found.at, expected.at);
      CHECK_EQ(found.gain, expected.gain);
    }
  }
}

TEST(Additive_a_change_is_a_sum_of_rows) {
  std::mt19937 random(7);
  for (const int64_t size : {1, 8, 37}) {
    for (const int64_t number : {0, 1, 3, 4, 9}) {
      std::vector<std::vector<int32_t>> rows(number, std::vector<int32_t>(size));
      std::vector<int64_t> gradient(size, 5), expected = gradient;
      Change change;
      for (auto& row : rows) {
        // Factors have more than 32 bits where steps are as large as they may be.
        const int64_t factor = (int64_t{1} << 32) - static_cast<int64_t>(random() % 1000);
        for (int64_t at = 0; at < size; ++at) {
          row[at] = static_cast<int32_t>(random());
          expected[at] += row[at] * factor;
        }
        change.AddNew(row.data(), factor);
      }
      change.Apply(gradient.data(), size);
      CHECK(gradient == expected);
    }
  }
}

}  // namespace
}  // namespace jaxtree
