// Numbers of sixteen rows at a time, and the random numbers of training.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "check.h"
#include "soft/draws.h"
#include "soft/lanes.h"

namespace jaxtree::soft {
namespace {

template <int kWidth>
Lanes<kWidth> From(const float* numbers) {
  Lanes<kWidth> lanes;
  std::copy_n(numbers, kLanes, reinterpret_cast<float*>(&lanes));
  return lanes;
}

template <int kWidth>
const float* NumbersOf(const Lanes<kWidth>& lanes) {
  return reinterpret_cast<const float*>(&lanes);
}

TEST(Soft_functions_are_within_units_of_the_last_place_and_alike_in_all_vectors) {
  for (float first = -90; first < 90; first += 0.37f) {
    float x[kLanes], positive[kLanes];
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      x[lane] = first + 0.02f * static_cast<float>(lane);
      positive[lane] = std::exp(x[lane] / 2);
    }
    const Lanes<4> exponential = Exp<4>(From<4>(x)), logarithm = Log<4>(From<4>(positive)), root = Root<4>(From<4>(positive));
    const Lanes<16> same = Exp<16>(From<16>(x));
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      const double bounded = std::clamp<double>(x[lane], -87, 87), log = std::log(static_cast<double>(positive[lane]));
      CHECK(std::abs(NumbersOf(exponential)[lane] / std::exp(bounded) - 1) < 3e-7);
      CHECK(std::abs(NumbersOf(logarithm)[lane] - log) < 2e-7 * std::max(1.0, std::abs(log)));
      CHECK_EQ(NumbersOf(root)[lane], std::sqrt(positive[lane]));
      CHECK_EQ(NumbersOf(exponential)[lane], NumbersOf(same)[lane]);
      CHECK_EQ(NumbersOf(IsPositive<4>(From<4>(x)))[lane], x[lane] > 0 ? 1.0f : 0.0f);
      CHECK_EQ(NumbersOf(Within<4>(From<4>(x), 2))[lane], std::clamp(x[lane], -2.0f, 2.0f));
    }
  }
  const float zeros[kLanes] = {0.0f, -0.0f};
  CHECK_EQ(NumbersOf(IsPositive<4>(From<4>(zeros)))[1], 0.0f);
}

TEST(Soft_sums_of_products_are_those_of_all_rows) {
  constexpr int64_t kVectors = 3, kA = 7, kB = 5;
  Rack<8> a(kVectors * kA), b(kVectors * kB);
  for (int64_t at = 0; at < a.size() * kLanes; ++at) a.floats()[at] = static_cast<float>(at % 13);
  for (int64_t at = 0; at < b.size() * kLanes; ++at) b.floats()[at] = static_cast<float>(at % 11);
  std::vector<float> sums(kA * kB);
  SumProducts<8>({a.data(), kA}, kA, {b.data(), kB}, kB, kVectors, sums.data());
  for (int64_t m = 0; m < kA; ++m) {
    for (int64_t n = 0; n < kB; ++n) {
      float sum = 0;
      for (int64_t row = 0; row < kVectors * kLanes; ++row) {
        const int64_t vector = row / kLanes, lane = row % kLanes;
        sum += a.floats()[(vector * kA + m) * kLanes + lane] * b.floats()[(vector * kB + n) * kLanes + lane];
      }
      CHECK_EQ(sums[m * kB + n], sum);
    }
  }
}

TEST(Soft_rows_are_shuffled_by_their_words) {
  const uint32_t seed[] = {1, 2};
  // The words of the docstring of `random_words` in jaxtree/soft/draws.py.
  const uint32_t words[] = {3405767568u, 3507691905u, 3568491650u};
  for (uint32_t place = 0; place < 3; ++place) CHECK_EQ(RandomWords<uint32_t>(seed, place), words[place]);
  std::vector<uint32_t> order, other;
  for (const int64_t size : {8, 1 << 17}) {
    Shuffle(seed, 5, size, order, other);
    CHECK_EQ(order, (std::vector<uint32_t>{4, 0, 1, 2, 3}));
  }
  Shuffle(seed, 1000, 1024, order, other);
  for (size_t at = 1; at < order.size(); ++at) {
    CHECK(RandomWords<uint32_t>(seed, order[at - 1]) >> 16 <= RandomWords<uint32_t>(seed, order[at]) >> 16);
  }
  std::sort(order.begin(), order.end());
  for (uint32_t at = 0; at < 1000; ++at) CHECK_EQ(order[at], at);
}

}  // namespace
}  // namespace jaxtree::soft
